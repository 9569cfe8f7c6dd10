-- A rebalance waits for the longest max.poll.interval.ms
-- The coordinator waits for members to rejoin for at most the largest max.poll.interval.ms in the
-- group, whichever member is late. It does not go on earlier while a member is missing. It waits
-- again only if no member has rejoined by then and static members are left.
-- why: One member with a large max.poll.interval.ms decides how long a stuck member can hold up the
--   whole group.
-- source: document 000, rebalanceTimeoutMs; ClassicGroup.rebalanceTimeoutMs
-- id: R04-longest | rows: join phases longer than a member's max.poll.interval.ms | unit: ms |
--   measured: from start to end | low: ended although a member was missing | high: lasted longer
--   than the largest max.poll.interval.ms | protocols: classic | delayed by: broker | kind: broker

{PHASES},
missed AS (
    SELECT p.*, count(s.member_id) AS missing
    FROM phases p LEFT JOIN stragglers s ON same(s, p, generation, started_at)
    GROUP BY ALL
)
SELECT concat('generation ', generation) AS subject, started_at AS at, ms AS measured,
       IF(missing > 0, most_ms - :slack_ms, NULL) AS bound_low,
       wait_ms + :slack_ms AS bound_high,
       concat('limits of ', least_ms, ' to ', most_ms, ' ms, and ', missing,
              ' missing at the end',
              IF(wait_ms > most_ms, '; no member had rejoined at first', '')) AS note,
       evidence, guard_from(due_at, joined_at) AS guard_from,
       guard_to(joined_at) AS guard_to
FROM missed WHERE ms > least_ms OR missing > 0
