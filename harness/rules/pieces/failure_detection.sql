-- When the coordinator takes a member for dead, and what keeps it in its group.

-- let EVICTED_ON_TIME
--   Evictions, and members that should have been evicted while their coordinator worked. A member
--   may also be removed while a rebalance is under way already; then no second one starts. A
--   coordinator that is stopped sees no timer end, and works off what has waited when it goes on.
--   Law: an eviction is too early if the most that the silence can have been is less than a
--   session, too late if the least is more, on time if both are within the bound, and else cannot
--   be judged.
WITH {WEIGHED}, evicted AS (
    SELECT e.*, s.rebalancing OR coalesce(
               ms_between(s.at, s.next_start_at)
                   <= :FOLLOWED_MS + IF(:protocol = 'consumer', :FIRST_MS, 0), false)
               AS followed,
           b.broker IS NOT NULL AS was_stopped
    FROM weighed e JOIN {group_steps} s
      ON s.event = 'evicted' AND s.member_id = e.member_id AND s.at = e.evicted_at
    LEFT JOIN {stopped_brokers} b
      ON b.broker = e.broker AND e.evicted_at BETWEEN b.from_at AND b.to_at
)
SELECT concat(coalesce(member, member_id), ' (eviction)') AS subject, evicted_at AS at,
       judged_ms AS measured, session_timeout_ms - :slack_ms AS bound_low,
       session_timeout_ms + :slack_ms AS bound_high,
       CASE WHEN timer_started_at IS NULL
            THEN 'no sign of life before the eviction is on record'
            WHEN (may_be_short OR may_be_long AND NOT was_stopped)
                 AND (followed OR was_stopped) THEN span END AS unknown,
       CASE WHEN NOT followed AND NOT was_stopped
            THEN 'no rebalance started after the eviction' END AS wrong,
       CASE WHEN was_stopped AND silence_ms > session_timeout_ms
            THEN 'its coordinator had been stopped' END AS excused,
       'was evicted too early' AS too_low, 'was evicted too late' AS too_high,
       concat('last heard by ', last_seen_api,
              IF(round(silence_least_ms) < round(silence_ms),
                 concat(', ', CAST(round(silence_least_ms) AS INT), ' to ',
                        CAST(round(silence_ms) AS INT), ' ms before'), '')) AS note,
       evidence,
       guard_from(after(session_timeout_ms, timer_started_at), evicted_at) AS guard_from,
       guard_to(evicted_at) AS guard_to
FROM evicted
UNION ALL
SELECT concat(coalesce(member, member_id), ' (silence)'), to_at, ms, session_timeout_ms,
       session_timeout_ms + :slack_ms, NULL, NULL, NULL, NULL,
       'was silent for longer than its session, and was not evicted', NULL, NULL,
       after(session_timeout_ms - :guard_ms, from_at),
       after(session_timeout_ms + :slack_ms, from_at)
FROM {silences}
WHERE ms > session_timeout_ms + :slack_ms AND ended_by IN ('sign', 'end')

-- let WEIGHED
--   Evictions, and whether the silence before one `may_be_short` of its session, or `may_be_long`,
--   though it need not be, and is known less closely than the bounds are apart; `span` is a clause
--   about that. `judged_ms` is the end of the silence that is judged: where it is known closely
--   enough, the one within the bounds. A commit is answered when it is replicated, and has its
--   effect before: it counts from its arrival, unless threads of its broker waited for a processor,
--   together for as long as that time is: a few of a hundred always wait a little. What any broker
--   waited is said, since all of them replicate a commit. Law: an eviction is accused only if no
--   moment at which its last sign may have counted explains it.
weighed AS (
    SELECT e.*,
           silence_least_ms < session_timeout_ms - :slack_ms
               AND silence_ms >= session_timeout_ms - :slack_ms
               AND silence_ms - silence_least_ms > 2 * :slack_ms
               AND (last_seen_api = 'HEARTBEAT'
                    OR coalesce(h.ms > :slack_ms AND h.ms >= h.of_ms, false))
               AS may_be_short,
           silence_least_ms <= session_timeout_ms + :slack_ms
               AND silence_ms - silence_least_ms > 2 * :slack_ms
               AND silence_ms > session_timeout_ms + :slack_ms AS may_be_long,
           CASE WHEN silence_ms <= session_timeout_ms + :slack_ms THEN silence_ms
                WHEN silence_least_ms > session_timeout_ms + :slack_ms
                     OR silence_ms - silence_least_ms <= 2 * :slack_ms THEN silence_least_ms
                ELSE silence_ms END AS judged_ms,
           clause(IF(h.all_ms > :slack_ms,
                     concat('this machine kept brokers waiting for a processor for ',
                            CAST(round(h.all_ms) AS INT), ' ms, and the member '), ''),
                  'was silent for ', CAST(round(silence_least_ms) AS INT), ' to ',
                  CAST(round(silence_ms) AS INT), ' ms: its last ', last_seen_api,
                  ' took effect within ',
                  CAST(round(silence_ms - silence_least_ms) AS INT),
                  ' ms, and nothing tells when') AS span
    FROM {evictions} e LEFT JOIN (
        SELECT e.member_id, e.evicted_at, sum(w.waited_ms) AS all_ms,
               sum(w.waited_ms) FILTER (WHERE w.process = concat('broker-', e.broker)) AS ms,
               sum(ms_between(w.from_at, w.at)) FILTER (
                   WHERE w.process = concat('broker-', e.broker)) AS of_ms
        FROM {evictions} e JOIN {waits} w
          ON w.process LIKE 'broker-%' AND w.at >= e.timer_started_at
         AND w.from_at <= after(-e.silence_least_ms, e.evicted_at)
        GROUP BY e.member_id, e.evicted_at
    ) h ON same(h, e, member_id, evicted_at)
)

-- let FOLLOWED_MS = 1000
--   How long after an eviction a rebalance is one that it started. Whether it started in time is
--   for R20b and R20e, which withhold it where the broker had to wait for the machine.
