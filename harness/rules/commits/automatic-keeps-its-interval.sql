-- Automatic commits keep their interval
-- A member with enable.auto.commit commits every auto.commit.interval.ms.
-- why: A crash repeats the work of one interval at most.
-- source: document 002, enable.auto.commit; auto.commit.interval.ms
-- id: R26 | was: X97 | rows: members at work | unit: ms | measured: from one commit to the next |
--   low: committed too often | high: committed too rarely
--
-- Over a member's stay a quarter of the gaps, or one, may be longer on a busy machine; if the
-- others are not, the median counts. The library commits by its own clock; Java in the first poll
-- after that, which is up to a batch's work and an idle poll later. What is committed already is
-- not committed again, so a gap needs a delivery in it.

-- let MINUTE_MS = 60000
-- let IDLE_POLL_MS = 200
--   How long a member waits in a poll that brings nothing (consumers/consumer.py).

WITH polls AS (
    SELECT member, polled_at,
           lead(polled_at) OVER (PARTITION BY member ORDER BY polled_at, poll) AS next_at
    FROM {deliveries} WHERE :commit = 'auto'
), asked AS (
    SELECT member, member_id, arrived_at AS at, evidence, lag(arrived_at) OVER (
               PARTITION BY member_id ORDER BY arrived_at, evidence) AS before
    FROM {own_requests} WHERE api = 'OFFSET_COMMIT' AND generation >= 0
), gaps AS (
    -- By the minute: a day has too many commits and polls to look at each pair.
    SELECT *, explode(sequence(unix_millis(before) DIV :MINUTE_MS,
                               unix_millis(at) DIV :MINUTE_MS)) AS minute
    FROM asked WHERE before IS NOT NULL
), worked AS (
    SELECT a.member, a.member_id, a.before, a.at, min(a.evidence) AS evidence,
           max(ms_between(p.polled_at, p.next_at)) AS poll_ms
    FROM gaps a JOIN polls p
      ON p.member = a.member AND unix_millis(p.polled_at) DIV :MINUTE_MS = a.minute
     AND p.polled_at >= a.before AND p.next_at <= a.at
    GROUP BY a.member, a.member_id, a.before, a.at
), undisturbed AS (
    SELECT w.*, ms_between(w.before, w.at) AS ms FROM worked w
    LEFT ANTI JOIN {rebalances} r
      ON r.started_at <= w.at AND coalesce(r.completed_at, r.started_at) >= w.before
    LEFT ANTI JOIN {client_events} c
      ON c.member = w.member AND c.event IN ('stall_started', 'stall_ended', 'closing')
     AND c.event_at BETWEEN w.before AND w.at
), counted AS (
    SELECT min(member) AS member, member_id, max(at) AS at, median(ms) AS middle_ms,
           reverse(array_sort(collect_list(ms)))[
               greatest(least(1, count(*) - 1), count(*) DIV 4)] AS most_ms,
           :auto_commit_ms + :auto_commit_late_ms
               + IF(:client = 'java', max(poll_ms) + :IDLE_POLL_MS, 0) AS high,
           concat(count(*), ' gaps from ', min(ms), ' to ', max(ms), ' ms') AS note,
           min_by(evidence, struct(at, evidence)) AS evidence
    FROM undisturbed GROUP BY member_id HAVING count(*) >= 3
)
SELECT concat(member, ' (', member_id, ')') AS subject, at,
       IF(most_ms > high, most_ms, middle_ms) AS measured,
       :auto_commit_ms - :auto_commit_late_ms AS bound_low, high AS bound_high, note, evidence
FROM counted
