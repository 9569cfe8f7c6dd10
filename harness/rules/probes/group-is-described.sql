-- DescribeGroups lists the members of a group
-- DescribeGroups returns each member with its id, instance id, client id, host and latest
-- assignment, and once. It returns a member's metadata, and the assignor that was chosen, only
-- while the group is stable.
-- why: Administration tools show this answer, so an operator looks for members by it.
-- source: document 003, DESCRIBE_GROUPS; ClassicGroupMember.describe and describeNoMetadata;
--   ClassicGroup.protocolName
-- id: R28 | rows: described members and groups | unit: members | protocols: classic | since: 4.0 |
--   kind: broker

{DESCRIBED}, shown AS (
    SELECT d.* EXCEPT (members), one.*
    FROM described d LATERAL VIEW explode(members) AS one
    WHERE d.state IS NOT NULL AND d.`group` <> :group
), known AS (
    SELECT t.call, t.subject, t.sent_at, t.state, t.memberId, t.clientId, t.clientHost,
           t.memberMetadata, t.memberAssignment, t.probe, m.member_id,
           m.instance_id <=> t.groupInstanceId AS same_instance, m.metadata,
           max(struct(s.sent_at, get_json_object(s.answer, '$.assignment') AS assignment))
               .assignment AS assignment
    FROM shown t LEFT JOIN {probe_members} m
      ON m.`group` = t.`group` AND m.member_id = t.memberId AND m.from_at < t.sent_at
     AND (m.to_at IS NULL OR m.to_at > t.sent_at)
    LEFT JOIN {calls} s
      ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.`group` = t.`group`
     AND s.member_id = t.memberId AND s.sent_at < t.sent_at
    GROUP BY ALL
), chosen AS (
    SELECT d.call, max(struct(j.answered_at, get_json_object(j.answer, '$.protocolName')
                                  AS assignor)).assignor AS assignor
    FROM described d JOIN {calls} j
      ON j.api = 'JOIN_GROUP' AND j.error_code = :NONE AND j.`group` = d.`group`
     AND j.answered_at <= d.sent_at
    GROUP BY d.call
)
SELECT concat('member in ', subject) AS subject, sent_at AS at,
       CAST(NULL AS STRING) AS note,
       CASE WHEN member_id IS NULL THEN 'is no member'
            WHEN NOT same_instance THEN 'is described with another instance id'
            WHEN NOT clientId <=> concat('probe-', probe)
            THEN clause('is described as client ', clientId)
            WHEN coalesce(clientHost, '') = '' THEN 'is described without a host'
            WHEN NOT memberMetadata <=> IF(state = 'Stable', metadata, '')
            THEN clause('is described with wrong metadata for state ', state)
            WHEN NOT memberAssignment <=> coalesce(assignment, '')
            THEN 'is described with another assignment than it was given last'
            END AS wrong
FROM known
UNION ALL
SELECT subject, sent_at, concat(described_as, ' with ', size(members), ' members'),
       CASE WHEN NOT (error_code = :NONE AND described_as <=> state
                      AND size(members) <=> size)
            THEN concat('was answered ', concat_ws(', ', error_code, described_as),
                        ' with ', coalesce(size(members), 0), ' of ', size, ' members')
            WHEN size(array_distinct(transform(members, m -> m.memberId))) < size(members)
            THEN 'names a member twice'
            -- A script's members are of one process, which has one address.
            WHEN size(array_distinct(filter(transform(members, m -> m.clientHost),
                                            host -> host <> '')))
                 > size(array_distinct(transform(members, m -> m.clientId)))
            THEN 'names a client at two hosts'
            WHEN protocol_type <> 'consumer'
            THEN clause('is described as a group of ', protocol_type)
            WHEN state <> 'Stable' AND d.assignor <> ''
              OR state = 'Stable' AND d.assignor <> c.assignor
            THEN clause('is described with the assignor "', d.assignor, '" when it was ',
                        state) END
FROM described d LEFT JOIN chosen c ON c.call = d.call
WHERE state IS NOT NULL AND state <> 'Dead' AND `group` <> :group
