-- KIP-848: what a coordinator answers to heartbeats, right and wrong, of scripted members.

-- let HEARTBEATS_ANSWERED = {HEARTBEATS} {ANSWERED_HEARTBEAT} WHERE {WHERE}
--   Heartbeats of which that is so, each with the error that it was and had to be answered.

-- let HEARTBEATS
{CALLS}, {MEMBERS}, judged AS (
    SELECT *, {FOUND} AS found,
           CASE WHEN found IN ('no member id', 'an empty id', 'a join without a time-out',
                               'a join that owns partitions', 'a join without a subscription',
                               'a static goodbye without an instance id',
                               'an epoch that does not exist') THEN :INVALID_REQUEST
                WHEN found = 'another assignor' THEN :UNSUPPORTED_ASSIGNOR
                WHEN found = 'no such group' THEN :GROUP_ID_NOT_FOUND
                WHEN found = 'a full group' THEN :GROUP_MAX_SIZE_REACHED
                WHEN found = 'an instance id in use' THEN :UNRELEASED_INSTANCE_ID
                WHEN found = 'the instance id of another' THEN :FENCED_INSTANCE_ID
                WHEN found = 'an unknown member' THEN :UNKNOWN_MEMBER_ID
                WHEN found IN ('an epoch to come', 'an older epoch',
                               'an epoch before, with partitions that it has not')
                THEN :FENCED_MEMBER_EPOCH
                WHEN regex_broken AND epoch >= 0 THEN :INVALID_REGULAR_EXPRESSION
                WHEN found IS NOT NULL THEN :NONE END AS must
    FROM met WHERE api = 'CONSUMER_GROUP_HEARTBEAT'
)

-- let CALLS
--   Calls about a group, and the answers that heartbeats among them were given. Members that
--   scripts play subscribe to one existing topic, so that a number names a partition.
WITH asked AS (
    SELECT row_number() OVER (ORDER BY sent_at, step) AS call, api, `group`, step, sent_at,
           answered_at, error_code,
           CAST(get_json_object(request, '$.version') AS INT) AS version,
           coalesce(get_json_object(request, '$.memberId'), '') AS member_id,
           CAST(get_json_object(request, '$.memberEpoch') AS INT) AS epoch,
           get_json_object(request, '$.instanceId') AS instance_id,
           get_json_object(request, '$.groupId') AS group_id,
           get_json_object(request, '$.rackId') AS rack_id,
           CAST(get_json_object(request, '$.rebalanceTimeoutMs') AS INT) AS rebalance_ms,
           get_json_object(request, '$.serverAssignor') AS assignor,
           get_json_object(request, '$.subscribedTopicNames') AS names,
           get_json_object(request, '$.subscribedTopicRegex') AS regex,
           get_json_object(request, '$.protocolType') AS protocol_type,
           flatten(transform(from_json(get_json_object(request, '$.topicPartitions'),
               'array<struct<partitions:array<int>>>'), t -> t.partitions)) AS owned,
           get_json_object(expected, '$.regex') = 'broken' AS regex_broken,
           CAST(get_json_object(answer, '$.memberEpoch') AS INT) AS told_epoch,
           coalesce(nullif(get_json_object(answer, '$.memberId'), ''),
                    get_json_object(request, '$.memberId')) AS told_id,
           flatten(transform(from_json(
               get_json_object(answer, '$.assignment.topicPartitions'),
               'array<struct<partitions:array<int>>>'), t -> t.partitions)) AS told
    FROM {calls} WHERE answered_at IS NOT NULL
), accepted AS (
    SELECT call, `group`, told_id, epoch, told_epoch, answered_at,
           last_value(instance_id, true) OVER (
               PARTITION BY `group`, told_id ORDER BY call {SO_FAR}) AS instance_id,
           lag(told_epoch) OVER (PARTITION BY `group`, told_id ORDER BY call) AS told_before,
           last_value(told, true) OVER (
               PARTITION BY `group`, told_id ORDER BY call {SO_FAR}) AS has
    FROM asked WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE
)

