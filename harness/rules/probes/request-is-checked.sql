-- A request is checked against group, member and generation
-- A heartbeat or a commit with a wrong member id, or in a group that does not exist, is refused with
-- UNKNOWN_MEMBER_ID (25), one with another member's instance id with FENCED_INSTANCE_ID (82), and
-- one of another generation with ILLEGAL_GENERATION (22). A correct heartbeat is answered 0, or
-- REBALANCE_IN_PROGRESS (27) while the group waits for members to rejoin; a correct commit 0, or 27
-- between join and assignment. A commit without a member id is accepted only in an empty group, and
-- creates a group that does not exist; one of a member in a group that does not exist is refused
-- with GROUP_ID_NOT_FOUND (69), before version 9 with 22. TxnOffsetCommit is accepted in every state
-- of the group, and from a producer that names no member.
-- why: The answer decides whether a consumer goes on, joins again or has to stop for good, and keeps
--   a removed member from moving the position of its successor. A producer without the group's
--   metadata is never fenced.
-- source: document 004, heartbeat request; GroupMetadataManager.classicGroupHeartbeat;
--   ClassicGroup.validateOffsetCommit; OffsetMetadataManager.validateOffsetCommit; KIP-345; KIP-98;
--   KIP-447
-- id: X06 | was: R35-wire, X29-wire | rows: heartbeats and commits | unit: error code | protocols:
--   classic | kind: broker
--
-- Commits that other rules examine are left out: for their metadata, and without replicas. A commit
-- that names no member makes a group that is not there, and an empty one accepts it. That a group
-- is not there is answered since version 9 of OffsetCommit, by the coordinator of Kafka 4
-- (OffsetMetadataManager.validateOffsetCommit; the one of 3.9 looks at no version). Producers named
-- no member, instance or generation before KIP-447, so such a TxnOffsetCommit is accepted in any
-- state (ClassicGroup.validateOffsetCommit).

-- let DELETED_MS = 5000
--   A delete that was asked for so shortly before or after may be in force when the state is read.

WITH judged AS (
    SELECT *,
           CASE WHEN api = 'TXN_OFFSET_COMMIT' AND nobody THEN :NONE
                WHEN api <> 'HEARTBEAT' AND state_before IN ('Dead', 'Empty')
                     AND coalesce(generation, -1) < 0 THEN :NONE
                WHEN state IS NULL THEN NULL
                WHEN state = 'Dead' AND api = 'HEARTBEAT' THEN :UNKNOWN_MEMBER_ID
                WHEN state = 'Dead' AND api = 'OFFSET_COMMIT' AND :kafka_major >= 4
                     AND CAST(get_json_object(request, '$.version') AS INT) >= 9
                THEN :GROUP_ID_NOT_FOUND
                WHEN state = 'Dead' THEN :ILLEGAL_GENERATION
                WHEN api = 'OFFSET_COMMIT' AND nobody THEN :UNKNOWN_MEMBER_ID
                -- In this order (ClassicGroup.validateMember and its callers).
                WHEN instance_id IS NOT NULL AND owner IS NULL THEN :UNKNOWN_MEMBER_ID
                WHEN instance_id IS NOT NULL AND owner <> member_id THEN :FENCED_INSTANCE_ID
                WHEN NOT known THEN :UNKNOWN_MEMBER_ID
                WHEN generation <> generation_now THEN :ILLEGAL_GENERATION
                WHEN state = CASE api WHEN 'HEARTBEAT' THEN 'PreparingRebalance'
                                      WHEN 'OFFSET_COMMIT' THEN 'CompletingRebalance' END
                THEN :REBALANCE_IN_PROGRESS ELSE :NONE END AS must
    FROM {probed}
    WHERE api IN ('HEARTBEAT', 'TXN_OFFSET_COMMIT')
       OR api = 'OFFSET_COMMIT' AND error_code <> :OFFSET_METADATA_TOO_LARGE
          AND rule <> 'R31-withdrawn'
)
SELECT subject, sent_at AS at, {ANSWERED} FROM judged
UNION ALL
-- Once a commit that names no member was accepted where there was no group, there is one.
SELECT concat('after it: ', j.subject), j.answered_at, CAST(NULL AS STRING),
       IF(j.state_after = 'Dead', 'there was still no group', NULL), CAST(NULL AS STRING)
FROM judged j LEFT ANTI JOIN {calls} d
  ON d.api = 'DELETE_GROUPS' AND d.`group` = j.`group`
 AND d.sent_at > after(-:DELETED_MS, j.sent_at)
 AND d.sent_at < after(:DELETED_MS, j.answered_at)
WHERE j.api = 'OFFSET_COMMIT' AND j.nobody AND j.state_before = 'Dead'
  AND j.state_after IS NOT NULL AND j.error_code = :NONE
