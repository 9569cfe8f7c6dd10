-- DescribeGroups reports a missing group as not found
-- DescribeGroups answers GROUP_ID_NOT_FOUND (69) for a group that does not exist from version 6 on,
-- and the state Dead without an error before.
-- why: A tool can tell a misspelt group from an empty one if its library is new enough.
-- source: KIP-1043; DescribeGroupsResponse v6
-- id: R28-unknown | was not: R28-dead | rows: descriptions of groups that do not exist | unit:
--   descriptions | protocols: classic | kind: broker

{DESCRIBED}
SELECT subject, sent_at AS at,
       concat('was answered ', concat_ws(', ', error_code, described_as)) AS note,
       IF(error_code = IF(version >= 6, :GROUP_ID_NOT_FOUND, :NONE) AND described_as <=> 'Dead',
          NULL, concat('was answered ', concat_ws(', ', error_code, described_as))) AS wrong
FROM described WHERE state = 'Dead'
