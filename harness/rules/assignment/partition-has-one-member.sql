-- A partition belongs to one member
-- Each partition is assigned to at most one member of a group at a time; a member that the
-- coordinator has removed no longer counts.
-- why: Two members that own one partition process its records twice and overwrite each other's
--   commits.
-- source: document 002, partition exclusivity; document 001, SyncGroup phase
-- id: R21 | rows: generations and partitions | unit: ms | measured: held by two | high: was held by
--   two members at once
--
-- Per generation what the leader gave, and per partition what the callbacks say. Zombies that the
-- coordinator had removed hold nothing any more.

-- let ZOMBIES = false

{OVERLAPS}, owners AS (
    -- A member that left before another was given the partition holds nothing any more.
    SELECT broker, generation, number, topic, partition, min(at) AS at,
           min(evidence) AS evidence,
           count(DISTINCT IF(removed_at <= after(:slack_ms, last_at), NULL, member_id)) AS owners
    FROM (SELECT a.*, g.number, max(a.at) OVER (PARTITION BY
                     a.broker, a.generation, g.number, a.topic, a.partition) AS last_at
          FROM {assignments} a LEFT JOIN {generations} g
            ON same(g, a, broker, generation) AND in_time_of(g, a.at))
    GROUP BY broker, generation, number, topic, partition
)
SELECT concat(topic, '-', partition) AS subject, from_at AS at, ms AS measured,
       CAST(NULL AS DOUBLE) AS bound_low, :rounding_ms AS bound_high,
       CAST(NULL AS STRING) AS wrong,
       IF(ms > 0, concat('by ', before, ' and ', member),
          concat(times, ' times held, one after the other')) AS note,
       CAST(NULL AS STRING) AS evidence
FROM longest
UNION ALL
SELECT concat('generation ', generation), min(at), NULL, NULL, NULL,
       CASE WHEN max(owners) > 1
            THEN clause(max(struct(owners, topic, partition)).topic, '-',
                        max(struct(owners, topic, partition)).partition,
                        ' was given to ', max(owners), ' members') END,
       'each partition was given to one member', min(evidence)
FROM owners GROUP BY broker, generation, number
