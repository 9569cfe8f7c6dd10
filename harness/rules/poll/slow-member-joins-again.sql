-- A member that was too slow joins again when its application polls
-- A member whose application did not poll for max.poll.interval.ms asks to join again only when the
-- application polls again.
-- why: A member that joins while nobody polls is given partitions that nobody reads, and each such
--   join costs the group a rebalance.
-- source: KIP-62; rdkafka_cgrp.c (rd_kafka_cgrp_join: RD_KAFKA_CGRP_F_MAX_POLL_EXCEEDED);
--   ConsumerCoordinator.poll; ConsumerMembershipManager.maybeRejoinStaleMember
-- id: X104 | rows: members that were too slow | unit: requests to join | measured: while the
--   application did not poll | high: asked to join before its application polled | kind: in
--   passing, compares clocks
--
-- Requests to join between the limit and the end of the stall, in callbacks as well.
--
-- One that was sent before the limit is stamped late at most so much after it. A stall in which a
-- fault held up requests, or ended the process, shows nothing.

WITH stalls AS (
    SELECT member, event_at AS at, after(duration_ms, event_at) AS to_at
    FROM {client_events} WHERE event IN ('stall_started', 'callback_stall_started')
), late AS (
    SELECT e.member, e.event_at AS at, min(s.to_at) AS to_at
    FROM {client_events} e JOIN stalls s
      ON s.member = e.member AND s.at <= e.event_at AND s.to_at > e.event_at
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
     AND d.from_at <= s.to_at
    LEFT ANTI JOIN {fault_windows} f
      ON f.resolved = e.member AND (f.ends_member OR f.killed)
     AND f.injecting_at >= s.at AND f.injecting_at <= s.to_at
    WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at
)
SELECT concat(l.member, ' (too slow)') AS subject, l.at,
       count(r.arrived_at) AS measured, 0 AS bound_high,
       concat('did not poll for ', CAST(round(ms_between(l.at, l.to_at)) AS INT),
              ' ms after its limit') AS note,
       min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence,
       after(-:guard_ms, min(r.arrived_at)) AS guard_from,
       guard_to(max(r.arrived_at)) AS guard_to
FROM late l LEFT JOIN {own_requests} r
  ON r.member = l.member
 AND (r.api = 'JOIN_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0)
 AND r.arrived_at > after(:STAMP_LATE_MS, l.at)
 AND r.arrived_at < after(-:slack_ms, l.to_at)
GROUP BY l.member, l.at, l.to_at
