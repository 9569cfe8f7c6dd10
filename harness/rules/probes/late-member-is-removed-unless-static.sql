-- A late member is removed, unless it is static
-- A rebalance waits for the longest rebalance timeout of its members, and as long again if no
-- member has rejoined by then. Dynamic members that have not rejoined are then removed, and static
-- ones are kept.
-- why: A static member that hangs keeps its partitions, and no other member reads them until its
--   session ends.
-- source: GroupMetadataManager.completeClassicGroupJoin; KIP-345
-- id: X09-wire | rows: members that did not rejoin | unit: ms | measured: from the start of the
--   rebalance to its join | low: was not waited for long enough | high: was waited for too long |
--   protocols: classic | delayed by: probe, toxiproxy, broker | kind: broker
--
-- If no member has rejoined when the time is over, it begins anew: the first join decides how
-- often, and one within the slack of such a moment may have come before it or after.

{GROUP_REBALANCES},
-- The timeout that each member had asked for last: that of a later join is for later
-- rebalances.
present AS (
    SELECT r.`group`, r.at AS started_at, r.next_at AS joined_at, r.evidence, r.ms,
           m.member_id, m.instance_id, m.joined_at AS answered_at, m.to_at, m.ended_by,
           max(struct(j.sent_at, j.rebalance_ms)).rebalance_ms AS rebalance_ms
    FROM followed r JOIN {probe_members} m
      -- A line names the millisecond, and the join that it follows came within that.
      ON m.`group` = r.`group` AND m.from_at < after(1, r.at)
     AND (m.to_at IS NULL OR m.to_at > r.at)
    JOIN {probe_joins} j ON same(j, m, `group`, member_id) AND j.sent_at < after(1, r.at)
    WHERE r.event = 'rebalance_started' AND r.next_event = 'stabilized'
    GROUP BY ALL
), awaited AS (
    SELECT *, max(rebalance_ms) OVER (PARTITION BY `group`, started_at) AS timeout_ms,
           coalesce(to_at <= joined_at, false) AS gone
    FROM present
), rejoined AS (
    SELECT r.`group`, r.at AS started_at, min(j.sent_at) AS first_at
    FROM followed r JOIN {probe_joins} j
      ON j.`group` = r.`group` AND j.answered_at > r.at AND j.generation > r.generation
     AND j.sent_at < r.next_at
    WHERE r.event = 'rebalance_started' GROUP BY r.`group`, r.at
), timed AS (
    SELECT a.*, a.timeout_ms * (1 + greatest(0, floor(
               (ms_between(a.started_at, f.first_at) - :slack_ms) / a.timeout_ms))) AS least_ms,
           a.timeout_ms * (1 + greatest(0, floor(
               (ms_between(a.started_at, f.first_at) + :slack_ms) / a.timeout_ms))) AS most_ms
    FROM awaited a JOIN rejoined f ON same(f, a, `group`, started_at)
), missing AS (
    SELECT a.*, after(a.least_ms, a.started_at) AS due_at FROM timed a
    LEFT ANTI JOIN {probe_joins} j ON same(j, a, `group`, member_id)
     AND j.answered_at > a.started_at AND j.sent_at < after(1, a.joined_at)
    WHERE a.answered_at < a.started_at AND NOT (gone AND a.ended_by = 'left')
      -- Who is turned away had come, and the old coordinator waits for it no longer.
      AND NOT coalesce(a.ended_by = 'turned_away'
                       AND a.to_at <= after(:slack_ms, a.joined_at), false)
)
SELECT concat(IF(instance_id IS NULL, 'dynamic', 'static'), ' straggler (', `group`, ')')
           AS subject,
       joined_at AS at, ms AS measured, least_ms - :slack_ms AS bound_low,
       most_ms + :slack_ms AS bound_high,
       CASE WHEN gone AND instance_id IS NOT NULL
            THEN clause('was removed (', ended_by, ') and should have been kept')
            WHEN NOT gone AND instance_id IS NULL
            THEN 'was kept and should have been removed' END AS wrong,
       concat(IF(gone, concat('removed: ', ended_by), 'kept'),
              IF(most_ms > timeout_ms, '; no member had rejoined in time', '')) AS note,
       evidence, after(-:guard_ms, due_at) AS guard_from,
       greatest(joined_at, due_at) AS guard_to
FROM missing
