-- A missing group is described as dead (documented, outdated)
-- DescribeGroups returns the state Dead, without an error, for a group that does not exist.
-- why: A tool that looks for Dead without an error misses what brokers answer today.
-- source: document 003, DESCRIBE_GROUPS and the group's states
-- id: R28-dead | rows: descriptions of groups that do not exist | unit: descriptions | protocols:
--   classic | kind: broker
--
-- By the newest version of the call that both sides know: the one that clients use.

{MISSING}
SELECT subject, at, answer AS note,
       IF(error_code = :NONE AND described_as <=> 'Dead', NULL, answer) AS wrong
FROM missing WHERE version = (SELECT max(version) FROM described)
