-- One row per generation that the coordinator completed, those of an emptied group included.
--
-- In a group of KIP-848 it is one per group epoch that got a target assignment: see `epochs`.
--
-- It is complete when the last member that it waited for has its part: who joins a generation
-- later, or again, only learns what it has. `partitions_moved` and `_kept` compare the leader's
-- assignment with the one before, by process: a member that came back under another member id and
-- got its partition again has kept it. `partitions_revoked` counts callbacks (revoked or lost)
-- since the one before was complete: a member that closes gives up what it has before it leaves,
-- and in a cooperative rebalance before it joins again.

WITH joins AS (
    SELECT broker, generation, max(protocol_name) AS assignor, max(leader) AS leader
    FROM {joins} GROUP BY broker, generation
), owners AS (
    -- A static member is the same one in whichever process it lives.
    SELECT broker, generation, topic, partition, at, coalesce(instance_id, member) AS member,
           lag(coalesce(instance_id, member)) OVER w AS member_before
    FROM {assignments}
    WINDOW w AS (PARTITION BY topic, partition ORDER BY at, generation, member)
), changes AS (
    SELECT g.number, CAST(count_if(o.member <> o.member_before) AS INT) AS moved,
           CAST(count_if(o.member = o.member_before) AS INT) AS kept
    FROM {generations} g JOIN owners o ON same(o, g, broker, generation) AND in_time_of(g, o.at)
    GROUP BY g.number
), ends AS (
    SELECT number, coalesce(completed_at, joined_at) AS ended_at,
           lag(coalesce(completed_at, joined_at)) OVER (ORDER BY number) AS ended_before
    FROM {generations}
), revocations AS (
    SELECT g.number, CAST(count(*) AS INT) AS revoked
    FROM ends g JOIN {callbacks} e
      ON e.event_at <= g.ended_at AND (g.ended_before IS NULL OR e.event_at > g.ended_before)
    WHERE e.event <> 'assigned' GROUP BY g.number
), still AS (
    SELECT generation, joined_at, max(ms) AS longest_ms,
           array_sort(collect_list(struct(topic, partition, ms))) AS each
    FROM {standstills} GROUP BY generation, joined_at
), named AS (
    SELECT *, CASE WHEN cause = 'member_added' THEN 'join'
                   WHEN cause IN ('left', 'left_for_now') THEN 'leave'
                   WHEN cause = 'evicted' THEN 'expiry'
                   WHEN cause IN ('fenced', 'metadata') THEN cause
                   WHEN reason LIKE 'Adding new member%' THEN 'join'
                   WHEN reason LIKE '%heartbeat expiration%' THEN 'expiry'
                   WHEN reason LIKE '%LeaveGroup%' THEN 'leave'
                   WHEN reason RLIKE '(?i)re-?join|updating metadata' THEN 'rejoin'
                   ELSE 'other' END AS trigger,
           -- A member id is the client id, a dash and a UUID.
           coalesce(named, nullif(regexp_extract(
               reason, '([-_.\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), ''))
               AS trigger_member_id
    FROM {generations}
)
SELECT :group AS `group`, g.generation, g.trigger, tm.member AS trigger_member,
       g.trigger_member_id, g.reason,
       CASE g.event WHEN 'target_computed' THEN 'consumer' ELSE :protocol END AS protocol,
       coalesce(g.assignor, j.assignor) AS assignor, g.broker AS coordinator,
       coalesce(g.members_before, 0) AS members_before, g.members AS members_after,
       lm.member AS leader, coalesce(g.leader, j.leader) AS leader_member_id,
       g.started_at, g.joined_at, g.synced_at, g.completed_at,
       ms_between(g.started_at, g.completed_at) AS duration_ms,
       coalesce(c.moved, 0) AS partitions_moved, coalesce(c.kept, 0) AS partitions_kept,
       coalesce(v.revoked, 0) AS partitions_revoked, s.longest_ms AS longest_standstill_ms,
       s.each AS standstills, g.evidence
FROM named g
LEFT JOIN joins j ON same(j, g, broker, generation)
LEFT JOIN changes c ON c.number = g.number
LEFT JOIN revocations v ON v.number = g.number
LEFT JOIN still s ON same(s, g, generation, joined_at)
LEFT JOIN {identities} tm ON tm.member_id = g.trigger_member_id
LEFT JOIN {identities} lm ON lm.member_id = coalesce(g.leader, j.leader)
ORDER BY g.number
