-- A cooperative move takes two generations
-- A partition that moves between two members has no owner for one generation: the first rebalance
-- takes it away, the next one assigns it.
-- why: The old owner has to let go before the new one begins, or both process the same records.
-- source: KIP-429
-- id: X01-two | rows: partitions moved | unit: generations | measured: from one assignment to the
--   next | low: moved without a generation in which it had no owner | protocols: cooperative
--
-- Partitions that went from one member to another while both were in the group. What its member had
-- lost before it joined had no owner already, so it may be given at once (KIP-429,
-- onPartitionsLost).

WITH followed AS (
    SELECT *, lag(struct(member, member_id, generation, at)) OVER (
        PARTITION BY topic, partition ORDER BY at, generation, member_id, evidence) AS before
    FROM (SELECT * EXCEPT (member), coalesce(instance_id, member) AS member FROM {assignments})
), moved AS (
    SELECT f.*, min(j.arrived_at) AS joined_at
    FROM followed f JOIN {joins} j
      ON j.generation = f.generation AND j.member_id = f.before.member_id
    -- A member whose SyncGroup got no answer has not had what its leader gave it.
    LEFT SEMI JOIN {own_requests} s
      ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE
     AND s.member_id = f.before.member_id AND s.generation = f.before.generation
    WHERE f.member <> f.before.member
    GROUP BY ALL
), ended AS (
    SELECT m.*, count(o.to_at) AS lost
    FROM moved m LEFT JOIN {ownership} o
      ON o.member_id = m.before.member_id AND same(o, m, topic, partition)
     AND o.ended_by = 'lost' AND o.to_at BETWEEN m.before.at AND m.joined_at
    GROUP BY ALL
)
SELECT concat(topic, '-', partition, ' from ', before.member, ' to ', member) AS subject,
       at, generation - before.generation AS measured, 2 AS bound_low,
       IF(lost > 0, 'had been lost by its owner before it joined again', NULL) AS excused,
       concat('given to ', before.member, ' in generation ', before.generation,
              ' and to ', member, ' in ', generation) AS note,
       evidence
FROM ended
