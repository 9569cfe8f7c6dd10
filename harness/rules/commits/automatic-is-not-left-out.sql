-- No automatic commit is left out, and none is made twice
-- A member with enable.auto.commit that is given records in an interval commits at the end of that
-- interval, and once only.
-- why: A crash repeats what a commit that was left out would have saved.
-- source: document 002, enable.auto.commit; ConsumerCoordinator.maybeAutoCommitOffsetsAsync;
--   rd_kafka_cgrp_offset_commit_tmr_cb
-- id: X97 | rows: gaps between automatic commits | unit: ms | measured: from one commit to the next
--   | low: came too soon after the commit before | high: came after a commit had been left out |
--   delayed by: member, toxiproxy, brokers | kind: in passing
--
-- Each gap of undisturbed time; a commit in it was left out if one was due before its end.
--
-- It was due if a poll brought records in that interval: one that began with the interval can have
-- been committed by the commit before. A gap is shorter by as much as the commit before it came
-- late, and longer by as much as its own did: of 293 such gaps in 23 recorded runs none was shorter
-- by more than 2 % of the interval, nor longer by more than 7 % and a poll. So one interval is told
-- from two, and from a half. Where a commit was refused or not answered at once, the next may come
-- sooner.

-- let EARLIEST = 0.7
--   The least and the most of an interval that a single gap can be, on top of what R26 allows.
-- let LATEST = 1.5

WITH {POLLS}, {GAPS},
worked AS (
    SELECT a.member, a.member_id, a.before, a.at, a.evidence,
           max(ms_between(p.polled_at, least(coalesce(p.next_at, a.at), a.at))) AS poll_ms,
           count_if(p.polled_at >= after(:IDLE_POLL_MS, a.before)
                    AND p.polled_at <= after(:auto_commit_ms - :auto_commit_late_ms,
                                             a.before)) > 0 AS due
    FROM commit_gaps a JOIN polled p
      ON same(p, a, member, minute) AND p.polled_at < a.at
     AND coalesce(p.next_at, a.at) > a.before
    WHERE a.error_code = :NONE AND a.former.error_code = :NONE
      AND a.former.answered_at <= after(:slack_ms, a.before)
    GROUP BY ALL
), undisturbed AS (
    SELECT w.*, ms_between(w.before, w.at) AS ms FROM worked w
    LEFT ANTI JOIN {rebalances} r
      ON r.started_at <= w.at AND coalesce(r.completed_at, r.started_at) >= w.before
    LEFT ANTI JOIN {client_events} c
      ON c.member = w.member AND c.event NOT IN ('heartbeat_sent', 'fetched')
     AND c.event_at BETWEEN w.before AND w.at
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = w.member, true) AND d.from_at <= w.at
     AND after(:session_ms, d.to_at) >= w.before
)
SELECT concat(member, ' (', member_id, ')') AS subject, at, ms AS measured,
       :EARLIEST * :auto_commit_ms - :auto_commit_late_ms AS bound_low,
       IF(due, :LATEST * :auto_commit_ms + :auto_commit_late_ms
               + IF(:client = 'java', poll_ms + :IDLE_POLL_MS, 0), NULL) AS bound_high,
       evidence, after(-:guard_ms, before) AS guard_from, guard_to(at) AS guard_to
FROM undisturbed WHERE :EARLIEST * :auto_commit_ms > :auto_commit_late_ms
