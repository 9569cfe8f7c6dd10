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

{PHASES},
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
