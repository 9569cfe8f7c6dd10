-- auto.offset.reset counts only without a usable position
-- A member that is given a partition asks its coordinator for the committed position, and begins
-- there. It begins at what auto.offset.reset says if there is none, or if the log no longer has it.
-- Where that is to begin nowhere, its application hears of it.
-- why: Without a position, earliest repeats all records and latest skips those it missed.
-- source: auto.offset.reset; KafkaConsumer, Offsets and Consumer Position
-- id: X18 | was: X58 | rows: assignments | unit: records | measured: after the right position |
--   low: began before the right position | high: began after the right position
--
-- Where each member began to read a partition, and where it should have begun: at the committed
-- position, as its coordinator answered it, if the log still has that; else where the policy says,
-- which the member looks up at the leader (earliest, latest, by_duration of Java), or nowhere
-- (none; in librdkafka error). It looks nothing up for as long as it holds the partition and has a
-- position.
--
-- librdkafka keeps the start of the log that its last fetch of the partition was answered with, and
-- goes there without another lookup (rdkafka_offset.c, rd_kafka_offset_reset). A leader that has no
-- record of that time or later answers with no position; where the client goes then is not on
-- record. An application hears of an error with a poll: one that cannot poll, or whose heartbeats a
-- fault holds up, hears of it later. No broker knows a position in a store of the application's
-- own, and one that is killed may not have logged its last answer.

-- let HEARD_MS = 2000
--   How long an application that polls may take until it hears that a partition has no position.
--   Measured: 0.04 s.
-- let ASKED_MS = 1000
--   A client may ask for its positions just before its application hears of its partitions.

