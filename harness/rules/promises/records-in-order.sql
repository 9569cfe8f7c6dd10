-- Records of a partition are processed in order
-- A process that shows what it processes shows the records of a partition in order for as long as
-- it reads that partition on. As many may be out of order as its owner promises.
-- why: A program that keeps the latest state by key keeps an old one if the order is lost.
-- source: kafka-chaos, programs under test
-- id: P12 | rows: processes and partitions | unit: records | measured: after a later record | high:
--   processed records after later ones | clients: app | limit: out_of_order
--
-- A process begins to read a partition anew where it is given it, and where its fetches go back. A
-- record that it had fetched before that may have been in hand all the time, so no other is held
-- against it. Each partition of an output topic is looked at by itself.

WITH steps AS (
    SELECT member, topic, partition, arrived_at AS at, first_offset, last_offset
    FROM {fetched}
    UNION ALL
    SELECT member, topic, partition, from_at, NULL, NULL FROM {ownership}
), held AS (
    SELECT *, count_if(first_offset IS NULL) OVER (
               PARTITION BY member, topic, partition
               ORDER BY at, first_offset NULLS FIRST {SO_FAR}) AS holding
    FROM steps
), followed AS (
    SELECT *, lag(last_offset) OVER w AS before, lag(holding) OVER w AS held_before,
           max(last_offset) OVER (
               PARTITION BY member, topic, partition ORDER BY at, first_offset
               {BEFORE}) AS fetched
    FROM held WHERE first_offset IS NOT NULL
    WINDOW w AS (PARTITION BY member, topic, partition ORDER BY at, first_offset)
), mixed AS (
    SELECT member, topic, partition, at, at AS begun_at, first_offset AS begun,
           coalesce(fetched, -1) AS in_hand, CAST(NULL AS STRING) AS shown_by,
           CAST(NULL AS BIGINT) AS first, CAST(NULL AS BIGINT) AS last
    FROM followed
    WHERE before IS NULL OR first_offset <= before OR holding <> held_before
    UNION ALL
    SELECT member, topic, partition, at, NULL, NULL, NULL, shown_by, first_offset,
           last_offset
    FROM {effects} WHERE member IS NOT NULL
), since AS (
    SELECT member, topic, partition, at, shown_by, first, last,
           last_value(begun_at, true) OVER w AS begun_at,
           last_value(begun, true) OVER w AS begun,
           last_value(in_hand, true) OVER w AS in_hand
    FROM mixed
    WINDOW w AS (PARTITION BY member, topic, partition ORDER BY at, first NULLS FIRST
                 {SO_FAR})
), shown AS (
    SELECT *, max(last) OVER (
               PARTITION BY member, topic, partition, shown_by, begun_at ORDER BY at, first
               {BEFORE}) AS reached
    FROM since WHERE first IS NOT NULL AND begun_at IS NOT NULL
), unordered AS (
    SELECT DISTINCT member, topic, partition, shown_by, begun_at
    FROM shown WHERE first <= reached
), single AS (
    SELECT s.*, explode(sequence(s.first, s.last)) AS record
    FROM shown s LEFT SEMI JOIN unordered u
      ON same(u, s, member, topic, partition, shown_by, begun_at)
), placed AS (
    SELECT *, row_number() OVER (
               PARTITION BY member, topic, partition, shown_by, begun_at, record
               ORDER BY at) AS times,
           max(IF(record > in_hand, record, NULL)) OVER (
               PARTITION BY member, topic, partition, shown_by, begun_at
               ORDER BY at, record {BEFORE}) AS later
    FROM single
), late AS (
    SELECT member, topic, partition, begun_at, count(*) AS records,
           min(struct(at, record, later)) AS first
    FROM placed WHERE times = 1 AND record >= begun AND record < later
    GROUP BY member, topic, partition, begun_at
), doubted AS (
    SELECT l.*, count(b.injecting_at) > 0 AS doubtful
    FROM late l LEFT JOIN {broker_faults} b
      ON b.killed AND b.injecting_at >= l.begun_at AND b.injecting_at <= l.first.at
    GROUP BY ALL
), counted AS (
    SELECT member, topic, partition, min(first) AS first, sum(records) AS records,
           sum(IF(doubtful, 0, records)) AS surely
    FROM doubted GROUP BY member, topic, partition
), every AS (
    SELECT member, topic, partition, min(at) AS at, sum(last - first + 1) AS records
    FROM shown GROUP BY member, topic, partition
)
SELECT clause(e.member, ' ', e.topic, '-', e.partition) AS subject,
       coalesce(l.first.at, e.at) AS at, coalesce(l.records, 0) AS measured,
       :limit_out_of_order AS bound_high,
       CASE WHEN l.records > :limit_out_of_order AND l.surely <= :limit_out_of_order
            THEN 'a broker that was killed may have answered a fetch that it did not log'
            END AS unknown,
       IF(l.records > 0,
          clause('the first is ', l.first.record, ', which was shown after ',
                 l.first.later),
          clause(e.records, ' records shown')) AS note
FROM every e LEFT JOIN counted l ON same(l, e, member, topic, partition)
