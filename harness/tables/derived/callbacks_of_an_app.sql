-- The same at the moments at which brokers gave and took.

SELECT member, 'assigned' AS event, from_at AS event_at, from_at AS at, member_id, generation,
       topic, partition
FROM {ownership_by_brokers}
UNION ALL
SELECT member, 'revoked', to_at, to_at, member_id, generation, topic, partition
FROM {ownership_by_brokers}
WHERE to_at IS NOT NULL AND ended_by NOT IN ('killed', 'failed')
