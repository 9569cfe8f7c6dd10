-- ConsumerGroupDescribe lists the members of a KIP-848 group
-- ConsumerGroupDescribe returns each member with its epoch, client and latest and target
-- assignment, and the group's epochs and assignor. In a stable group the target is what the member
-- has, and its epoch the group's. DescribeGroups answers GROUP_ID_NOT_FOUND (69) for such a group.
-- why: A tool that knows only the older request does not find the group, although it is at work.
-- source: KIP-848, ConsumerGroupDescribe API; KIP-1043
-- id: R28-epoch | rows: described members and groups | unit: members | protocols: consumer | kind:
--   broker

WITH asked AS (
    SELECT step, sent_at, api, error_code,
           from_json(expected, 'map<string,struct<epoch:int,client:string,'
                               || 'partitions:array<int>>>') AS members,
           from_json(get_json_object(answer, '$.groups[0].members'),
                     'array<struct<memberId:string,memberEpoch:int,clientId:string,'
                     || 'clientHost:string,assignment:struct<topicPartitions:'
                     || 'array<struct<partitions:array<int>>>>,targetAssignment:'
                     || 'struct<topicPartitions:array<struct<partitions:array<int>>>>>>') AS shown,
           get_json_object(answer, '$.groups[0].groupState') AS state,
           CAST(get_json_object(answer, '$.groups[0].groupEpoch') AS INT) AS epoch,
           CAST(get_json_object(answer, '$.groups[0].assignmentEpoch') AS INT) AS target_epoch,
           get_json_object(answer, '$.groups[0].assignorName') AS assignor, `group`
    FROM {calls} WHERE rule = 'R28-epoch'
), computed AS (
    SELECT a.sent_at, max(struct(t.at, t.reason)).reason AS assignor
    FROM asked a JOIN {coordinator_events} t
      ON t.`group` = a.`group` AND t.event = 'target_computed' AND t.at <= a.sent_at
    GROUP BY a.sent_at
), known AS (
    SELECT sent_at, each.key AS member_id, each.value AS member,
           get(filter(shown, m -> m.memberId = each.key), 0) AS found
    FROM asked LATERAL VIEW explode(map_entries(members)) AS each
    WHERE api = 'CONSUMER_GROUP_DESCRIBE'
)
SELECT concat('member ', member_id) AS subject, sent_at AS at,
       CAST(NULL AS STRING) AS unknown,
       CASE WHEN found IS NULL THEN 'is not described'
            WHEN NOT found.memberEpoch <=> member.epoch
            THEN clause('is described in epoch ',
                        coalesce(string(found.memberEpoch), 'none'), ', not ',
                        member.epoch)
            WHEN NOT found.clientId <=> member.client
            THEN clause('is described as client ', coalesce(found.clientId, 'none'))
            WHEN coalesce(found.clientHost, '') = '' THEN 'is described without a host'
            WHEN NOT array_sort(flatten(transform(
                     found.assignment.topicPartitions, p -> p.partitions)))
                 <=> member.partitions
            THEN 'is described with another assignment than it was given'
            WHEN array_sort(flatten(transform(
                     found.targetAssignment.topicPartitions, p -> p.partitions)))
                 <> member.partitions
            THEN 'is described with another target than it has reached' END AS wrong
FROM known
UNION ALL
SELECT a.step, a.sent_at, IF(error_code IS NULL, 'was not answered', NULL),
       CASE WHEN api = 'DESCRIBE_GROUPS'
            THEN IF(error_code = :GROUP_ID_NOT_FOUND AND state <=> 'Dead', NULL,
                    concat('was answered ', concat_ws(', ', error_code, state)))
            WHEN NOT (error_code = :NONE AND state <=> 'Stable'
                      AND size(shown) <=> size(map_keys(members)))
            THEN concat('was answered ', concat_ws(', ', error_code, state), ' with ',
                        coalesce(size(shown), 0), ' of ', size(map_keys(members)),
                        ' members')
            WHEN size(array_distinct(filter(transform(shown, m -> m.clientHost),
                                            host -> host <> ''))) > 1
            THEN 'names a client at two hosts'
            WHEN epoch <> target_epoch
            THEN clause('is described as stable in epoch ', epoch,
                        ' with a target of epoch ', target_epoch)
            WHEN exists(shown, m -> m.memberEpoch <> epoch)
            THEN clause('is described as stable in epoch ', epoch,
                        ', which not all members have')
            WHEN a.assignor <> c.assignor
            THEN clause('is described with the assignor ', a.assignor,
                        ', and its target was computed by ', c.assignor) END
FROM asked a LEFT JOIN computed c ON c.sent_at = a.sent_at
WHERE api IN ('CONSUMER_GROUP_DESCRIBE', 'DESCRIBE_GROUPS')
