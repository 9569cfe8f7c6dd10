-- A member commits only what it was given
-- A member commits no position beyond the records that it was given, none beyond the end of the
-- partition, and none of a partition that it does not hold.
-- why: The next owner begins at the committed position: records before it that no member was given
--   are lost, and a position of a former owner undoes the new owner's.
-- source: KafkaConsumer, Offsets and Consumer Position; librdkafka issue 2948
-- id: X36 | was: X100 | rows: members and partitions committed | unit: records | measured: beyond
--   what it was given | high: committed records that it had not been given | kind: always
--
-- Law: A member commits a position up to which it was handed records, or that a broker answered to
-- it, of a partition that it holds in the generation in which it commits.
--
-- In the kept runs no member was beyond either, nor later than the slack after its time with the
-- partition. What a program was handed is not on record; which partitions the coordinator gave it
-- is (`stray_commits`).

{BOUNDED_COMMITS}, {ENDS}, mixed AS (
    SELECT member, topic, partition, after(-:slack_ms, at) AS at, position,
           CAST(NULL AS BIGINT) AS committed, CAST(NULL AS STRING) AS evidence
    FROM {handed}
    UNION ALL
    SELECT member, topic, partition, arrived_at, NULL, committed, evidence FROM commits
), ordered AS (
    SELECT *, max(position) OVER (
        PARTITION BY member, topic, partition ORDER BY at, position NULLS LAST, committed
        {SO_FAR}) AS given
    FROM mixed
), strays AS (
    SELECT member, topic, partition, count(*) AS times, min(at) AS at
    FROM {stray_commits} GROUP BY member, topic, partition
), given_up AS (
    SELECT s.*, concat(', first ', round(ms_between(max(o.to_at), s.at) / 1e3, 2),
                       ' s after it had given it up') AS since
    FROM strays s LEFT JOIN {ownership} o ON same(o, s, member, topic, partition)
     AND o.to_at <= s.at
    GROUP BY ALL
), furthest AS (
    SELECT member, topic, partition, count(*) AS commits, max(committed) AS committed,
           max(struct(committed - given AS beyond, at, committed, given, evidence)) AS worst
    FROM ordered WHERE committed IS NOT NULL GROUP BY member, topic, partition
)
SELECT concat(f.member, ' on ', f.topic, '-', f.partition) AS subject,
       coalesce(s.at, f.worst.at) AS at,
       IF(f.worst.beyond IS NULL, NULL, greatest(0, f.worst.beyond)) AS measured,
       IF(f.worst.beyond IS NULL, NULL, 0) AS bound_high,
       CASE WHEN f.committed > e.end_offset
            THEN clause('committed ', f.committed, ', beyond the end of the partition, ',
                        e.end_offset)
            WHEN s.times > 0
            THEN clause('committed a partition that it did not hold, ', s.times, ' of ',
                        f.commits, ' times', coalesce(s.since, '')) END AS wrong,
       IF(f.worst.beyond IS NULL, concat(f.commits, ' commits'),
          concat('committed ', f.worst.committed, ' when it had been given records up to ',
                 f.worst.given)) AS note, f.worst.evidence AS evidence
FROM furthest f LEFT JOIN given_up s USING (member, topic, partition)
LEFT JOIN ends e USING (topic, partition)
