-- A member reads on from the position that it was given
-- A member that is handed a partition asks its coordinator for the committed position, and the
-- first record that it hands on is the one there. If no usable position is committed, it begins at
-- the end of the log that it looked up.
-- why: What lies between the committed position and the first record is processed twice, or not at
--   all.
-- source: KafkaConsumer, Offsets and Consumer Position; auto.offset.reset
-- id: X58 | rows: partitions that members began to read | unit: records | measured: from the
--   position given | low: began before the position that it was given | high: began behind the
--   position that it was given, and skipped records | kind: in passing, compares clocks
--
-- No broker knows a position in a store of the application's own. A broker that
-- is killed may not have logged its last answer. librdkafka looks an end of the log up once.

-- let ASKED_MS = 1000
--   A client may ask for its positions just before its application hears of its partitions.

WITH mixed AS (
    SELECT member, topic, partition, event_at AS at, event AS what, 0 AS rank,
           CAST(NULL AS BIGINT) AS first_offset
    FROM {callbacks}
    UNION ALL
    SELECT member, topic, partition, polled_at, 'record', 1, first_offset FROM {deliveries}
), followed AS (
    SELECT *, lag(what) OVER w AS before, lag(at) OVER w AS handed_at
    FROM mixed WINDOW w AS (PARTITION BY member, topic, partition
                            ORDER BY at, rank, first_offset)
), starts AS (
    SELECT f.member, f.topic, f.partition, f.at, f.handed_at, f.first_offset
    FROM followed f
    LEFT ANTI JOIN {broker_faults} b
      ON b.killed AND b.injecting_at BETWEEN after(-:ASKED_MS, f.handed_at) AND f.at
    WHERE f.what = 'record' AND f.before = 'assigned' AND :commit <> 'external'
), answers AS (
    {LOOKED_UP} AND p.error_code = :NONE
), ranked AS (
    -- First the last before the record; or else, stamped late, the first one after it.
    SELECT s.*, p.api, p.committed, p.evidence,
           p.arrived_at >= after(-:ASKED_MS, s.handed_at) AS just_asked,
           row_number() OVER (
               PARTITION BY s.member, s.topic, s.partition, s.at, p.api
               ORDER BY p.arrived_at > after(:slack_ms, s.at),
                        abs(ms_between(p.arrived_at, s.at)), p.evidence) AS place
    FROM starts s LEFT JOIN answers p ON same(p, s, member, topic, partition)
     AND p.arrived_at <= after(:STAMP_LATE_MS, s.at)
), answered AS (
    SELECT member, topic, partition, at, handed_at, first_offset,
           max(struct(committed, evidence))
               FILTER (WHERE api = 'OFFSET_FETCH' AND just_asked) AS position,
           max(struct(committed, evidence))
               FILTER (WHERE api = 'LIST_OFFSETS' AND just_asked) AS looked_up,
           max(committed) FILTER (WHERE api = 'LIST_OFFSETS') AS known
    FROM ranked WHERE place = 1
    GROUP BY member, topic, partition, at, handed_at, first_offset
), due AS (
    SELECT *, CASE WHEN position.committed >= 0
                        AND first_offset IS DISTINCT FROM looked_up.committed
                   THEN position.committed
                   WHEN position.committed IS NOT NULL
                   THEN coalesce(looked_up.committed, known) END AS due
    FROM answered
)
SELECT concat(topic, '-', partition, ' at ', member) AS subject, at,
       first_offset - due AS measured, 0 AS bound_low, 0 AS bound_high,
       CASE WHEN position.committed IS NULL
            THEN 'began to read without having asked for its position'
            WHEN due IS NULL THEN 'began to read without a position' END AS wrong,
       concat('began at ', first_offset, ', and was answered ',
              coalesce(CAST(position.committed AS STRING), 'nothing'),
              coalesce(concat(', looked up ', looked_up.committed), '')) AS note,
       coalesce(position.evidence, looked_up.evidence) AS evidence
FROM due
