-- Partitions in callbacks of members, one row each.
--
-- `event` is assigned, revoked or lost; `event_at` is when it was so, as far as the client library
-- knows, and `at` when its application saw it.

SELECT member, event, event_at, coalesce(observed_at, event_at) AS at, member_id, generation,
       p.topic, p.partition
FROM {client_events} LATERAL VIEW explode(partitions) AS p
WHERE event IN ('assigned', 'revoked', 'lost')
