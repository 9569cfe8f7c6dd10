-- Automatic commits keep their interval
-- A member with enable.auto.commit commits every auto.commit.interval.ms.
-- why: A crash repeats the work of one interval at most.
-- source: document 002, enable.auto.commit; auto.commit.interval.ms
-- id: R26 | rows: members at work | unit: ms | measured: from one commit to the next | low:
--   committed too often | high: committed too rarely
--
-- Gaps between automatic commits of a member, with work and without a rebalance between.
--
-- Medians over a member's stay in its group, so that one late commit of a busy machine does not
-- count.
--
-- The library commits by its own clock, or in the first poll after it (Java): up to a batch's work
-- and an idle poll later. It leaves out a commit of what is committed already, so gaps in which
-- nothing was delivered are not examined, nor are those in which the member stalled.

WITH {POLLS}, {GAPS},
worked AS (
    SELECT a.member, a.member_id, a.before, a.at, min(a.evidence) AS evidence,
           max(ms_between(p.polled_at, p.next_at)) AS poll_ms
    FROM commit_gaps a JOIN polled p
      ON same(p, a, member, minute) AND p.polled_at >= a.before AND p.next_at <= a.at
    GROUP BY a.member, a.member_id, a.before, a.at
), undisturbed AS (
    SELECT w.*, ms_between(w.before, w.at) AS ms FROM worked w
    LEFT ANTI JOIN {rebalances} r
      ON r.started_at <= w.at AND coalesce(r.completed_at, r.started_at) >= w.before
    LEFT ANTI JOIN {client_events} c
      ON c.member = w.member AND c.event IN ('stall_started', 'stall_ended', 'closing')
     AND c.event_at BETWEEN w.before AND w.at
)
SELECT concat(min(member), ' (', member_id, ')') AS subject, max(at) AS at,
       median(ms) AS measured, :auto_commit_ms - :auto_commit_late_ms AS bound_low,
       :auto_commit_ms + :auto_commit_late_ms
           + IF(:client = 'java', max(poll_ms) + :IDLE_POLL_MS, 0) AS bound_high,
       concat('median of ', count(*), ' gaps from ', min(ms), ' to ', max(ms), ' ms')
           AS note,
       min_by(evidence, struct(at, evidence)) AS evidence
FROM undisturbed GROUP BY member_id HAVING count(*) >= 3
