-- What one poll of the Java client returns, and from where: its buffer, filled by fetches.

-- let FETCHES
--   What one fetch brought of one partition, by the client's own log, and the polls that handed it
--   out. It went up to the next fetch of the partition whose records were not handed out already:
--   the client of KIP-848 may ask again while it has records left, and then drops the answer (seen
--   after the first fetch in 2 of 4 runs).
noted AS (
    SELECT e.member, e.event_at AS at, m.batch_records,
           CAST(coalesce(nullif(from_json(m.settings, 'map<string, string>')[
                    'max.partition.fetch.bytes'], 'unset'), string(:FETCH_BYTES)) AS BIGINT)
               AS limit_bytes,
           CAST(regexp_extract(e.detail, 'at offset (\\d+) for', 1) AS BIGINT) AS first,
           CAST(regexp_extract(e.detail, 'for partition \\S+-(\\d+) returned', 1) AS INT)
               AS partition,
           CAST(regexp_extract(e.detail, 'size=(\\d+)', 1) AS BIGINT) AS bytes,
           CAST(nullif(regexp_extract(e.detail, 'highWatermark=(\\d+)', 1), '') AS BIGINT)
               AS upto
    FROM {client_events} e JOIN {members} m USING (member) WHERE e.event = 'fetched'
), followed AS (
    -- What is behind the high watermark another member has read.
    SELECT *, lead(at) OVER w AS next_at,
           (lead(first) OVER w) - first - greatest((lead(first) OVER w) - upto, 0) AS records
    FROM noted t
    WHERE NOT EXISTS (
        SELECT 1 FROM {deliveries} d
        WHERE same(d, t, member, partition) AND d.polled_at < t.at
          AND d.first_offset <= t.first AND d.last_offset >= t.first
    ) OR EXISTS (
        SELECT 1 FROM {deliveries} d
        WHERE same(d, t, member, partition) AND d.polled_at >= t.at
          AND d.first_offset <= t.first AND d.last_offset >= t.first
    )
    WINDOW w AS (PARTITION BY member, partition ORDER BY at, first)
), fetches AS (
    SELECT f.*, count(DISTINCT d.poll) AS polls,
           sort_array(collect_set(d.polled_at), false) AS polled
    FROM followed f JOIN {deliveries} d ON same(d, f, member, partition)
     AND d.first_offset < f.first + f.records AND d.last_offset >= f.first
     AND d.polled_at >= f.at
    WHERE f.bytes > 0 AND f.records > 0
    GROUP BY ALL
)

-- let FETCH_BYTES = 1048576
--   Kafka's defaults (ConsumerConfig). max.partition.fetch.bytes
