-- A member that does not rejoin in time is removed
-- A dynamic member that has not rejoined at the end of the group's rebalance timeout is removed. If
-- another member has rejoined, the rebalance goes on at once.
-- why: A member that is busy for too long loses its partitions without noticing, and others repeat
--   its work.
-- source: KIP-62; GroupMetadataManager.completeClassicGroupJoin
-- id: X09 | was: X31 | rows: members removed as late | unit: ms | measured: after the rebalance
--   started | low: was removed too early | high: was removed too late | protocols: classic |
--   delayed by: member, toxiproxy, broker | kind: broker

{PHASES}
SELECT concat(coalesce(member, member_id), ' (straggler)') AS subject, removed_at AS at,
       ms_between(started_at, removed_at) AS measured, most_ms - :slack_ms AS bound_low,
       most_ms + :slack_ms AS bound_high,
       CASE WHEN instance_id IS NOT NULL
            THEN 'is a static member, which is to be kept'
            WHEN late_ms < -:slack_ms
                 AND ms_between(removed_at, joined_at) > :START_MS + :slack_ms
            THEN 'was removed, and the others still had to wait' END AS wrong,
       concat('generation ', generation, ' went on without it') AS note,
       evidence, guard_from(due_at, removed_at) AS guard_from,
       guard_to(joined_at) AS guard_to
FROM stragglers
