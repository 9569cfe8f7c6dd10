-- A commit is checked against group, member and generation
-- A commit without a member id is accepted only in an empty group, and creates a group that does
-- not exist. A member's commit with a wrong member id is refused with 25, with a wrong instance id
-- with 82, and with a wrong generation with 22. It is refused with REBALANCE_IN_PROGRESS (27)
-- between join and assignment, but accepted while the group waits for members. In a group that does
-- not exist it is refused with GROUP_ID_NOT_FOUND (69), before version 9 with ILLEGAL_GENERATION
-- (22).
-- why: These checks keep a removed member from moving the position of its successor.
-- source: ClassicGroup.validateOffsetCommit; OffsetMetadataManager.validateOffsetCommit
-- id: X06 | rows: commits | unit: error code | protocols: classic | kind: broker
--
-- Commits but for those that other rules examine: for their metadata, and without replicas.

-- let COMMIT_ANSWER
--   A group that is not there is made by whoever commits as nobody; an empty one takes that as
--   well. That it is not there is told since version 9 of OffsetCommit, by the coordinator of Kafka
--   4 (OffsetMetadataManager.validateOffsetCommit; the one of 3.9 looks at no version).
CASE WHEN state_before IN ('Dead', 'Empty') AND coalesce(generation, -1) < 0 THEN :NONE
     WHEN state IS NULL THEN NULL
     WHEN state = 'Dead' AND :kafka_major >= 4
          AND CAST(get_json_object(request, '$.version') AS INT) >= 9 THEN :GROUP_ID_NOT_FOUND
     WHEN state = 'Dead' THEN :ILLEGAL_GENERATION
     WHEN nobody THEN :UNKNOWN_MEMBER_ID {IDENTITY}
     WHEN state = 'CompletingRebalance' THEN :REBALANCE_IN_PROGRESS ELSE :NONE END

-- let CREATED
--   What is known of a group once a commit as nobody was accepted where there was none: it is
--   there.
UNION ALL
SELECT concat('after it: ', j.subject), j.answered_at, CAST(NULL AS STRING),
       IF(j.state_after = 'Dead', 'there was still no group', NULL), CAST(NULL AS STRING)
FROM judged j LEFT ANTI JOIN {calls} d
  ON d.api = 'DELETE_GROUPS' AND d.`group` = j.`group`
 AND d.sent_at > after(-:DELETED_MS, j.sent_at)
 AND d.sent_at < after(:DELETED_MS, j.answered_at)
WHERE j.nobody AND j.state_before = 'Dead' AND j.state_after IS NOT NULL
  AND j.error_code = :NONE

-- let DELETED_MS = 5000
--   A delete that was asked for so shortly before or after may be in force when the state is read.
-- let WHERE = error_code <> :OFFSET_METADATA_TOO_LARGE AND rule <> 'R31-withdrawn'
-- let API = OFFSET_COMMIT
-- let MUST = {COMMIT_ANSWER}

-- query
{PROBED_ANSWERS} {CREATED}
