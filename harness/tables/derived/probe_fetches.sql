-- Positions that probes fetched, one row per answer and partition, and what they should be.
--
-- `committed` is what was answered, `wanted` the last position accepted before it was asked, -1 if
-- there was none or it was deleted; `in_flight` are those that were just being committed, and those
-- that failed for want of a replica, which may be made after all. `held`: an open transaction holds
-- the partition; `ending`: one was asked to end, and it is not known when that is in force.

WITH asked AS (
    SELECT `group`, step, sent_at, answered_at,
           get_json_object(request, '$.requireStable') = 'true' AS stable,
           get_json_object(request, '$.groups[0].topics') IS NULL AS everything,
           from_json(get_json_object(answer, '$.groups[0].topics'),
                     'array<struct<name:string,partitions:array<struct<partitionIndex:int,'
                     || 'committedOffset:bigint,errorCode:int>>>>') AS topics
    FROM {calls} WHERE api = 'OFFSET_FETCH' AND answered_at IS NOT NULL
), got AS (
    SELECT a.* EXCEPT (topics), topic.name AS topic, part.partitionIndex AS partition,
           part.committedOffset AS committed, part.errorCode AS error_code
    FROM asked a LATERAL VIEW explode(topics) AS topic
    LATERAL VIEW explode(topic.partitions) AS part
), ending AS (
    SELECT `group`, min(sent_at) AS at FROM {calls} WHERE api = 'END_TXN' GROUP BY `group`
)
SELECT g.`group`, g.topic, g.partition, g.step, g.sent_at, g.answered_at, g.stable,
       g.everything, g.committed, g.error_code,
       coalesce(max_by(p.committed, p.at) FILTER (
           WHERE p.at <= g.sent_at AND p.error_code = 0), -1) AS wanted,
       coalesce(collect_set(p.committed) FILTER (
           WHERE p.api = 'OFFSET_COMMIT' AND p.sent_at <= g.answered_at
             AND (p.error_code = 0 AND p.at > g.sent_at
                  OR p.error_code IN (:COORDINATOR_NOT_AVAILABLE, :REQUEST_TIMED_OUT))),
           array()) AS in_flight,
       coalesce(bool_or(p.api = 'TXN_OFFSET_COMMIT' AND p.error_code = 0
                        AND p.answered_at <= g.sent_at
                        AND (e.at IS NULL OR e.at > g.answered_at)), false) AS held,
       coalesce(bool_or(p.api = 'TXN_OFFSET_COMMIT' AND e.at <= g.answered_at), false)
           AS ending
FROM got g LEFT JOIN {probe_positions} p ON same(p, g, `group`, topic, partition)
LEFT JOIN ending e ON e.`group` = g.`group`
GROUP BY ALL
