-- With as many partitions as members, each member has one
-- Each member has one partition where a topic has as many partitions as its group has members.
-- why: No further member can share the work.
-- source: document 002, consumers and partitions
-- id: R22-each | rows: assignments of as many partitions as members | unit: partitions | measured:
--   for the member with the most | high: gave a member more than one | kind: in passing

{SPREAD}
SELECT subject, at, most AS measured, 1 AS bound_low, 1 AS bound_high, note, evidence
FROM whole WHERE members = partitions AND :client <> 'app'
