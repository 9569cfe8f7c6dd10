-- A failed commit is not visible
-- The coordinator returns the position that was accepted last while commits fail because they
-- cannot be replicated.
-- why: A position from a failed commit would make the next owner skip records.
-- source: document 003, OFFSET_COMMIT (visible only after the append)
-- id: R31-append | rows: partitions | unit: records | measured: from the position accepted last |
--   high: was answered with another position than the one accepted last | kind: broker

{UNWRITABLE},
moments AS (
    SELECT topic, partition, at, committed AS known, CAST(NULL AS BIGINT) AS given,
           NULL AS evidence
    FROM {accepted}
    UNION ALL
    SELECT topic, partition, arrived_at, NULL, committed, evidence FROM {positions}
    WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
      AND topic = :topic
), ordered AS (
    SELECT *, coalesce(last_value(known, true) OVER (
                  PARTITION BY topic, partition ORDER BY at, given, known
                  {SO_FAR}), -1) AS expected
    FROM moments
), served AS (
    SELECT o.topic, o.partition, u.fault, u.from_at, u.to_at, count(*) AS answers,
           max(abs(o.given - o.expected)) AS off_by,
           min_by(struct(o.given, o.expected, o.evidence), struct(o.at, o.evidence))
               FILTER (WHERE o.given <> o.expected) AS wrong
    FROM ordered o JOIN unwritable u ON o.at >= u.from_at AND o.at <= u.to_at
    WHERE o.given IS NOT NULL
    GROUP BY o.topic, o.partition, u.fault, u.from_at, u.to_at
)
SELECT concat(s.topic, '-', s.partition, ' while ', s.fault) AS subject, s.from_at AS at,
       s.off_by AS measured, 0 AS bound_high,
       concat(s.answers, ' answers, ', count(*), ' failed commits',
              coalesce(concat(', the first wrong one ', s.wrong.given, ' where ',
                              s.wrong.expected, ' was committed'), '')) AS note,
       s.wrong.evidence AS evidence
FROM served s JOIN {commits_judged} f
  ON same(f, s, topic, partition) AND f.error_code <> :NONE
 AND f.at >= s.from_at AND f.at <= s.to_at
GROUP BY s.topic, s.partition, s.fault, s.from_at, s.answers, s.off_by, s.wrong
