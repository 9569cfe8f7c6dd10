-- A returning member starts a rebalance (documented, wrong for static members)
-- A process that takes the place of a static member starts a rebalance.
-- why: The purpose of group.instance.id is a restart without a rebalance.
-- source: document 002, rebalance conditions
-- id: R20a-return | rows: static members that came back | unit: ms | measured: until a rebalance
--   started | high: came back, and a rebalance started too late | protocols: classic | delayed by:
--   broker | contradicted: all | kind: broker, in passing, compares clocks
--
-- Replacements of static members while no rebalance was under way; X02 is the contrary.

WITH {REPLACEMENTS}, followed AS (
    SELECT r.instance_id, r.at, r.evidence, min(e.at) AS started_at
    FROM replacements r LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started' AND e.at >= r.at
     AND e.at <= after(:START_MS + :slack_ms, r.at)
    WHERE NOT r.rebalancing
    GROUP BY r.instance_id, r.at, r.evidence
)
SELECT concat(instance_id, ' came back') AS subject, at,
       ms_between(at, started_at) AS measured, :START_MS + :slack_ms AS bound_high,
       IF(started_at IS NULL, 'no rebalance started after it', NULL) AS wrong, evidence
FROM followed
