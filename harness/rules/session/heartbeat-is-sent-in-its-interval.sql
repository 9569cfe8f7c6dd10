-- Heartbeats keep their interval
-- In a stable group each member sends a heartbeat every heartbeat.interval.ms, or up to one tick of
-- its timer later (librdkafka: 500 ms, Java: 100 ms).
-- why: The interval and its delay decide how many lost heartbeats a session survives.
-- source: document 001, heartbeat; heartbeat.interval.ms
-- id: R14 | rows: members per generation | unit: ms | measured: between heartbeats (mean) | low:
--   sent its heartbeats too often | high: sent its heartbeats too rarely | delayed by: member,
--   toxiproxy, broker
--
-- Means over a generation with three intervals of steady time. Two intervals between two heartbeats
-- are one that was left out; so are two from the answer to a classic member's SyncGroup to its
-- first heartbeat (in 184 runs it came an interval and 710 ms later at most).
--
-- No heartbeat is sent before the interval since the one before is over (rd_interval, and
-- AbstractCoordinator's Heartbeat), so one comes early by as much as the one before was late. That
-- is in a mean once: how long the first one waited at its coordinator, or, in KIP-848, how late it
-- came after one that was sent out of turn.
--
-- The later heartbeats show how late the first one was: a line of the shortest interval allowed,
-- through the least late of them, begins that much before it. It counts if it explains them. Two
-- gaps at least and a quarter of all have to follow on that one, or the last, which came too soon,
-- would excuse itself. Measured at a load of 17 to 70: eight that arrived 1,343 to 30 ms late.
--
-- Law: a member sends no heartbeat before an interval is over since it sent the one before, and
-- none later than a tick of its timer after that, however late either of them arrives.

-- let TWICE = greatest(2 * :heartbeat_ms - :cadence_early_ms, :heartbeat_ms + :cadence_ms)
--   The longest gap in which no heartbeat was left out: a client whose timer has a coarse grid may
--   be late by more than a short interval.

WITH lined AS (
    SELECT *, sum(gap_ms - :heartbeat_ms + :cadence_early_ms) OVER w AS above_ms,
           count(*) OVER w AS number,
           count(*) OVER (PARTITION BY member_id, generation) AS gaps
    FROM {heartbeats} WHERE steady
    WINDOW w AS (PARTITION BY member_id, generation ORDER BY at, gap_ms DESC {SO_FAR})
), steady AS (
    SELECT min(member) AS member, member_id, generation, count(*) AS gaps, avg(gap_ms) AS ms,
           sum(gap_ms) AS gaps_ms, min(after(-gap_ms, at)) AS from_at, max(at) AS at,
           :heartbeat_ms - :cadence_early_ms AS low, :heartbeat_ms + :cadence_ms AS high,
           max(IF(gap_ms > {TWICE}, struct(gap_ms, at), NULL)) AS left_out,
           least(max(IF(number <= gaps - greatest(2, gaps / 4), -above_ms, 0)),
                 :heartbeat_ms) AS line_ms,
           array_join(array_sort(collect_set(concat('broker-', broker))), ' ') AS brokers
    FROM lined GROUP BY member_id, generation
    HAVING sum(gap_ms) >= 3 * :heartbeat_ms - 4 * :cadence_early_ms
        OR max(gap_ms) > {TWICE}
), waited AS (
    SELECT s.*,
           coalesce(max(ms_between(r.arrived_at, r.processed_at)),
                    max(least(greatest(b.gap_ms - :heartbeat_ms, 0), :heartbeat_ms)), 0)
               AS late_ms
    FROM steady s LEFT JOIN {requests} r
      ON r.member_id = s.member_id AND r.processed_at = s.from_at AND r.api = 'HEARTBEAT'
    LEFT JOIN {heartbeats} b
      ON b.member_id = s.member_id AND b.at = s.from_at AND :protocol = 'consumer'
    GROUP BY ALL
), synced AS (
    SELECT member, member_id, broker, generation, min(answered_at) AS from_at
    FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
    GROUP BY member, member_id, broker, generation
), first AS (
    SELECT s.*, min(h.at) AS at, min_by(h.broker, h.at) AS answered_by
    FROM synced s JOIN {heartbeats} h ON same(h, s, member_id, generation) AND h.at >= s.from_at
    GROUP BY ALL
), late AS (
    SELECT f.* FROM first f
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = f.member, true) AND d.from_at <= f.at AND d.to_at >= f.from_at
    LEFT ANTI JOIN {own_requests} c
      ON c.api = 'OFFSET_COMMIT' AND c.member_id = f.member_id
     AND c.arrived_at <= f.at AND c.answered_at >= f.from_at
     AND ms_between(c.arrived_at, c.answered_at) > :heartbeat_ms
    WHERE f.answered_by = f.broker AND ms_between(f.from_at, f.at) > {TWICE}
)
SELECT concat(member, ' in generation ', generation) AS subject, at, ms AS measured,
       low AS bound_low, high AS bound_high,
       concat(gaps, IF(gaps = 1, ' steady gap', ' steady gaps')) AS note,
       -- What held the first one up was before it.
       CASE WHEN ms > high THEN from_at
            WHEN ms < low THEN after(-:heartbeat_ms, from_at) END AS guard_from,
       at AS guard_to, CAST(NULL AS STRING) AS too_high, gaps AS timings, brokers AS on_the_way
FROM (
    SELECT * EXCEPT (low),
           low - IF(ms < low - late_ms / gaps AND ms >= low - line_ms / gaps,
                    line_ms, late_ms) / gaps AS low
    FROM waited
)
WHERE gaps_ms >= 3 * :heartbeat_ms - 4 * :cadence_early_ms
UNION ALL
SELECT concat(member, ' in generation ', generation, ' (one gap)'), left_out.at,
       left_out.gap_ms, NULL, {TWICE}, 'no heartbeat came in between',
       after(-left_out.gap_ms, left_out.at), left_out.at,
       -- Where the mean is too long as well it is the cadence, and not one wait.
       'left a heartbeat out', IF(ms > high, gaps, NULL), brokers
FROM waited WHERE left_out IS NOT NULL
UNION ALL
SELECT concat(member, ' in generation ', generation, ' (the first)'), at,
       ms_between(from_at, at), NULL, {TWICE}, 'after its SyncGroup', from_at, at,
       'sent its first heartbeat too late', NULL, concat('broker-', broker)
FROM late
