-- A silent member is evicted when its session ends
-- A member that sends nothing for its session timeout is removed from the group, neither earlier
-- nor later, and a rebalance starts. In KIP-848 the broker sets that time for all groups
-- (group.consumer.session.timeout.ms), and the group epoch is bumped.
-- why: A dead member's partitions are not processed until it is evicted.
-- source: document 000, GroupCoordinator; document 003, HEARTBEAT; session.timeout.ms; KIP-848
-- id: R01 | was: X19 | rows: evictions | unit: ms | measured: after the last sign of life | needs:
--   session end, working coordinator | delayed by: member, toxiproxy, broker
--
-- Evictions, and members that should have been evicted while their coordinator worked. No second
-- rebalance starts where one is under way. A coordinator that is stopped sees no timer end, and
-- works off what has waited when it goes on.
--
-- Law: an eviction is too early if the most that the silence can have been is less than a session,
-- too late if the least is more, on time if both are within the bound, and else cannot be judged.

-- let FOLLOWED_MS = 1000
--   How long after an eviction a rebalance is one that it started. Whether it started in time is
--   for R20b and R20e, which withhold it where the broker had to wait for the machine.

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
       IF(NOT followed AND NOT was_stopped, 'no rebalance started after the eviction', NULL)
           AS wrong,
       IF(was_stopped AND silence_ms > session_timeout_ms, 'its coordinator had been stopped', NULL)
           AS excused,
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
