-- Only the first rebalance of an empty group waits
-- A rebalance of an empty group lasts group.initial.rebalance.delay.ms, and as long again whenever
-- a member joined in that time, up to the rebalance timeout. Any other rebalance is over when the
-- last member has joined.
-- why: The delay saves a starting fleet one rebalance per member, and makes every start of an empty
--   group that much longer.
-- source: group.initial.rebalance.delay.ms; KIP-134
-- id: X07 | rows: rebalances | unit: ms | measured: of waiting | low: did not wait for the delay |
--   high: waited on although no member came | protocols: classic | delayed by: broker | kind:
--   always
--
-- The delay is looked at when it is over: if a member was added, it begins again. The first
-- member's request began it, and the line about that may come late: the least that is demanded is
-- counted from the request. A member that came within the slack of the end of a delay may or may
-- not have been counted. Only the number of delays is judged, not how late a timer is. A busy
-- machine makes a wait longer, never shorter, so only what is out of bounds is guarded against it.
-- A coordinator that is stopped looks at no timer.

WITH rounds AS (
    SELECT number, broker, generation, event, started_at, joined_at, evidence,
           generation = 1 OR coalesce(lag(event) OVER (ORDER BY number) = 'emptied', false)
               AS initial,
           ms_between(started_at, joined_at) AS ms
    FROM {generations}
), ordered AS (
    SELECT broker, generation, arrived_at AS at, rebalance_timeout_ms,
           row_number() OVER (PARTITION BY broker, generation
                              ORDER BY arrived_at, evidence) AS turn
    FROM {joins}
), limits AS (
    SELECT broker, generation, min(rebalance_timeout_ms) AS least_ms,
           max(rebalance_timeout_ms) AS most_ms, min(at) AS first_at
    FROM ordered GROUP BY broker, generation
),
-- In which of the delays, counted from 1, each came: the earliest and the latest that can
-- be. A member that came with the first may have come before the first delay began.
counted AS (
    SELECT number,
           IF(ms > :slack_ms, CAST(ceil((ms - :slack_ms) / nullif(:initial_delay_ms, 0)) AS INT),
              NULL) AS earliest,
           greatest(1, CAST(ceil((ms + :slack_ms) / nullif(:initial_delay_ms, 0)) AS INT)) AS latest
    FROM (SELECT r.number, ms_between(r.started_at, j.at) AS ms
          FROM rounds r JOIN ordered j ON same(j, r, broker, generation)
          WHERE r.initial AND j.turn > 1 AND j.at > after(-:STAMP_LATE_MS, r.started_at))
), delays AS (
    SELECT number, true AS sure, earliest AS delay FROM counted WHERE earliest = latest
    UNION
    SELECT number, false, explode(array_compact(array(earliest, latest))) FROM counted
),
-- A delay goes on only if a member came in each one before.
extended AS (
    SELECT number, count_if(sure AND delay = place) AS least,
           count_if(NOT sure AND delay = place) AS most
    FROM (SELECT *, row_number() OVER (PARTITION BY number, sure ORDER BY delay) AS place
          FROM delays)
    GROUP BY number
), steps AS (
    SELECT broker, at, CAST(NULL AS INT) AS generation FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('left', 'evicted', 'stragglers_removed',
                                         'pending_evicted', 'member_added')
    UNION ALL
    SELECT broker, at, generation FROM ordered
), last_steps AS (
    -- The line of the join that completed a generation may be stamped after it.
    SELECT r.*, least(r.joined_at, greatest(r.started_at, max(s.at))) AS last_at
    FROM rounds r LEFT JOIN steps s
      ON s.broker = r.broker AND s.at >= r.started_at
     AND (s.at <= r.joined_at
          OR s.generation = r.generation AND s.at <= after(:STAMP_LATE_MS, r.joined_at))
    WHERE r.event = 'stabilized' AND r.started_at IS NOT NULL AND NOT r.initial
    GROUP BY ALL
), waits AS (
    SELECT r.broker, concat('generation ', r.generation, ' (of an empty group)') AS subject,
           r.started_at, r.started_at AS from_at, r.joined_at, r.ms,
           -- The line that a rebalance starts is written after the timer was set.
           least(:initial_delay_ms * (1 + coalesce(e.least, 0)),
                 coalesce(l.least_ms, :max_poll_ms)) - :slack_ms
               - coalesce(greatest(0, ms_between(l.first_at, r.started_at)), 0) AS low,
           least(:initial_delay_ms * (1 + coalesce(e.most, 0)),
                 coalesce(l.most_ms, :max_poll_ms))
               + greatest(:initial_delay_ms - :slack_ms, :slack_ms) AS high,
           CAST(NULL AS STRING) AS too_high,
           concat('the delay is ', :initial_delay_ms, ' ms') AS note, r.evidence
    FROM rounds r LEFT JOIN extended e USING (number)
    LEFT JOIN limits l ON same(l, r, broker, generation)
    WHERE r.initial AND r.event = 'stabilized' AND r.started_at IS NOT NULL
    UNION ALL
    -- A line shows for which members a rebalance waited until its time-out, by removing them. A
    -- static member stays. Timers count milliseconds: a wait of the whole delay is a delay.
    SELECT s.broker, concat('generation ', s.generation), s.started_at, s.last_at, s.joined_at,
           ms_between(s.last_at, s.joined_at), NULL, :initial_delay_ms - 1,
           'went on after the last member had joined', NULL, s.evidence
    FROM last_steps s LEFT JOIN limits l ON same(l, s, broker, generation)
    WHERE :initial_delay_ms > 0
      AND (s.last_at > after(-:initial_delay_ms, s.joined_at)
           OR s.ms < coalesce(l.most_ms, :max_poll_ms) - :slack_ms
           OR NOT EXISTS (SELECT 1 FROM {memberships} WHERE instance_id IS NOT NULL))
), timed AS (
    SELECT w.*, count(b.broker) > 0 AS was_stopped
    FROM waits w LEFT JOIN {stopped_brokers} b
      ON b.broker = w.broker AND b.from_at <= w.joined_at AND b.to_at >= w.started_at
    GROUP BY ALL
)
SELECT subject, started_at AS at, ms AS measured, low AS bound_low, high AS bound_high,
       too_high, IF(was_stopped, 'its coordinator had been stopped', NULL) AS excused,
       note, evidence, IF(ms < low OR ms > high, from_at, NULL) AS guard_from,
       joined_at AS guard_to
FROM timed
