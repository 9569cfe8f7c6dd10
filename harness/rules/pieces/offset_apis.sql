-- What becomes of positions and of a topic's epochs and size, asked for by whom and when.

-- let METADATA
--   Commits as nobody to an idle group, where only the metadata can be wrong; and the fetch after.
WITH commits AS (
    SELECT p.`group`, p.topic, p.partition, p.wanted, p.metadata, p.error_code, p.step,
           p.sent_at, p.answered_at, length(p.metadata) AS characters,
           octet_length(p.metadata) AS bytes
    FROM {probe_positions} p JOIN {probed} c ON same(c, p, api, `group`, sent_at)
    WHERE p.api = 'OFFSET_COMMIT' AND c.nobody AND c.state_before IN ('Empty', 'Dead')
      AND p.answered_at IS NOT NULL
), judged AS (
    SELECT c.*, concat(c.topic, '-', c.partition, ' in ', c.step, ' (', c.`group`, ')')
                    AS subject,
           max_by(f.committed, struct(f.sent_at, f.committed))
               FILTER (WHERE f.answered_at <= c.sent_at) AS old,
           min_by(f.committed, struct(f.sent_at, f.committed))
               FILTER (WHERE f.sent_at >= c.answered_at) AS new
    FROM commits c LEFT JOIN {probe_fetches} f ON same(f, c, `group`, topic, partition)
    WHERE c.`group` IN (SELECT `group` FROM commits WHERE characters > 0)
    GROUP BY ALL
)
