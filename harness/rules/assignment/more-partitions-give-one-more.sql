-- With more partitions than members, some have one more
-- Where a topic has more partitions than its group has members, each member has at least one, and
-- none has two more than another.
-- why: A member with one partition more has more work, and falls behind first.
-- source: document 002, consumers and partitions
-- id: R22-more | rows: assignments of more partitions than members | unit: partitions | measured:
--   for the member with the fewest | low: left a member without a partition | kind: in passing

{SPREAD}
SELECT subject, at, least AS measured, 1 AS bound_low,
       IF(spread > 1, clause('gave one member ', spread, ' more than another'), NULL)
           AS wrong,
       note, evidence
FROM whole WHERE members < partitions AND :client <> 'app'
