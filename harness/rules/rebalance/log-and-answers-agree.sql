-- Log and answers name the same members
-- A member id that a coordinator accepts has a line in a coordinator's log that it joined, from
-- before. An id in such a line, or in one that gave it, was named in an answer.
-- why: Monitoring that reads the log, and an application that asks its client, have to speak of the
--   same members.
-- source: GroupMetadataManager; ClassicGroup.add; KIP-848, Member ID
-- id: X81 | rows: member ids | kind: broker, in passing, compares clocks
--
-- A line of a join may be stamped just after the answer to it. A static member that takes its own
-- place has a line with its former id. A broker that dies may not have answered with an id.

WITH lines AS (
    SELECT member_id, min(at) AS at, min(at) FILTER (WHERE event = 'member_added') AS added_at,
           min_by(evidence, struct(at, evidence)) AS evidence
    FROM {coordinator_events}
    WHERE `group` = :group AND member_id <> ''
      AND event IN ('member_id_given', 'member_added') GROUP BY member_id
), heard AS (
    SELECT member_id, min(member) AS member, min(arrived_at) AS at,
           max(instance_id) AS instance_id,
           min(processed_at) FILTER (WHERE error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
               AND api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT',
                           'CONSUMER_GROUP_HEARTBEAT')) AS accepted_at,
           min_by(evidence, struct(arrived_at, evidence)) AS evidence
    FROM {own_requests} WHERE member_id IS NOT NULL GROUP BY member_id
), compared AS (
    SELECT member_id, h.member, coalesce(l.at, h.at) AS at,
           coalesce(l.evidence, h.evidence) AS evidence,
           CASE WHEN h.member_id IS NULL THEN 'is in the log, and in no answer'
                WHEN h.accepted_at IS NOT NULL AND l.added_at IS NULL AND h.instance_id IS NULL
                THEN 'was accepted, and the log does not say that it joined'
                WHEN h.accepted_at < after(-:slack_ms, l.added_at)
                THEN 'was accepted before it had joined' END AS odd
    FROM lines l FULL OUTER JOIN heard h USING (member_id)
)
SELECT concat(coalesce(b.member, 'no member'), ' (', b.member_id, ', log)') AS subject, b.at,
       IF(b.odd IS NOT NULL, clause(b.odd), NULL) AS wrong, b.evidence
FROM compared b LEFT ANTI JOIN {unsettled} u
  ON b.odd = 'is in the log, and in no answer' AND u.from_at <= after(:slack_ms, b.at)
 AND u.to_at >= after(-:slack_ms, b.at)
