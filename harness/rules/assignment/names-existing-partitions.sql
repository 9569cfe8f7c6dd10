-- Only partitions that exist can be given
-- An assignment, of a group leader or of the broker, has partitions of the subscribed topic only,
-- and none that the topic has not got.
-- why: A member that is given a partition that does not exist has one of its share less to read,
--   and looks for the partition's leader for ever.
-- source: KIP-54; ConsumerPartitionAssignor.assign; KIP-848, target assignment
-- id: X54 | rows: assignments | unit: partitions | measured: that there are not | high: has
--   partitions that there are not | kind: in passing, compares clocks

-- let SEEN_LATE_MS = 2000
--   How late the observer may see a new partition. Over the kept runs it saw each before its
--   members.

WITH known AS (
    SELECT partition, min(at) AS seen_at
    FROM {topology} WHERE what = 'partition' AND topic = :topic GROUP BY partition
), given AS (
    SELECT a.*, a.topic <> :topic OR a.partition >= :partitions
                AND coalesce(k.seen_at > after(:SEEN_LATE_MS, a.at), true) AS strange
    FROM {assignments} a LEFT JOIN known k ON k.partition = a.partition
    WHERE :client <> 'app'
)
SELECT concat('assignment of generation ', generation) AS subject, min(at) AS at,
       count_if(strange) AS measured, 0 AS bound_high,
       coalesce(concat('among them ', min(IF(strange, concat(topic, '-', partition), NULL)),
                       ' to ', min_by(member, IF(strange, 0, 1))),
                concat(count(*), ' partitions')) AS note,
       min(evidence) AS evidence
FROM given GROUP BY broker, generation
