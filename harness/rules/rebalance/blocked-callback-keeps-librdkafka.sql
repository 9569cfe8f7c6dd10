-- librdkafka does not notice a callback that does not return
-- librdkafka does not count the time in a rebalance callback against max.poll.interval.ms. The
-- client does not leave, and only the coordinator's rebalance timeout removes it.
-- why: No timer of the client ends a callback that hangs, so its partitions stay unread until a
--   rebalance times out.
-- source: librdkafka rdkafka_int.h, rd_kafka_app_poll_blocking; max.poll.interval.ms
-- id: X31 | rows: callbacks past the limit | unit: ms | measured: until removed or returned |
--   clients: librdkafka | protocols: classic

WITH signs AS (
    SELECT member, 'leave asked' AS what, arrived_at AS at, CAST(NULL AS STRING) AS evidence
    FROM {own_requests} WHERE api = 'LEAVE_GROUP'
    UNION ALL
    SELECT member, event, event_at, NULL FROM {client_events}
    WHERE event = 'max_poll_exceeded'
    UNION ALL
    SELECT member, removed_by, removed_at, evidence FROM {memberships}
), found AS (
    SELECT e.member, e.event_at AS at, e.duration_ms, m.max_poll_interval_ms AS limit_ms,
           min(x.at) FILTER (WHERE x.what = 'leave asked') AS left_at,
           count_if(x.what = 'max_poll_exceeded') AS noticed,
           min(struct(x.at, x.what, x.evidence)) FILTER (
               WHERE x.what NOT IN ('leave asked', 'max_poll_exceeded')) AS removed
    FROM {client_events} e JOIN {members} m ON m.member = e.member
    LEFT JOIN signs x
      ON x.member = e.member AND x.at BETWEEN e.event_at AND after(e.duration_ms, e.event_at)
    WHERE e.event = 'callback_stall_started'
      AND e.duration_ms - 500 - :slack_ms > m.max_poll_interval_ms
    GROUP BY ALL
)
SELECT concat(member, ' (callback)') AS subject, at,
       coalesce(ms_between(at, removed.at), duration_ms) AS measured,
       CASE WHEN left_at IS NOT NULL
            THEN clause('left after ', CAST(round(ms_between(at, left_at)) AS INT), ' ms')
            WHEN noticed > 0 THEN 'was warned by its client that it does not poll'
            WHEN removed.what <> 'stragglers_removed'
            THEN clause('was removed otherwise: ', removed.what) END AS wrong,
       concat(IF(removed.what IS NULL, 'it was not noticed before it returned',
                 'the coordinator removed it as a straggler'),
              '; its limit is ', limit_ms, ' ms') AS note,
       removed.evidence AS evidence
FROM found
