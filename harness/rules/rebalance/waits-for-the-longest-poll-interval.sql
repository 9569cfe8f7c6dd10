-- A rebalance waits for the longest max.poll.interval.ms
-- The coordinator waits for members to rejoin for at most the largest max.poll.interval.ms in the
-- group, whichever member is late. It does not go on earlier while a member is missing. It waits
-- again only if no member has rejoined by then and static members are left. A dynamic member that
-- has not rejoined by then is removed, and if another member has, the rebalance goes on at once.
-- why: One member with a large max.poll.interval.ms decides how long a stuck member can hold up the
--   whole group. Who is removed does not notice that it loses its partitions, and others repeat its
--   work.
-- source: document 000, rebalanceTimeoutMs; KIP-62; ClassicGroup.rebalanceTimeoutMs;
--   GroupMetadataManager.completeClassicGroupJoin
-- id: R04-longest | was: X09, X31 | rows: join phases longer than a member's max.poll.interval.ms,
--   and members removed as late | unit: ms | measured: from start to end | low: ended although a
--   member was missing | high: lasted longer than the largest max.poll.interval.ms | protocols:
--   classic | delayed by: broker | kind: broker
--
-- Each join phase, with the least and the largest rebalance timeout of the members at its start,
-- when the coordinator sets its timer (GroupMetadataManager.prepareRebalance). `wait_ms` is how
-- long it waits: for the largest timeout, and, if no member has joined by then and static members
-- are left, again and again for the largest of those (completeClassicGroupJoin). `late_ms` is by
-- how much the first came after the largest; one that came within the slack of it may have come
-- before. A coordinator that is stopped looks at no timer.

WITH asked AS (
    -- Kafka allows 2^31 - 1 ms, which leaves no room to add to.
    SELECT member_id, CAST(max(rebalance_timeout_ms) AS BIGINT) AS timeout_ms,
           min(arrived_at) AS arrived_at
    FROM {joins} WHERE rebalance_timeout_ms IS NOT NULL GROUP BY member_id
), timers AS (
    SELECT g.*, ms_between(g.started_at, g.joined_at) AS ms,
           min(a.timeout_ms) AS least_ms, max(a.timeout_ms) AS most_ms,
           max(a.timeout_ms) FILTER (WHERE m.instance_id IS NOT NULL) AS again_ms
    FROM {generations} g JOIN {memberships} m
      ON m.joined_at <= g.joined_at AND (m.removed_at IS NULL OR m.removed_at >= g.started_at)
    JOIN asked a
      ON a.member_id = m.member_id AND least(a.arrived_at, m.joined_at) <= g.started_at
    LEFT ANTI JOIN {stopped_brokers} b
      ON b.broker = g.broker AND b.from_at <= g.joined_at AND b.to_at >= g.started_at
    WHERE g.started_at IS NOT NULL GROUP BY ALL
), begun AS (
    SELECT t.*, ms_between(t.started_at, min(j.arrived_at)) - t.most_ms AS late_ms
    FROM timers t LEFT JOIN {joins} j
      ON same(j, t, broker, generation) AND j.arrived_at <= after(:slack_ms, t.joined_at)
     AND in_time_of(t, j.processed_at)
    GROUP BY ALL
), phases AS (
    SELECT *, after(wait_ms, started_at) AS due_at
    FROM (SELECT *, most_ms + coalesce(again_ms * greatest(0, 1 + floor(
                        (late_ms + :slack_ms) / again_ms)), 0) AS wait_ms
          FROM begun)
), stragglers AS (
    SELECT p.generation, p.started_at, p.joined_at, p.most_ms, p.late_ms, s.member_id, s.member,
           s.removed_at, s.instance_id, s.evidence, after(p.most_ms, p.started_at) AS due_at
    FROM phases p JOIN {memberships} s
      ON s.removed_by = 'stragglers_removed' AND s.removed_at > p.started_at
     AND s.removed_at <= after(:rounding_ms, p.joined_at)
),
missed AS (
    SELECT p.*, count(s.member_id) AS missing
    FROM phases p LEFT JOIN stragglers s ON same(s, p, generation, started_at)
    GROUP BY ALL
)
SELECT concat('generation ', generation) AS subject, started_at AS at, ms AS measured,
       IF(missing > 0, most_ms - :slack_ms, NULL) AS bound_low,
       wait_ms + :slack_ms AS bound_high, CAST(NULL AS STRING) AS wrong,
       concat('limits of ', least_ms, ' to ', most_ms, ' ms, and ', missing,
              ' missing at the end',
              IF(wait_ms > most_ms, '; no member had rejoined at first', '')) AS note,
       evidence, guard_from(due_at, joined_at) AS guard_from,
       guard_to(joined_at) AS guard_to, CAST(NULL AS STRING) AS too_low,
       CAST(NULL AS STRING) AS too_high
FROM missed WHERE ms > least_ms OR missing > 0
UNION ALL
SELECT concat(coalesce(member, member_id), ' (straggler)'), removed_at,
       ms_between(started_at, removed_at), most_ms - :slack_ms, most_ms + :slack_ms,
       CASE WHEN instance_id IS NOT NULL
            THEN 'is a static member, which is to be kept'
            WHEN late_ms < -:slack_ms
                 AND ms_between(removed_at, joined_at) > :START_MS + :slack_ms
            THEN 'was removed, and the others still had to wait' END,
       concat('generation ', generation, ' went on without it'), evidence,
       guard_from(due_at, removed_at), guard_to(joined_at), 'was removed too early',
       'was removed too late'
FROM stragglers
