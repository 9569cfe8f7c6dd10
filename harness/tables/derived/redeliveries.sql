-- One row per delivered range that repeats records of earlier ranges of its partition.
--
-- `first_offset` to `last_offset` span all that it repeats, and `count` has those records alone.
-- `committed` is the last position the coordinator accepted before the second delivery. A zombie, a
-- member that the coordinator had removed by then, gives its application what it had fetched
-- before: that is explained by its removal, whatever the new owner has committed. `try_…` is the
-- first commit after the first delivery that would have covered the range, by the member that had
-- it first, and `why` says what became of it.

-- let BUCKET = 1024
--   Ranges are joined within buckets of offsets: wide enough that a poll's range falls into one or
--   two, narrow enough that few others share it.

WITH ranges AS (
    SELECT *, explode(sequence(first_offset DIV :BUCKET, last_offset DIV :BUCKET)) AS bucket
    FROM {progress}
), shared AS (
    SELECT a.topic, a.partition, a.member, a.polled_at, a.poll, a.member_id,
           greatest(a.first_offset, b.first_offset) AS first_offset,
           least(a.last_offset, b.last_offset) AS last_offset,
           b.member AS first_member, b.polled_at AS first_polled_at
    FROM ranges a JOIN ranges b ON same(b, a, topic, partition, bucket)
     AND (b.polled_at < a.polled_at OR b.polled_at = a.polled_at AND b.poll < a.poll)
     AND b.first_offset <= a.last_offset AND b.last_offset >= a.first_offset
    WHERE a.first_offset <= a.reached
), counted AS (
    -- Earlier ranges can overlap each other, and leave out what comes for the first time.
    SELECT *, greatest(0, last_offset - greatest(first_offset - 1, max(last_offset) OVER (
        PARTITION BY topic, partition, member, polled_at, poll
        ORDER BY first_offset, last_offset {BEFORE}))) AS new
    FROM shared
), repeated AS (
    SELECT topic, partition, member, polled_at, poll,
           min(first_offset) AS first_offset, max(last_offset) AS last_offset,
           CAST(sum(new) AS BIGINT) AS count, any_value(member_id) AS member_id,
           max_by(first_member, struct(first_polled_at, first_member)) AS first_member,
           max(first_polled_at) AS first_polled_at
    FROM counted GROUP BY topic, partition, member, polled_at, poll
), mixed AS (
    SELECT *, CAST(NULL AS BIGINT) AS committed, polled_at AS at FROM repeated
    UNION ALL
    SELECT topic, partition, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           committed, at
    FROM {accepted} WHERE EXISTS (SELECT 1 FROM repeated)
    UNION ALL
    SELECT topic, partition, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -1, at
    FROM {forgotten}
), ordered AS (
    SELECT * FROM (
        SELECT *, nullif(last_value(committed, true) OVER (
            PARTITION BY topic, partition ORDER BY at, committed NULLS LAST {BEFORE}), -1) AS known
        FROM mixed)
    WHERE first_offset IS NOT NULL
), tries AS (
    SELECT topic, partition, member, committed, at, error_code FROM {commits_judged}
    UNION ALL
    SELECT topic, partition, member, committed, at, error_code FROM {unheard_commits}
), tried AS (
    SELECT o.topic, o.partition, o.member, o.polled_at, o.poll,
           min(struct(t.at, t.committed, t.error_code)) AS try
    FROM ordered o JOIN tries t
      ON same(t, o, topic, partition) AND t.member = o.first_member
     AND t.committed > o.first_offset AND t.at >= o.first_polled_at
    GROUP BY o.topic, o.partition, o.member, o.polled_at, o.poll
), known AS (
    SELECT o.*, m.removed_at IS NOT NULL AS zombie, t.try
    FROM ordered o LEFT JOIN {removals} m
      ON m.member_id = o.member_id AND m.removed_at <= o.polled_at
     AND (m.back_at IS NULL OR o.polled_at < m.back_at)
    LEFT JOIN tried t ON same(t, o, topic, partition, member, polled_at, poll)
)
SELECT topic, partition, first_offset, last_offset, count, first_member, first_polled_at,
       member, polled_at, known AS committed, zombie,
       known IS NULL OR first_offset >= known OR zombie AS explained,
       try.committed AS try_committed, try.at AS try_at, try.error_code AS try_error_code,
       CASE WHEN zombie THEN 'handed out by a member that had been removed'
            WHEN try IS NULL THEN 'no commit of them was asked for'
            WHEN try.error_code IS NULL
            THEN concat('the commit of ', try.committed, ' was never answered')
            WHEN try.error_code <> 0
            THEN concat('the commit of ', try.committed, ' was refused with error ',
                        try.error_code)
            WHEN try.at > polled_at
            THEN concat(try.committed, ' was committed only afterwards')
            WHEN known IS NULL THEN concat(try.committed, ' was committed, and deleted')
            ELSE concat(try.committed, ' was committed before') END AS why
FROM known
ORDER BY polled_at, topic, partition