WITH named AS (
    SELECT api, client_id AS member, p.topic, p.partition, p.committed AS position,
           get_json_object(detail, '$.timestamp') AS which, processed_at AS at
    FROM {requests} LATERAL VIEW explode(positions) AS p
    WHERE api IN ('OFFSET_FETCH', 'LIST_OFFSETS', 'DELETE_RECORDS') AND p.error_code = 0
), started AS (
    SELECT o.topic, o.partition, o.member, o.from_at, coalesce(o.to_at, :ended_at) AS to_at,
           coalesce(get_json_object(max(m.settings), "$['auto.offset.reset']"), 'earliest')
               AS policy,
           max(m.client) <> 'java' AND coalesce(min(r.at) < o.from_at, false) AS knows_start
    FROM {ownership} o JOIN {members} m USING (member)
    LEFT JOIN (
        -- By what it has read of it, or was told.
        SELECT member, topic, partition, min(at) AS at
        FROM (SELECT member, topic, partition, polled_at AS at FROM {deliveries}
              UNION ALL
              SELECT member, topic, partition, at FROM named
              WHERE api = 'LIST_OFFSETS' AND which = '-2')
        GROUP BY member, topic, partition
    ) r USING (member, topic, partition)
    GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
), placed AS (
    -- Each question and each poll with the beginning of the stay that it belongs to.
    SELECT *, max(IF(api IS NULL, at, NULL)) OVER (
               PARTITION BY topic, partition, member ORDER BY at, api NULLS FIRST) AS from_at
    FROM (SELECT topic, partition, member, api, at, position, which FROM named
          WHERE api <> 'DELETE_RECORDS'
          UNION ALL
          SELECT topic, partition, member, 'READ', polled_at, first_offset, NULL
          FROM {deliveries}
          UNION ALL
          SELECT topic, partition, member, NULL, from_at, NULL, NULL FROM started)
), seen AS (
    SELECT s.*,
           min_by(p.position, struct(p.at, p.position))
               FILTER (WHERE p.api = 'OFFSET_FETCH') AS committed,
           min_by(struct(p.position, p.which), struct(p.at, p.which, p.position))
               FILTER (WHERE p.api = 'LIST_OFFSETS') AS lookup,
           min(p.at) FILTER (WHERE p.api = 'READ') AS first_at,
           min_by(p.position, struct(p.at, p.position)) FILTER (WHERE p.api = 'READ') AS first
    FROM started s JOIN placed p
      ON same(p, s, topic, partition, member, from_at) AND p.at <= s.to_at
    GROUP BY ALL
), answered AS (
    SELECT s.*, coalesce(max(d.position), 0) AS log_start
    FROM seen s LEFT JOIN named d
      ON same(d, s, topic, partition) AND d.api = 'DELETE_RECORDS' AND d.at < s.from_at
    WHERE s.committed IS NOT NULL GROUP BY ALL
), read AS (
    SELECT *, CASE WHEN committed >= log_start THEN 'the committed position'
                   WHEN policy IN ('none', 'error') THEN 'nothing'
                   WHEN policy LIKE 'by_duration:%' THEN 'the time asked for'
                   WHEN policy IN ('latest', 'largest', 'end') THEN 'the end of the log'
                   ELSE 'the start of the log' END AS begin
    FROM answered
), unheard AS (
    SELECT r.topic, r.partition, r.member, r.from_at FROM read r
    LEFT SEMI JOIN {members} m ON m.member = r.member AND m.client <> 'app'
    LEFT ANTI JOIN {client_events} e
      ON e.member = r.member AND e.event IN ('error', 'closing')
     AND e.event_at BETWEEN after(-:slack_ms, r.from_at) AND after(:HEARD_MS, r.from_at)
    LEFT ANTI JOIN {busy} b
      ON b.member = r.member AND b.from_at <= after(:HEARD_MS, r.from_at)
     AND coalesce(b.to_at >= r.from_at, true)
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = r.member, true) AND d.from_at <= after(:HEARD_MS, r.from_at)
     AND d.to_at >= r.from_at
    WHERE r.begin = 'nothing' AND r.committed < 0
      AND r.to_at >= after(:HEARD_MS, r.from_at)
)
SELECT concat(r.topic, '-', r.partition, ' to ', r.member) AS subject, r.from_at AS at,
       first - CASE begin WHEN 'the committed position' THEN committed
                          WHEN 'the start of the log' THEN log_start
                          WHEN 'the end of the log' THEN lookup.position
                          WHEN 'the time asked for' THEN nullif(lookup.position, -1)
                          END AS measured,
       IF(begin = 'nothing', NULL, 0) AS bound_low,
       IF(begin = 'nothing', NULL, 0) AS bound_high,
       CASE WHEN begin = 'nothing' AND first IS NOT NULL
            THEN clause('began at ', first, ', though auto.offset.reset is ', policy)
            WHEN u.member IS NOT NULL
            THEN 'has nowhere to begin, and its application heard nothing of it'
            WHEN begin = 'the committed position' AND lookup IS NOT NULL
            THEN clause('looked up an end of the log, though ', committed,
                        ' was committed')
            WHEN begin = 'the start of the log' AND NOT coalesce(lookup.which = '-2', false)
                 AND NOT (knows_start AND lookup IS NULL)
              OR begin = 'the end of the log' AND NOT coalesce(lookup.which = '-1', false)
              OR begin = 'the time asked for'
                 AND NOT coalesce(CAST(lookup.which AS BIGINT) >= 0, false)
            THEN clause('began at ', first, ' and never looked up ', begin) END AS wrong,
       concat(begin, ' was due (committed ',
              IF(committed < 0, 'nothing', string(committed)), ', the log starts at ',
              log_start, ', auto.offset.reset is ', policy,
              CASE WHEN knows_start AND begin = 'the start of the log' AND lookup IS NULL
                   THEN '; known from an earlier fetch' ELSE '' END, ')') AS note,
       u.from_at AS guard_from, after(:HEARD_MS + :guard_ms, u.from_at) AS guard_to
FROM read r LEFT JOIN unheard u ON same(u, r, topic, partition, member, from_at)
WHERE begin = 'nothing' OR first IS NOT NULL
UNION ALL
SELECT concat(s.topic, '-', s.partition, ' to ', s.member), s.from_at, NULL, NULL, NULL,
       'began to read without having asked for its position', NULL, s.from_at, s.first_at
FROM seen s LEFT ANTI JOIN named n
  ON same(n, s, topic, partition, member) AND n.api = 'OFFSET_FETCH'
 AND n.at BETWEEN after(-:ASKED_MS, s.from_at) AND s.from_at
LEFT ANTI JOIN {broker_faults} b
  ON b.killed AND b.injecting_at BETWEEN after(-:ASKED_MS, s.from_at) AND s.first_at
WHERE s.committed IS NULL AND s.first_at IS NOT NULL AND :commit <> 'external'
