-- A group in use cannot be deleted, nor its positions
-- A group with members cannot be deleted (NON_EMPTY_GROUP, 68). The positions of a topic that its
-- members subscribe to can be neither deleted (GROUP_SUBSCRIBED_TO_TOPIC, 86) nor set by others
-- (UNKNOWN_MEMBER_ID, 25). An empty group and its positions can be deleted and set; a group that
-- does not exist is not found (69).
-- why: Positions can be reset only after all consumers of the group have stopped.
-- source: document 003, DELETE_GROUPS and OFFSET_DELETE; KIP-229; KIP-496; ConsumerGroup (Kafka 4)
-- id: X30 | rows: deletes and alterations | unit: error code | kind: broker

WITH asked AS (
    SELECT *, get_json_object(request, '$.topics[0].name') AS topic FROM {probed}
), beats AS (
    -- What a member of KIP-848 subscribes to, whenever it says so; to nothing once it left.
    SELECT `group`, member_id, answered_at, step,
           IF(CAST(get_json_object(request, '$.memberEpoch') AS INT) = -1, '[]',
              get_json_object(request, '$.subscribedTopicNames')) AS topics
    FROM {probed} WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE
), named AS (
    SELECT a.call, a.topic, b.member_id,
           max_by(b.topics, struct(b.answered_at, b.step)) AS topics
    FROM asked a JOIN beats b ON b.`group` = a.`group` AND b.answered_at <= a.sent_at
    WHERE a.api = 'OFFSET_DELETE' AND b.topics IS NOT NULL
    GROUP BY a.call, a.topic, b.member_id
), said AS (
    SELECT a.call, contains(unbase64(m.metadata), encode(a.topic, 'UTF-8')) AS subscribed
    FROM asked a JOIN {probe_members} m
      ON m.`group` = a.`group` AND m.from_at < a.sent_at
     AND (m.to_at IS NULL OR m.to_at > a.sent_at)
    WHERE a.api = 'OFFSET_DELETE'
    UNION ALL
    SELECT call, array_contains(from_json(topics, 'array<string>'), topic) FROM named
), subscribed AS (
    SELECT call, bool_or(subscribed) AS subscribed FROM said GROUP BY call
), judged AS (
    SELECT a.*,
           CASE WHEN api = 'DELETE_GROUPS' AND state_before = 'Empty' THEN :NONE
                WHEN api = 'OFFSET_COMMIT' AND state_before IN ('Empty', 'Dead') THEN :NONE
                WHEN state IS NULL THEN NULL
                WHEN api = 'OFFSET_COMMIT' THEN :UNKNOWN_MEMBER_ID
                WHEN state = 'Dead' THEN :GROUP_ID_NOT_FOUND
                WHEN api = 'DELETE_GROUPS' THEN :NON_EMPTY_GROUP
                WHEN s.subscribed THEN :GROUP_SUBSCRIBED_TO_TOPIC
                ELSE :NONE END AS must
    FROM asked a LEFT JOIN subscribed s USING (call)
    WHERE api IN ('DELETE_GROUPS', 'OFFSET_DELETE')
       -- Too much metadata is another rule's matter.
       OR api = 'OFFSET_COMMIT' AND nobody AND error_code <> :OFFSET_METADATA_TOO_LARGE
          AND rule <> 'R31-withdrawn'  -- asked while nothing could be written
)
SELECT subject, sent_at AS at, {ANSWERED} FROM judged
UNION ALL
SELECT concat('after it: ', subject), answered_at,
       IF(state_after IS NULL, 'the state of the group is not known', NULL),
       IF(state_after <> 'Dead', concat('the group was in state ', state_after), NULL),
       NULL
FROM judged WHERE api = 'DELETE_GROUPS' AND error_code = :NONE
