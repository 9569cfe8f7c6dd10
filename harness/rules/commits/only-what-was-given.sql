-- A member commits only what it was given
-- A member commits no position beyond the records that it was given, none beyond the end of the
-- partition, and none of a partition that it does not hold.
-- why: The next owner begins at the committed position: records before it that nobody was given are
--   lost, and a position of a former owner undoes the new owner's.
-- source: KafkaConsumer, Offsets and Consumer Position; librdkafka issue 2948
-- id: X36 | rows: members and partitions committed | unit: records | measured: beyond what it was
--   given | high: committed records that it had not been given | kind: always
--
-- Per member and partition the commit that was furthest beyond what it had been given.
--
-- Law: A member commits a position up to which it was handed records, or that a broker told it, of
-- a partition that it holds in the generation in which it commits.
--
-- A position that a coordinator or a partition's leader had told it may be committed as well: it
-- has no record before it. Over the 37 kept runs no member was beyond either, nor more than the
-- slack after the end of its time with the partition. What a program of somebody else's was handed
-- is not known; which partitions the coordinator gave it is (`stray_commits`).

{BOUNDED_COMMITS}, ends AS (
    SELECT topic, partition, max(end_offset) AS end_offset
    FROM {topology} WHERE what = 'end_offset' GROUP BY topic, partition
), mixed AS (
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
    SELECT member, topic, partition, count(*) AS strays, min(at) AS at
    FROM {stray_commits} GROUP BY member, topic, partition
), given_up AS (
    SELECT s.member, s.topic, s.partition,
           concat(', first ', round(ms_between(max(o.to_at), any_value(s.at)) / 1e3, 2),
                  ' s after it had given it up') AS since
    FROM strays s JOIN {ownership} o ON same(o, s, member, topic, partition)
     AND o.to_at <= s.at
    GROUP BY s.member, s.topic, s.partition
), furthest AS (
    SELECT member, topic, partition, count(*) AS commits, max(committed) AS committed,
           max(struct(committed - given AS beyond, at, committed, given, evidence))
               AS worst
    FROM ordered WHERE committed IS NOT NULL GROUP BY member, topic, partition
)
SELECT concat(f.member, ' on ', f.topic, '-', f.partition) AS subject,
       coalesce(s.at, f.worst.at) AS at,
       IF(f.worst.beyond IS NULL, NULL, greatest(0, f.worst.beyond)) AS measured,
       IF(f.worst.beyond IS NULL, NULL, 0) AS bound_high,
       CASE WHEN f.committed > e.end_offset
            THEN clause('committed ', f.committed, ', beyond the end of the partition, ',
                        e.end_offset)
            WHEN s.strays > 0
            THEN clause('committed a partition that it did not hold, ', s.strays,
                        ' of ', f.commits, ' times', coalesce(g.since, '')) END AS wrong,
       IF(f.worst.beyond IS NULL, concat(f.commits, ' commits'),
          concat('committed ', f.worst.committed, ' when it had been given records up to ',
                 f.worst.given)) AS note, f.worst.evidence AS evidence
FROM furthest f LEFT JOIN strays s USING (member, topic, partition)
LEFT JOIN given_up g USING (member, topic, partition)
LEFT JOIN ends e USING (topic, partition)