-- let MEMBERS
--   Who was a member when each call was sent, in which epoch, by what had been answered before.
latest AS (
    SELECT c.call, c.`group`, c.sent_at, a.told_id AS who,
           max_by(a.instance_id, a.call) AS instance_id,
           max_by(struct(a.call, a.told_epoch, a.told_before, a.has, a.answered_at), a.call)
               AS was
    FROM asked c JOIN accepted a ON a.`group` = c.`group` AND a.answered_at <= c.sent_at
    GROUP BY c.call, c.`group`, c.sent_at, a.told_id
), members AS (
    SELECT l.call, l.who, l.instance_id, l.was.told_epoch AS epoch,
           l.was.told_before AS epoch_before, l.was.has AS has
    FROM latest l
    LEFT ANTI JOIN {coordinator_events} e
      ON e.`group` = l.`group` AND e.event = 'evicted' AND e.member_id = l.who
     AND e.at >= l.was.answered_at AND e.at <= l.sent_at
    -- Another that joined with its instance id has its place.
    LEFT ANTI JOIN accepted r ON same(r, l, `group`, instance_id) AND r.told_id <> l.who
     AND r.epoch = 0 AND r.call > l.was.call AND r.answered_at <= l.sent_at
    WHERE l.was.told_epoch <> -1
), sizes AS (
    SELECT l.call, count(m.who) AS size
    FROM latest l LEFT JOIN members m ON same(m, l, call, who) GROUP BY l.call
), joined AS (
    SELECT c.call, max_by(j.protocol_type, j.call) AS classic_type
    FROM asked c JOIN asked j
      ON j.`group` = c.`group` AND j.api = 'JOIN_GROUP' AND j.error_code = :NONE
     AND j.sent_at < c.sent_at
    GROUP BY c.call
), met AS (
    SELECT c.*, concat(c.step, coalesce(concat(' (', c.`group`, ')'), '')) AS subject,
           s.size IS NOT NULL AS there, coalesce(s.size, 0) AS size, j.classic_type,
           own.who IS NOT NULL AS known, own.epoch AS epoch_now, own.epoch_before,
           i.who AS owner, i.epoch AS owner_epoch,
           coalesce(size(c.owned) = 0 OR size(array_except(c.owned, own.has)) = 0, false)
               AS owns_its_own,
           coalesce(own.epoch_before > 0 AND own.epoch_before < own.epoch, false) AS moved
    FROM asked c LEFT JOIN sizes s ON s.call = c.call LEFT JOIN joined j ON j.call = c.call
    LEFT JOIN members own ON own.call = c.call AND own.who = c.member_id
    LEFT JOIN members i ON same(i, c, call, instance_id)
)

-- let FOUND
--   The first thing that a coordinator finds in a heartbeat, in the order in which it looks
--   (GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid, then
--   GroupMetadataManager.consumerGroupHeartbeat and consumerGroupLeave).
CASE WHEN member_id = '' AND (version >= 1 OR epoch > 0 OR epoch = -1) THEN 'no member id'
     WHEN group_id = '' OR instance_id = '' OR rack_id = '' THEN 'an empty id'
     WHEN epoch = 0 AND rebalance_ms = -1 THEN 'a join without a time-out'
     WHEN epoch = 0 AND (owned IS NULL OR size(owned) > 0) THEN 'a join that owns partitions'
     WHEN epoch = 0 AND names IS NULL AND regex IS NULL THEN 'a join without a subscription'
     WHEN epoch = -2 AND instance_id IS NULL THEN 'a static goodbye without an instance id'
     WHEN epoch < -2 THEN 'an epoch that does not exist'
     WHEN assignor NOT IN ('uniform', 'range') THEN 'another assignor'
     WHEN epoch <> 0 AND NOT there THEN 'no such group'
     WHEN epoch = 0 AND NOT there AND classic_type <> 'consumer' THEN 'no such group'
     WHEN epoch >= 0 AND size >= :consumer_max_size AND NOT known AND owner IS NULL
     THEN 'a full group'
     WHEN epoch = 0 AND instance_id IS NULL AND known THEN 'a join anew'
     WHEN epoch = 0 AND (instance_id IS NULL OR owner IS NULL) THEN 'a join'
     WHEN epoch = 0 AND owner_epoch = -2 THEN 'a join in the place of one that said goodbye'
     WHEN epoch = 0 AND owner = member_id THEN 'a join anew of a static member'
     WHEN epoch = 0 THEN 'an instance id in use'
     WHEN instance_id IS NOT NULL AND owner IS NULL THEN 'an unknown member'
     WHEN instance_id IS NOT NULL AND owner <> member_id THEN 'the instance id of another'
     WHEN NOT known THEN 'an unknown member'
     WHEN epoch < 0 THEN 'a goodbye'
     WHEN epoch = epoch_now THEN 'its epoch'
     WHEN epoch > epoch_now THEN 'an epoch to come'
     WHEN NOT owns_its_own THEN 'an epoch before, with partitions that it has not'
     WHEN moved AND epoch = epoch_before THEN 'the epoch before'
     WHEN moved OR coalesce(epoch_before, 0) <= 0 THEN 'an older epoch' END

-- let ANSWERED_HEARTBEAT
SELECT subject, sent_at AS at, error_code AS measured, must AS bound_low, must AS bound_high,
       concat('answered ', error_code, ' to ', found) AS note
FROM judged
