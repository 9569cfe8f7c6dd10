-- When the coordinator takes a member for dead, and what keeps it in its group.

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
