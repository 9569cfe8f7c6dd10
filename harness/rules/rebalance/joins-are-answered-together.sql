-- All JoinGroups are answered once the last has joined
-- The coordinator answers all waiting JoinGroups as soon as the last member has joined.
-- why: The slowest member decides when all the others go on.
-- source: document 003, the group's state machine; GroupMetadataManager.completeClassicGroupJoin
-- id: R33-answered | rows: JoinGroups | unit: ms | measured: from the end of the join phase to the
--   answer | low: was answered before all had joined | high: was answered too late after all had
--   joined | protocols: classic | delayed by: brokers | kind: broker, in passing
--
-- JoinGroups that came before a generation began, which is when its line was written.

WITH answered AS (
    SELECT j.*, g.joined_at, ms_between(g.joined_at, j.processed_at) AS ms,
           :START_MS + :slack_ms + :STAMP_LATE_MS AS most_ms
    FROM {generations} g JOIN {joins} j ON same(j, g, broker, generation)
     AND j.arrived_at <= g.joined_at AND in_time_of(g, j.processed_at)
    WHERE g.event = 'stabilized'
)
SELECT concat(member, ' for generation ', generation) AS subject, arrived_at AS at,
       ms AS measured, -:slack_ms AS bound_low, most_ms AS bound_high,
       concat('waited for ', CAST(round(ms_between(arrived_at, joined_at)) AS INT), ' ms')
           AS note, evidence,

       IF(ms > most_ms, joined_at, NULL) AS guard_from, guard_to(processed_at) AS guard_to
FROM answered
