-- A crash repeats at most one interval of automatic commits
-- A crashed member's partition has no more records delivered again than the member was given since
-- its last automatic commit was due. For Java no commit is due in a rebalance, nor for an interval
-- after it.
-- why: This bounds the work that is done twice after a crash.
-- source: document 002, enable.auto.commit; KafkaConsumer, Automatic Offset Committing
-- id: R26-repeats | rows: partitions of crashed members | unit: records | measured: delivered again
--   | high: had more records delivered again than the member was given since a commit was due
--
-- What counts is a commit interval, how late its timer may be, the member's slowest commit, and a poll
-- before the last poll that brought it records: all before that had been committed. Java's consumer
-- commits when a rebalance begins for it, and counts the interval anew from its end. A cooperative
-- member is given records all the while. (ConsumerCoordinator, onJoinPrepare, poll and
-- onJoinComplete.)

WITH {POLLS},
crashed AS (
    SELECT o.topic, o.partition, o.member, o.from_at, max(p.polled_at) AS last_polled_at,
           max(ms_between(p.polled_at, p.next_at)) AS poll_ms,
           min(f.injected_at) AS killed_at
    FROM {ownership} o JOIN {fault_windows} f
      ON f.killed AND f.ends_member AND f.resolved = o.member
    JOIN polls p ON p.member = o.member
    WHERE o.ended_by = 'killed' GROUP BY o.topic, o.partition, o.member, o.from_at
), slowest AS (
    SELECT member, max(ms_between(arrived_at, answered_at)) AS ms
    FROM {own_requests} WHERE api = 'OFFSET_COMMIT' GROUP BY member
),
-- One that died while it joined has no join on record, but its heartbeat was answered 27.
rounds AS (
    SELECT member, api, arrived_at AS from_at,
           min(IF(api = 'SYNC_GROUP', answered_at, NULL)) OVER (
               PARTITION BY member ORDER BY arrived_at, evidence
               ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS to_at
    FROM {own_requests}
    WHERE :client = 'java'
      AND (api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = :NONE
           OR api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS)
), late AS (
    SELECT c.*, coalesce(s.ms, 0) + IF(:client = 'java', :slack_ms + coalesce(c.poll_ms, 0),
                                       :auto_commit_late_ms) AS late_ms,
           max(struct(r.from_at, r.to_at)) AS joined
    FROM crashed c LEFT JOIN slowest s USING (member)
    LEFT JOIN rounds r
      ON r.member = c.member AND r.api <> 'SYNC_GROUP' AND r.from_at <= c.last_polled_at
    GROUP BY ALL
), reach AS (
    SELECT *, late_ms + greatest(
               :auto_commit_ms,
               IF(coalesce(ms_between(joined.to_at, last_polled_at)
                           <= :auto_commit_ms + late_ms, true),
                  ms_between(joined.from_at, last_polled_at), NULL)) AS ms
    FROM late
), fresh AS (
    SELECT r.* EXCEPT (joined), coalesce(sum(d.count), 0) AS count
    FROM reach r LEFT JOIN {deliveries} d ON same(d, r, topic, partition, member)
     AND d.polled_at >= after(-r.ms, r.last_polled_at)
    GROUP BY ALL
)
SELECT concat(f.topic, '-', f.partition, ' of ', f.member) AS subject, f.killed_at AS at,
       coalesce(sum(least(r.last_offset, d.last_offset)
                    - greatest(r.first_offset, d.first_offset) + 1), 0) AS measured,
       f.count AS bound_high,
       concat('the last ', CAST(round(f.ms) AS BIGINT), ' ms before its last poll count') AS note
FROM fresh f LEFT JOIN {redeliveries} r
  ON same(r, f, topic, partition) AND r.first_member = f.member
 AND r.member <> f.member AND r.polled_at > f.killed_at
-- What came again may reach beyond this member, to what another had been given before it.
LEFT JOIN {deliveries} d ON same(d, r, topic, partition) AND d.member = f.member
 AND d.polled_at BETWEEN f.from_at AND f.killed_at
 AND d.first_offset <= r.last_offset AND d.last_offset >= r.first_offset
GROUP BY f.topic, f.partition, f.member, f.from_at, f.killed_at, f.count, f.ms
