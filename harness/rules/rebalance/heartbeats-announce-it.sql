-- Heartbeat answers announce a rebalance to members
-- The coordinator answers each member's next heartbeat with REBALANCE_IN_PROGRESS, and the member
-- rejoins.
-- why: A rebalance waits for every member, so heartbeat.interval.ms is part of each outage.
-- source: document 003, HEARTBEAT
-- id: R32 | rows: members that heard of a rebalance | unit: ms | measured: after the rebalance
--   started | high: learned of the rebalance too late | protocols: classic | delayed by: member,
--   toxiproxy, broker
--
-- Members of the generation before that rejoined and had not caused the rebalance. A member that
-- rejoined before its next heartbeat (the second round of a cooperative rebalance) is not examined,
-- nor is one whose heartbeats a fault held up. A heartbeat that came before the rebalance may be
-- answered without an error after that.

WITH rejoined AS (
    -- The first join of a generation: a later one of a follower is answered at once with it.
    SELECT b.number, b.generation, b.started_at, j.member_id, j.member,
           min(j.arrived_at) AS arrived_at
    FROM {generations} b JOIN {joins} j
      ON same(j, b, broker, generation) AND in_time_of(b, j.processed_at)
    JOIN {joins} p ON p.broker = b.broker AND p.generation = b.generation_before
     AND p.member_id = j.member_id
    WHERE b.event = 'stabilized' AND b.broker = b.broker_before
      AND j.arrived_at > b.started_at AND NOT contains(coalesce(b.reason, ''), j.member_id)
    GROUP BY b.number, b.generation, b.started_at, j.member_id, j.member
), heard AS (
    SELECT r.*, min(h.processed_at) FILTER (
                    WHERE h.error_code = :REBALANCE_IN_PROGRESS) AS heard_at,
           count_if(h.error_code = :NONE
                    AND h.arrived_at > after(:slack_ms, r.started_at)) AS misled
    FROM rejoined r
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = r.member, true)
     AND d.from_at <= r.arrived_at AND d.to_at >= r.started_at
    JOIN {own_requests} h
      ON h.api = 'HEARTBEAT' AND h.member_id = r.member_id
     AND h.processed_at >= r.started_at AND h.processed_at <= r.arrived_at
    GROUP BY ALL
)
SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
       ms_between(started_at, heard_at) AS measured,
       :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
       IF(misled > 0, clause('heard nothing of the rebalance in answers to its heartbeats, ',
                             misled, ' of them'), NULL) AS wrong,
       after(-:guard_ms, started_at) AS guard_from,
       guard_to(coalesce(heard_at, arrived_at)) AS guard_to
FROM heard WHERE heard_at IS NOT NULL OR misled > 0
