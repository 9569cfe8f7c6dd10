-- With more members than partitions, some are idle
-- Where a group has more members than its topic has partitions, as many members as there are
-- partitions have one each, and the others have none.
-- why: A surplus consumer costs memory and heartbeats, and does nothing until another member goes.
-- source: document 002, consumers and partitions; consuming threads and partitions
-- id: R22-idle | rows: assignments of fewer partitions than members | unit: members | measured:
--   without a partition | low: left fewer members idle than there are surplus members | high: left
--   more members idle than there are surplus members | kind: in passing

{SPREAD}
SELECT subject, at, idle AS measured, members - partitions AS bound_low,
       members - partitions AS bound_high, note, evidence
FROM whole WHERE members > partitions AND :client <> 'app'
