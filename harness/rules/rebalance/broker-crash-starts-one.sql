-- A broker crash triggers a rebalance (documented, outdated)
-- A broker that crashes, and so leaves a partition without a leader, triggers a rebalance.
-- why: If this were true, every restart of a broker would interrupt all consumers.
-- source: document 000, broker crash; document 002, rebalance conditions
-- id: R11 | rows: broker faults | unit: rebalances | measured: while the broker was gone | low: the
--   group did not rebalance | contradicted: all
--
-- Law: a rebalance is the broker's doing unless the coordinator names a cause of its own.

{BROKER_FAULTS}{REBALANCES}
SELECT subject, from_at AS at, rebalances AS measured, 1 AS bound_low,
       concat('logged reason: ', first.reason) AS note, first.evidence AS evidence
FROM spans JOIN rebalanced USING (span)
