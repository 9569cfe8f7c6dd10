-- A target is computed by the assignor that members ask for
-- A target assignment is computed by the assignor that the members name. Where they name none, it
-- is the broker's default, and so always the same.
-- why: Another assignor moves partitions that could have stayed.
-- source: KIP-848, Server-side assignor; ConsumerGroup.preferredServerAssignor
-- id: X83 | rows: targets | protocols: consumer | kind: broker, in passing

WITH wanted AS (
    SELECT max(assignor) AS assignor, count(DISTINCT coalesce(assignor, '')) AS kinds
    FROM {members} WHERE role = 'consumer' AND protocol = 'consumer'
), targets AS (
    SELECT broker, generation, at, reason AS assignor, evidence,
           first_value(reason) OVER (PARTITION BY 1 ORDER BY at, generation) AS first
    FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
)
SELECT concat('epoch ', t.generation) AS subject, t.at,
       IF(t.assignor <> coalesce(w.assignor, t.first),
          clause('was computed by ', t.assignor, IF(w.assignor IS NULL,
              ', and others by ', ', and members ask for '),
              coalesce(w.assignor, t.first)), NULL) AS wrong,
       concat('by ', t.assignor) AS note, t.evidence
FROM targets t CROSS JOIN wanted w WHERE w.kinds = 1
