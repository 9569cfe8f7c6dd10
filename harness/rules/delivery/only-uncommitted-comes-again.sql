-- Only uncommitted records come twice
-- A record is delivered again only if it lies at or after the last committed position. A member
-- that has been removed may still hand out what it had fetched.
-- why: A commit protects from repetition, so committing more often means fewer duplicates.
-- source: Kafka documentation, Message Delivery Semantics; KafkaConsumer, Offsets
-- id: X32b | rows: partitions | unit: records | measured: below the committed position | high: was
--   read again below its committed position
--
-- Positions that are kept elsewhere than with the coordinator are not examined.

WITH again AS (
    SELECT topic, partition, sum(count) AS count,
           sum(count) FILTER (WHERE zombie) AS zombies,
           max(committed - first_offset) FILTER (WHERE NOT explained) AS below,
           min(struct(polled_at, first_offset, last_offset, member, committed))
               FILTER (WHERE NOT explained) AS worst
    FROM {redeliveries} GROUP BY topic, partition
), read AS (
    SELECT DISTINCT topic, partition FROM {deliveries}
    WHERE :commit NOT IN ('external', 'transaction')
)
SELECT concat(r.topic, '-', r.partition) AS subject, a.worst.polled_at AS at,
       coalesce(a.below, 0) AS measured, 0 AS bound_high,
       concat(coalesce(a.count, 0), ' records delivered again, ', coalesce(a.zombies, 0),
              ' of them to a removed member',
              coalesce(concat('; first ', a.worst.first_offset, ' to ',
                              a.worst.last_offset, ' again to ', a.worst.member,
                              ', although ', a.worst.committed, ' had been committed'),
                       '')) AS note
FROM read r LEFT JOIN again a ON same(a, r, topic, partition)
