-- Positions up to which a member had been given records, or that it had from a broker.
--
-- All may commit where a partition begins.

SELECT member, topic, partition, polled_at AS at, last_offset + 1 AS position
FROM {deliveries}
UNION ALL
SELECT coalesce(program, client_id), p.topic, p.partition, arrived_at, p.committed
FROM {requests} LATERAL VIEW explode(positions) AS p
WHERE (api = 'LIST_OFFSETS' OR api = 'OFFSET_FETCH' AND `group` = :group)
  AND p.committed >= 0
UNION ALL
SELECT member, topic, partition, arrived_at, 0 FROM ({COMMITTED})
