-- Generations count up by one and pass through all states
-- Each completed join gives the group the next generation, whichever broker coordinates it. A
-- generation is prepared, then completed by the members' joins, then stable with the leader's
-- assignment.
-- why: Commits are fenced by the generation: a number that comes twice lets a former owner commit
--   over the new one.
-- source: document 003, group states
-- id: R33 | rows: generations | unit: generations | measured: above the generation before | low:
--   repeats a generation or goes back | high: skips generations | protocols: classic
--
-- The coordinator's log shows each change of state: the group is being prepared, all have joined,
-- the leader's assignment is there. A generation that was overtaken before its leader gave one is
-- not stored: a coordinator that takes over begins from the one before and uses the number again.
-- An empty group may be forgotten (GroupMetadataManager.maybeDeleteGroup), and begins anew.

WITH steps AS (
    SELECT *, lag(times) OVER (ORDER BY number) AS times_before FROM {generations}
)
SELECT concat('generation ', generation) AS subject, joined_at AS at,
       generation - generation_before AS measured,
       IF(broker <> broker_before AND times_before = 0, 0, 1) AS bound_low, 1 AS bound_high,
       CASE WHEN started_at IS NULL THEN 'was never prepared'
            WHEN event = 'stabilized' AND answered > 0 AND times = 0
            THEN 'was given to members before its leader had assigned anything'
            WHEN broker_after = broker AND synced_at > next_started_at
            THEN 'was assigned only when the next was being prepared' END AS wrong,
       IF(generation = 1 AND members_before = 0,
          'the group was empty, was forgotten and began anew', NULL) AS excused,
       concat('after generation ', generation_before) AS note, evidence
FROM steps WHERE generation_before IS NOT NULL
