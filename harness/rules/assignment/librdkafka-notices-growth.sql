-- Every librdkafka member notices new partitions by itself
-- Each librdkafka member, not only the leader, joins again when it sees new partitions. A member
-- that is not the leader gets the same generation back if the group is stable.
-- why: The member's partitions stand still for a moment although the group does not rebalance.
-- source: rdkafka_cgrp.c, rd_kafka_cgrp_metadata_update_check; GroupMetadataManager
-- id: X16 | rows: joins that a member began by itself | unit: generations | measured: above the
--   generation before | clients: librdkafka | protocols: eager
--
-- Joins, after the topic grew, of members that no heartbeat had told to join.
--
-- Several notice at the same time: who started a rebalance is named in the coordinator's reason,
-- however late the line of its request or of the rebalance is stamped. Of several joins of one
-- member the last before that line is meant. One that names it because it left, or was removed,
-- tells nothing of a join.
--
-- Law: a join that the coordinator names as the cause of a rebalance has started it.

WITH {GROWTH},
moves AS (
    SELECT member_id, member, api, arrived_at AS at, generation, evidence,
           lag(api) OVER w AS api_before, lead(arrived_at) OVER w AS next_at
    FROM {own_requests}
    WHERE api = 'JOIN_GROUP' AND error_code = :NONE
       OR api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS
    WINDOW w AS (PARTITION BY member_id ORDER BY arrived_at, evidence)
), alone AS (
    SELECT m.* FROM moves m JOIN grown g
      ON m.at > g.at AND m.at <= after(:metadata_refresh_ms + :heartbeat_ms + 1000, g.at)
    WHERE m.api = 'JOIN_GROUP' AND m.api_before = 'JOIN_GROUP'
), standing AS (
    SELECT a.member, a.member_id, a.at, a.next_at, a.generation, a.evidence,
           max(struct(g.joined_at, g.generation, g.leader, g.next_started_at)) AS last
    FROM alone a JOIN {generations} g ON after(:slack_ms, g.joined_at) <= a.at
    GROUP BY a.member, a.member_id, a.at, a.next_at, a.generation, a.evidence
), placed AS (
    SELECT s.member, s.at, s.generation, s.evidence, s.last.generation AS found,
           s.last.leader = s.member_id AS leads,
           coalesce(s.last.next_started_at >= after(-:rounding_ms, s.at), true) AS stable,
           coalesce(s.last.next_started_at <= after(:slack_ms, s.at), false) AS started,
           coalesce(e.reason LIKE concat('%', s.member_id, '%')
                    AND e.reason RLIKE '(?i)re-?join|updating metadata'
                    AND coalesce(e.at < s.next_at, true), false) AS named
    FROM standing s LEFT JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event = 'rebalance_started'
     AND e.at = s.last.next_started_at
)
SELECT concat(member, IF(leads, ' (leader)', '')) AS subject, at,
       generation - found AS measured,
       CASE WHEN stable AND leads AND NOT (started OR named)
            THEN 'its join started no rebalance'
            WHEN stable AND NOT leads AND generation <> found AND named
            THEN 'started a rebalance though it does not lead the group' END AS wrong,
       CASE WHEN NOT stable OR NOT leads AND generation <> found
            THEN 'noticed by itself while a rebalance was under way'
            WHEN leads THEN 'noticed by itself, and a rebalance started'
            ELSE 'gave its partitions up and got them back, without a rebalance' END
           AS note, evidence
FROM placed
