-- Every member connects through its own proxies
-- Each request of a member came to a broker through the listener that is proxied for that member.
-- why: A fault on a proxy does not affect a client that connects around it.
-- source: our own evidence: the listener of each request in the brokers' log
-- id: E06 | rows: members | unit: requests | measured: through another listener | high: reached
--   brokers past its proxies | kind: always, broker
--
-- A listener that is not on record says nothing.

SELECT concat(m.member, ' by ', m.lane) AS subject, min(r.arrived_at) AS at,
       count_if(r.listener <> concat('LANE_', upper(replace(m.lane, '-', '_'))))
           AS measured, 0 AS bound_high,
       concat(count(*), ' requests by ',
              array_join(array_sort(collect_set(r.listener)), ' and ')) AS note
FROM {members} m JOIN {requests} r ON r.client_id = m.member
WHERE m.role = 'consumer' AND m.lane IS NOT NULL AND r.listener IS NOT NULL
GROUP BY m.member, m.lane
