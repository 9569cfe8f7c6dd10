-- One leader per generation
-- In each generation one member that joined it is the leader and sends the assignment once. The
-- leader keeps its role as long as it rejoins.
-- why: Members wait in SyncGroup for the leader's assignment: without a leader no member consumes,
--   and two leaders may disagree about who owns which partition.
-- source: document 001, JoinGroup phase
-- id: R12 | rows: generations | unit: assignments | measured: received | low: was never given an
--   assignment by its leader | high: was given more than one assignment | protocols: classic
--
-- Generations of which some member was given a part, or that had time for it. The leader stays
-- while it is among those that rejoined under the same member id.

WITH joined AS (
    SELECT broker, generation, collect_set(member_id) AS member_ids
    FROM {joins} GROUP BY broker, generation
), led AS (
    SELECT g.*, array_contains(j.member_ids, g.leader) AS leader_joined,
           array_contains(j.member_ids, g.leader_before) AS former_joined
    FROM {generations} g LEFT JOIN joined j ON same(j, g, broker, generation)
    WHERE g.event = 'stabilized' AND g.members > 0
      -- Without an assignment: only if some member has one, or nothing came between.
      AND (g.times > 0 OR g.answered > 0
           OR g.next_started_at IS NULL AND g.broker_after IS NULL)
)
SELECT concat('generation ', generation) AS subject, joined_at AS at, times AS measured,
       1 AS bound_low, 1 AS bound_high,
       CASE WHEN times = 0 AND answered = 0 AND joined_at >= after(-1000, :stopped_at)
            THEN 'the run ended before the leader answered'
            WHEN times > 0 AND leader_joined IS NULL
            THEN 'no join of this generation is on record' END AS unknown,
       CASE WHEN size(leaders) > 1
            THEN clause('its members were given ', size(leaders), ' leaders: ',
                        array_join(array_sort(leaders), ' and '))
            WHEN times > 0 AND NOT leader_joined
            THEN clause('its leader ', leader, ' had not joined it')
            WHEN times > 0 AND size(leaders) = 1 AND leader <> element_at(leaders, 1)
            THEN clause('its assignment came from ', leader, ', although ',
                        element_at(leaders, 1), ' led it')
            WHEN times > 0 AND former_joined AND leader <> leader_before
                 AND generation_before < generation
            THEN clause('the former leader ', leader_before, ' rejoined and was replaced')
            END AS wrong,
       concat('led by ', leader) AS note, evidence
FROM led
