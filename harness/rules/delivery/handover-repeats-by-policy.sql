-- A hand-over repeats no more than the commit policy allows
-- A hand-over repeats no more records than the commit policy had left uncommitted.
-- why: The commit policy bounds the duplicates of a rebalance.
-- source: document 002, enable.auto.commit; KafkaConsumer, Manual Offset Control
-- id: X32d | was: R26-repeats | rows: hand-overs | unit: records | measured: delivered again |
--   high: had more records delivered again than its commit policy allows
--
-- What the commit policy had left open may be read again. sync, async: a batch is committed before
-- (async: while) the next is polled, so one batch (async: two), and one more for each commit since
-- the last accepted one that failed or was never answered. auto, interval: what the owner before
-- was given in its last commit interval and a second, and a batch; a member whose link was cut is
-- not examined. revoke: a batch, if it was asked to give the partition up; otherwise all that it
-- had, which is not examined.

WITH handovers AS (
    SELECT *, lag(member) OVER w AS member_before, lag(ended_by) OVER w AS ended_before
    FROM {ownership}
    WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at, member)
), repeated AS (
    SELECT h.*, coalesce(sum(r.count), 0) AS count,
           max(struct(r.first_polled_at AS at, r.first_member AS member)) AS read_last
    FROM handovers h LEFT JOIN {redeliveries} r ON same(r, h, topic, partition, member)
     AND r.polled_at >= h.from_at AND (h.to_at IS NULL OR r.polled_at <= h.to_at)
     AND r.first_polled_at < h.from_at
    WHERE h.member_before IS NOT NULL
    GROUP BY ALL
), moments AS (
    SELECT topic, partition, at, at AS accepted_at, CAST(NULL AS STRING) AS member
    FROM {accepted}
    UNION ALL
    SELECT topic, partition, from_at, NULL, member FROM repeated
), committed AS (
    SELECT topic, partition, at AS from_at, member,
           max(accepted_at) OVER (PARTITION BY topic, partition ORDER BY at) AS at
    FROM moments
), failed AS (
    SELECT r.topic, r.partition, r.from_at, count(*) AS commits
    FROM repeated r LEFT JOIN committed k USING (topic, partition, from_at, member)
    JOIN {commits} c ON same(c, r, topic, partition)
     AND c.asked_at <= r.from_at AND (k.at IS NULL OR c.asked_at >= k.at)
    WHERE c.error_code IS NULL OR c.error_code <> :NONE
    GROUP BY r.topic, r.partition, r.from_at
),
-- Buckets of time are as long as what is looked for, which lies in two of them.
slots AS (
    SELECT *, explode(sequence(unix_millis(read_last.at) DIV (:auto_commit_ms + 1000) - 1,
                               unix_millis(read_last.at) DIV (:auto_commit_ms + 1000))) AS slot
    FROM repeated WHERE :commit IN ('auto', 'interval') AND count > 0
), fresh AS (
    SELECT s.topic, s.partition, s.from_at, sum(d.count) AS count
    FROM slots s JOIN {deliveries} d
      ON same(d, s, topic, partition) AND d.member = s.read_last.member
     AND unix_millis(d.polled_at) DIV (:auto_commit_ms + 1000) = s.slot
     AND d.polled_at <= s.read_last.at
     AND d.polled_at >= after(-(:auto_commit_ms + 1000), s.read_last.at)
    GROUP BY s.topic, s.partition, s.from_at
), bounded AS (
    SELECT r.*,
           CASE WHEN :commit IN ('auto', 'interval')
                THEN :batch_records + coalesce(f.count, 0)
                WHEN :commit = 'async' THEN :batch_records * (2 + coalesce(x.commits, 0))
                WHEN :commit = 'revoke' THEN :batch_records
                ELSE :batch_records * (1 + coalesce(x.commits, 0)) END AS high,
           coalesce(x.commits, 0) AS commits
    FROM repeated r
    LEFT JOIN failed x USING (topic, partition, from_at)
    LEFT JOIN fresh f USING (topic, partition, from_at)
    LEFT ANTI JOIN (
        SELECT m.member, w.injecting_at, coalesce(w.healed_at, :ended_at) AS healed_at
        FROM {fault_windows} w JOIN {members} m ON w.resolved IN (m.member, m.lane)
        WHERE w.link_cut
    ) c ON c.member = r.read_last.member AND :commit IN ('auto', 'interval')
       AND r.read_last.at BETWEEN c.injecting_at AND c.healed_at
)
SELECT concat(topic, '-', partition, ' to ', member) AS subject, from_at AS at,
       count AS measured, high AS bound_high,
       concat(:commit, ' commits, ', commits, ' of them not accepted since the last one') AS note
FROM bounded
WHERE :commit <> 'revoke' OR ended_before IN ('revoked', 'closed')
