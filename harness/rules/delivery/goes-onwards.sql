-- A member reads each partition onwards
-- A member that goes on with a partition is handed records behind those that it was handed before.
-- It goes back only when the partition is handed to it anew.
-- why: A program that relies on the order of a partition applies an older record over a newer one.
-- source: KafkaConsumer, Offsets and Consumer Position
-- id: X72 | rows: members and partitions | unit: records | measured: back | high: was handed
--   records again, or out of order | kind: in passing
--
-- A position that is set anew may be anywhere, so what follows on a callback for assigned
-- partitions, or on a lookup of a log's end, is compared with nothing before it. A member with
-- transactions goes back when one is aborted, and is not examined.

WITH mixed AS (
    SELECT d.member, topic, partition, polled_at AS at, first_offset, last_offset,
           0 AS begins
    FROM {deliveries} d
    LEFT ANTI JOIN {members} m ON m.member = d.member AND m.commit = 'transaction'
    UNION ALL
    SELECT member, topic, partition, event_at, NULL, NULL, 1
    FROM {callbacks} WHERE event = 'assigned'
    UNION ALL
    SELECT coalesce(program, client_id), p.topic, p.partition, arrived_at, NULL, NULL, 1
    FROM {requests} LATERAL VIEW explode(positions) AS p WHERE api = 'LIST_OFFSETS'
), parts AS (
    SELECT *, sum(begins) OVER (
        PARTITION BY member, topic, partition ORDER BY at, begins DESC, first_offset
        {SO_FAR}) AS part
    FROM mixed
), stepped AS (
    SELECT *, lag(last_offset) OVER (
        PARTITION BY member, topic, partition, part ORDER BY at, first_offset) AS before
    FROM parts WHERE begins = 0
), worst AS (
    SELECT member, topic, partition, min(at) AS at, count(*) AS ranges,
           max(struct(before + 1 - first_offset AS back, at, first_offset, before))
               FILTER (WHERE before IS NOT NULL) AS found
    FROM stepped GROUP BY member, topic, partition
)
SELECT concat(member, ' on ', topic, '-', partition) AS subject,
       IF(found.back > 0, found.at, at) AS at,
       greatest(0, coalesce(found.back, 0)) AS measured, 0 AS bound_high,
       IF(found.back > 0, concat('record ', found.first_offset, ' after ', found.before),
          NULL) AS note
FROM worst
