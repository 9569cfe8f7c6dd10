-- A full group accepts no further member
-- A join that would make a group larger than group.max.size is answered GROUP_MAX_SIZE_REACHED
-- (81). The members of a Stable or CompletingRebalance group stay. While a group waits for members
-- only those that have rejoined count, and any further join is refused, even that of a former
-- member.
-- why: A surplus consumer fails at once; in a rebalance that may be one that was there long before.
-- source: group.max.size; KIP-389; GroupMetadataManager.acceptJoiningMember
-- id: X15 | rows: joins to a group that is or was full | unit: members | measured: including the
--   new one | high: made the group too large | protocols: classic | kind: broker
--
-- Joins by the state that they met: who counts there, and who is in already. In a group that
-- prepares a rebalance, a member counts from when its JoinGroup is parked.

WITH met AS (
    SELECT p.call, count(w.member_id) AS awaiting,
           coalesce(bool_or(w.member_id = p.member_id), false) AS awaits
    FROM {probed} p LEFT JOIN {probe_joins} w
      ON w.`group` = p.`group` AND w.sent_at < p.sent_at AND w.answered_at > p.sent_at
    WHERE p.api = 'JOIN_GROUP' GROUP BY p.call
), counted AS (
    SELECT p.*, p.error_code = :GROUP_MAX_SIZE_REACHED AS refused,
           p.state_before = 'PreparingRebalance' AS preparing,
           IF(p.state_before = 'PreparingRebalance', m.awaits, p.known) AS is_in,
           IF(p.state_before = 'PreparingRebalance', m.awaiting, p.size) AS counting
    FROM {probed} p JOIN met m USING (call)
    WHERE p.error_code <> :INVALID_SESSION_TIMEOUT
      AND p.`group` IN (SELECT `group` FROM {probed} WHERE size >= :group_max_size)
)
SELECT subject, sent_at AS at, counting + IF(refused OR is_in, 0, 1) AS measured,
       :group_max_size AS bound_high,
       CASE WHEN NOT refused THEN NULL
            WHEN is_in THEN 'was refused, though it is a member'
            WHEN counting < :group_max_size
            THEN clause('was refused, though the group had ', counting,
                        IF(preparing, ' members that had joined again', ' members'))
            END AS wrong,
       IF(is_in OR refused, 'made the group no larger', NULL) AS excused,
       concat('answered ', error_code, ' with ', counting,
              IF(preparing, ' members that had joined', ' members in the group')) AS note
FROM counted
