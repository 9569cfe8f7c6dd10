-- Poll returns nothing in a rebalance (documented, outdated since 2.5)
-- A poll returns no records while a rebalance is pending, whatever is buffered. For an eager member
-- that is from giving up its partitions to its next assignment, for a cooperative one from its
-- JoinGroup to its assignment, for one of KIP-848 until its group has reconciled a change.
-- why: A member that goes on with its kept partitions loses no throughput to a rebalance. An eager
--   member would process records that another member may have already.
-- source: document 002, poll (rebalance pending); KafkaConsumer.poll until Kafka 2.4 (KAFKA-8421)
-- id: R25-rebalance | rows: rebalances of a member | unit: records | measured: polled during the
--   rebalance | high: polled records while its rebalance was pending | clients: java |
--   contradicted: cooperative; consumer | kind: in passing
--
-- Pending rebalances of members, and the records that their polls returned meanwhile.
--
-- A cooperative or a KIP-848 member counts where it keeps a partition throughout. Where it takes
-- less than the time of two polls that returned nothing, that says nothing.

-- let PENDING
--   From when to when a rebalance of a member is pending. An eager member has nothing to hand out
--   from its callback on, so that is the time until its next assignment; others count if they keep
--   some.
eager AS (
    SELECT e.member, e.event_at AS from_at, min(a.event_at) AS to_at
    FROM {client_events} e JOIN {client_events} a
      ON a.member = e.member AND a.event = 'assigned' AND a.event_at >= e.event_at
    WHERE :protocol = 'eager' AND e.event IN ('revoked', 'lost')
    GROUP BY e.member, e.event_at
), joined AS (
    SELECT j.member, j.arrived_at AS from_at, min(s.answered_at) AS to_at
    FROM {joins} j JOIN {own_requests} s ON same(s, j, member_id, generation, broker)
     AND s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.arrived_at >= j.arrived_at
    WHERE :protocol = 'cooperative'
    GROUP BY j.member, j.arrived_at
), reconciled AS (
    SELECT m.member, g.started_at AS from_at, g.completed_at AS to_at
    FROM {generations} g CROSS JOIN {members} m
    WHERE :protocol = 'consumer' AND m.role = 'consumer' AND g.completed_at IS NOT NULL
      AND g.started_at IS NOT NULL
), kept AS (
    SELECT DISTINCT p.* FROM (SELECT * FROM joined UNION ALL SELECT * FROM reconciled) p
    JOIN {ownership} o
      ON o.member = p.member AND o.from_at < p.from_at
     AND (o.to_at IS NULL OR o.to_at > p.to_at) AND o.removed_at IS NULL
), pending AS (SELECT * FROM eager UNION ALL SELECT * FROM kept)

-- query
WITH {PENDING}, polled AS (
    SELECT p.member, p.from_at, p.to_at, coalesce(sum(d.count), 0) AS records
    FROM pending p LEFT JOIN {deliveries} d
      ON d.member = p.member AND d.polled_at > p.from_at AND d.polled_at < p.to_at
    GROUP BY p.member, p.from_at, p.to_at
)
SELECT concat(member, ' (rebalance)') AS subject, from_at AS at,
       records AS measured, 0 AS bound_high,
       concat('in ', CAST(round(ms_between(from_at, to_at)) AS INT), ' ms ',
              IF(:protocol = 'eager', 'without an assignment', 'of a pending rebalance'))
           AS note
FROM polled
WHERE :protocol = 'eager' OR records > 0 OR ms_between(from_at, to_at) >= 2 * :poll_ms
