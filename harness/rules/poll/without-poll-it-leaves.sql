-- A consumer that does not poll leaves the group
-- A dynamic member whose application does not poll for max.poll.interval.ms leaves by itself and is
-- not evicted. It leaves at most one tick of its timer late (librdkafka: 500 ms, Java: 100 ms); in
-- KIP-848 Java leaves with its next heartbeat. In a classic group Java counts the time in a
-- rebalance callback as well, and leaves while that still runs.
-- why: A batch that takes longer costs the consumer its partitions and is processed again.
-- source: document 000, max.poll.interval.ms; document 004, HeartbeatThread;
--   ConsumerCoordinator.onJoinPrepare and AbstractCoordinator.HeartbeatThread
-- id: R07 | was: X31-java | rows: stalls longer than max.poll.interval.ms | unit: ms | measured:
--   from the last poll to LeaveGroup | needs: max poll end | delayed by: member, toxiproxy, broker
--   | contradicted: librdkafka consumer
--
-- The limit counts from the last poll; the stall begins when its batch has been handed over; the
-- poll of Java that called back began its time a poll's length before at most. A member that is
-- stopped, cut off, or ended by a fault before it had to cannot leave.

WITH stalls AS (
    SELECT e.member, e.event_at AS at, e.duration_ms,
           CAST(m.max_poll_interval_ms AS BIGINT) AS limit_ms
    FROM {client_events} e JOIN {members} m USING (member)
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
     AND d.from_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
    LEFT ANTI JOIN {fault_windows} f
      ON f.resolved = e.member AND (f.ends_member OR f.killed)
     AND f.injecting_at >= e.event_at
     AND f.injecting_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
    {NOT_JOINING}
    WHERE (e.event = 'stall_started' OR e.event = 'callback_stall_started'
           AND :client = 'java' AND :protocol <> 'consumer')
      AND e.duration_ms > m.max_poll_interval_ms AND m.instance_id IS NULL
), leaves AS (
    SELECT s.*, min(r.arrived_at) AS left_at,
           min_by(r.member_id, struct(r.arrived_at, r.evidence)) AS member_id,
           min_by(r.evidence, struct(r.arrived_at, r.evidence)) AS evidence
    FROM stalls s LEFT JOIN {requests} r
      ON r.client_id = s.member AND r.arrived_at > s.at
     AND (r.api = 'LEAVE_GROUP' OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
     AND r.arrived_at <= after(s.duration_ms + 1000, s.at)
    GROUP BY ALL
), judged AS (
    SELECT l.*, count(v.member_id) AS evictions,
           coalesce(l.left_at, after(l.limit_ms + :timer_late_ms, l.at)) AS seen_at
    FROM leaves l LEFT JOIN {evictions} v
      ON v.member = l.member AND v.evicted_at > l.at
     AND (v.member_id = l.member_id OR l.left_at IS NULL)
     AND v.evicted_at <= after(l.duration_ms + :session_ms + 1000, l.at)
    GROUP BY ALL
)
SELECT concat(member, ' (stall)') AS subject, at, ms_between(at, left_at) AS measured,
       limit_ms - :poll_ms - :slack_ms AS bound_low,
       limit_ms + :timer_late_ms + :slack_ms AS bound_high,
       CASE WHEN evictions > 0 THEN 'was evicted instead of leaving by itself'
            WHEN left_at IS NULL THEN 'did not leave the group' END AS wrong,
       'left too early' AS too_low, 'left too late' AS too_high, evidence,
       guard_from(after(limit_ms, at), seen_at) AS guard_from,
       guard_to(seen_at) AS guard_to
FROM judged
