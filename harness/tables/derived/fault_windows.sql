-- One row per fault: when each of its phases began, whether it took effect, what it broke.
--
-- The columns of the latter are those of `effects.Effects`, of what the fault really hit: no broker
-- is gone with a controller, and a group does not notice a controller that is.

-- let NAMES
breaks, disturbs_heartbeats, broker_gone, killed, ends_member, adds_member, starts_process, link_cut, stalls, below_limits, proof

-- query
WITH known AS (SELECT * FROM VALUES ('kill-broker', '', 'broker', true, true, true, false, false, false, false, false, false, 'observer'), ('stop-broker', '', 'broker', true, true, false, false, false, false, false, false, false, 'observer'), ('pause-broker', '', 'broker', true, true, false, false, false, false, false, false, false, 'observer'), ('isolate-broker', '', 'broker', true, true, false, false, false, false, false, false, false, ''), ('isolate-broker', 'peers', 'broker', true, true, false, false, false, false, false, false, false, ''), ('isolate-broker', 'lanes', 'broker', true, false, false, false, false, false, false, false, true, ''), ('kill-consumer', '', 'member', false, false, true, true, false, false, false, false, false, 'silence'), ('kill-consumer', 'at once', 'member', false, false, true, true, false, false, false, false, false, 'silence'), ('kill-consumer', 'in a transaction', 'member', false, false, true, true, false, false, false, false, false, 'silence'), ('freeze-consumer', '', 'member', true, false, false, false, false, false, false, false, false, 'silence'), ('close-consumer', '', 'member', false, false, false, true, false, false, false, false, false, 'leave'), ('start-consumer', '', 'member', false, false, false, false, true, true, false, false, false, 'join'), ('bounce-consumer', '', 'member', false, false, false, false, false, true, false, false, false, 'silence'), ('bounce-consumer', 'close', 'member', false, false, false, false, false, true, false, false, false, 'silence'), ('bounce-consumer', 'kill', 'member', false, false, true, false, false, true, false, false, false, 'silence'), ('start-duplicate', '', 'member', false, false, false, false, false, true, false, false, false, 'fenced'), ('stall-consumer', '', 'member', false, false, false, false, false, false, false, true, false, 'stall'), ('stall-callback', '', 'member', false, false, false, false, false, false, false, true, false, 'callback stall'), ('delete-offsets', '', 'positions', false, false, false, false, false, false, false, false, false, ''), ('delete-records', '', 'positions', false, false, false, false, false, false, false, false, false, ''), ('add-partitions', '', 'topic', false, false, false, false, false, false, false, false, false, ''), ('latency', '', 'link', true, false, false, false, false, false, false, false, true, ''), ('bandwidth', '', 'link', true, false, false, false, false, false, false, false, true, 'slower'), ('isolate', '', 'link', true, false, false, false, false, false, true, false, false, 'silence') AS k(kind, how, {NAMES})),
windows AS (
    SELECT fault, any_value(kind) AS kind, any_value(target) AS target,
           max(resolved) AS resolved, max(parameters) AS parameters,
           min(at) FILTER (WHERE phase = 'planned') AS planned_at,
           min(at) FILTER (WHERE phase = 'injecting') AS injecting_at,
           min(at) FILTER (WHERE phase = 'injected') AS injected_at,
           min(at) FILTER (WHERE phase = 'healing') AS healing_at,
           min(at) FILTER (WHERE phase = 'healed') AS healed_at,
           min(at) FILTER (WHERE phase = 'failed') AS failed_at,
           bool_and(took_effect) FILTER (WHERE phase = 'injected') AS took_effect,
           max(evidence) FILTER (WHERE phase IN ('injected', 'failed')) AS evidence
    FROM {faults} GROUP BY fault
), described AS (
    SELECT w.*, coalesce(get_json_object(w.parameters, '$.effects.breaks'), k.breaks, '') AS breaks, coalesce(CAST(get_json_object(w.parameters, '$.effects.disturbs_heartbeats') AS BOOLEAN), k.disturbs_heartbeats, false) AS disturbs_heartbeats, coalesce(CAST(get_json_object(w.parameters, '$.effects.broker_gone') AS BOOLEAN), k.broker_gone, false) AS broker_gone, coalesce(CAST(get_json_object(w.parameters, '$.effects.killed') AS BOOLEAN), k.killed, false) AS killed, coalesce(CAST(get_json_object(w.parameters, '$.effects.ends_member') AS BOOLEAN), k.ends_member, false) AS ends_member, coalesce(CAST(get_json_object(w.parameters, '$.effects.adds_member') AS BOOLEAN), k.adds_member, false) AS adds_member, coalesce(CAST(get_json_object(w.parameters, '$.effects.starts_process') AS BOOLEAN), k.starts_process, false) AS starts_process, coalesce(CAST(get_json_object(w.parameters, '$.effects.link_cut') AS BOOLEAN), k.link_cut, false) AS link_cut, coalesce(CAST(get_json_object(w.parameters, '$.effects.stalls') AS BOOLEAN), k.stalls, false) AS stalls, coalesce(CAST(get_json_object(w.parameters, '$.effects.below_limits') AS BOOLEAN), k.below_limits, false) AS below_limits, coalesce(get_json_object(w.parameters, '$.effects.proof'), k.proof, '') AS proof
    FROM windows w LEFT JOIN known k
      ON k.kind = w.kind AND k.how = coalesce(get_json_object(w.parameters, '$.how'), '')
)
SELECT fault, kind, target, resolved, parameters, planned_at, injecting_at, injected_at,
       healing_at, healed_at, failed_at, took_effect, evidence,
       breaks, disturbs_heartbeats, killed, ends_member, adds_member, starts_process, link_cut, stalls, proof,
       broker_gone AND resolved LIKE 'broker-%' AS broker_gone,
       below_limits OR breaks = 'broker' AND resolved LIKE 'controller-%'
           AS below_limits
FROM described
