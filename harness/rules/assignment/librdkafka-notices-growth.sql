-- Every librdkafka member notices new partitions by itself
-- Each librdkafka member, not only the leader, joins again when it sees new partitions. A member
-- that is not the leader gets the same generation back if the group is stable.
-- why: The member's partitions stand still for a moment although the group does not rebalance.
-- source: rdkafka_cgrp.c, rd_kafka_cgrp_metadata_update_check; GroupMetadataManager
-- id: X16 | rows: joins that a member began by itself | unit: generations | measured: above the
--   generation before | clients: librdkafka | protocols: eager
--
-- Joins, after the topic grew, of members that no heartbeat had made join. Several notice at the
-- same time: the coordinator's reason names the member that started a rebalance, however late its
-- lines are stamped. Of several joins of one member the last before that line is meant.
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
), standing AS (
    SELECT m.*, max(struct(d.joined_at, d.generation, d.leader, d.next_started_at)) AS last
    FROM moves m JOIN grown g
      ON m.at > g.at AND m.at <= after(:metadata_refresh_ms + :heartbeat_ms + 1000, g.at)
    JOIN {generations} d ON after(:slack_ms, d.joined_at) <= m.at
    WHERE m.api = 'JOIN_GROUP' AND m.api_before = 'JOIN_GROUP'
    GROUP BY ALL
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
