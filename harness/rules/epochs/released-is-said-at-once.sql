-- A member says at once what it has given up
-- When its callback for a revocation is over, a member sends a heartbeat that names the partitions
-- that are left to it. It does not wait until its next heartbeat is due.
-- why: Until then nobody reads the partition: its next owner is given it only after that.
-- source: KIP-848, Client-side reconciliation; AbstractMembershipManager (ACKNOWLEDGING);
--   rdkafka_cgrp.c (rd_kafka_cgrp_consumer_expedite_next_heartbeat)
-- id: X105 | rows: revocations | unit: ms | measured: from the callback to the heartbeat | high:
--   was told to the coordinator too late | protocols: consumer | delayed by: member, toxiproxy,
--   broker | kind: in passing, compares clocks
--
-- Revocations in members that went on undisturbed and said what they own.
--
-- It counts from when the member could send one: a heartbeat that waits for its answer, and a
-- commit or batch that the application is at, come first. Java hands over what else it was given
-- before it says so, which takes another poll. Who leaves first, or is refused, is not examined.

-- let TELLS_WITHIN_MS = 1000
--   How long after its callback a member may take to say what it owns, beside the work on a batch:
--   a tick of its timer, and what lines are stamped late. Over the kept runs it took 0.2 s at most.

WITH hindered AS (
    SELECT member, event_at AS from_at, after(duration_ms, event_at) AS to_at
    FROM {client_events} WHERE event IN ('stall_started', 'callback_stall_started')
    UNION ALL
    SELECT coalesce(d.member, m.member), d.from_at, d.to_at
    FROM {disturbances} d JOIN {members} m ON coalesce(d.member = m.member, true)
    UNION ALL
    SELECT m.member, u.from_at, u.to_at FROM {unsettled} u CROSS JOIN {members} m
), revoked AS (
    SELECT c.member, coalesce(c.observed_at, c.event_at) AS at,
           coalesce(m.process_us * m.batch_records / 1e3, 0) AS batch_ms
    FROM {client_events} c JOIN {members} m USING (member)
    WHERE c.event = 'revoked' AND size(c.partitions) > 0
), told AS (
    SELECT r.member, r.at, r.batch_ms,
           min(struct(h.arrived_at, h.evidence)) FILTER (
               WHERE h.generation > 0 AND h.owned IS NOT NULL
                 AND h.arrived_at >= after(-:slack_ms, r.at)) AS told,
           min(h.arrived_at) FILTER (
               WHERE h.generation <= 0 OR coalesce(h.error_code <> :NONE, true)) AS out_at,
           max(h.answered_at) FILTER (
               WHERE h.arrived_at < after(-:slack_ms, r.at) OR h.owned IS NULL
                 AND h.arrived_at <= after(:STAMP_LATE_MS, r.at)) AS heard_at
    FROM revoked r JOIN {consumer_heartbeats} h
      ON h.member = r.member AND h.answered_at >= after(-:slack_ms, r.at)
    GROUP BY r.member, r.at, r.batch_ms
), timed AS (
    SELECT t.member, t.at, t.told.arrived_at AS told_at, t.told.evidence AS evidence,
           greatest(t.at, t.heard_at, max(b.to_at)) AS from_at,
           :TELLS_WITHIN_MS + t.batch_ms AS most_ms
    FROM told t LEFT JOIN {busy} b
      ON b.member = t.member AND b.from_at <= after(:slack_ms, t.at)
     AND (b.to_at IS NULL OR b.to_at > t.at)
    LEFT ANTI JOIN hindered s
      ON s.member = t.member AND s.from_at <= t.told.arrived_at AND s.to_at >= t.at
    WHERE t.told IS NOT NULL AND coalesce(t.out_at > t.told.arrived_at, true)
    GROUP BY t.member, t.at, t.told, t.heard_at, t.batch_ms
    HAVING count_if(b.from_at IS NOT NULL AND b.to_at IS NULL) = 0
)
SELECT concat(member, ' (revocation)') AS subject, at,
       ms_between(from_at, told_at) AS measured, most_ms AS bound_high, evidence,
       IF(ms_between(from_at, told_at) > most_ms, after(-:guard_ms, from_at), NULL)
           AS guard_from,
       guard_to(told_at) AS guard_to
FROM timed
