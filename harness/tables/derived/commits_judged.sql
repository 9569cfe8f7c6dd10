-- One row per commit and partition, with the coordinator's answer.
--
-- What is committed after the group's positions were deleted has nothing before it.
--
-- `removed_at` is set if the member id was no longer in the group when the commit arrived. A line
-- is stamped late, so one that was accepted may have come just before. A coordinator takes commits
-- as they arrive; answers that waited for a replica all come at once.

WITH generations AS (
    SELECT at, generation FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('stabilized', 'emptied', 'epoch_bumped')
), asked AS (
    SELECT member, member_id, generation, topic, partition, committed, processed_at AS at,
           arrived_at, error_code
    FROM {positions} WHERE api = 'OFFSET_COMMIT'
), mixed AS (
    SELECT *, CAST(NULL AS INT) AS new_generation, error_code = 0 AS counts FROM asked
    UNION ALL
    SELECT NULL, NULL, NULL, p.topic, p.partition, NULL, g.at, g.at, NULL, g.generation,
           false
    FROM generations g CROSS JOIN (SELECT DISTINCT topic, partition FROM asked) p
    UNION ALL
    SELECT NULL, NULL, NULL, topic, partition, -1, at, at, NULL, -1, true
    FROM {forgotten}
), ordered AS (
    SELECT *,
           last_value(nullif(new_generation, -1), true) OVER before AS group_generation,
           nullif(last_value(CASE WHEN counts THEN committed END, true) OVER before, -1)
               AS previous_committed
    FROM mixed
    WINDOW before AS (PARTITION BY topic, partition ORDER BY arrived_at, at, committed
                      {BEFORE})
)
SELECT :group AS `group`, o.member, o.member_id, o.generation, o.topic, o.partition,
       o.committed, o.at, o.error_code,
       m.removed_at, o.group_generation, o.previous_committed
FROM ordered o LEFT JOIN {removals} m
  ON m.member_id = o.member_id
 AND o.arrived_at > IF(o.error_code = 0, after(:slack_ms, m.removed_at), m.removed_at)
 AND (m.back_at IS NULL OR o.arrived_at < m.back_at)
WHERE o.new_generation IS NULL
