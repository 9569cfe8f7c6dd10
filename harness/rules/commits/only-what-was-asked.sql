-- A member commits only what its application asks for
-- Where commits are not automatic, no commit is made that the member's application did not ask for.
-- why: A commit behind the application's back covers records that it has not worked on yet: if it
--   crashes then, they are lost.
-- source: enable.auto.commit; KafkaConsumer, Manual Offset Control
-- id: X100 | rows: members | unit: commits | measured: that nobody asked for | high: made commits
--   that its application did not ask for | kind: in passing, compares clocks
--
-- Accepted commits of members that were not killed, each beside what was asked for before.
--
-- In 184 runs all of 86,000 such commits had been asked for. What a killed member asked for last
-- may have got no further than the broker.

WITH made AS (
    SELECT p.member, p.topic, p.partition, p.committed, p.arrived_at, p.evidence
    FROM {positions} p JOIN {members} m ON m.member = p.member
    WHERE p.api = 'OFFSET_COMMIT' AND p.error_code = :NONE
      AND p.request_error_code = :NONE
      AND m.role = 'consumer' AND m.commit <> 'auto' AND m.`end` <> 'killed'
), unasked AS (
    SELECT a.member, count(*) AS times,
           min(struct(a.arrived_at, a.topic, a.partition, a.committed, a.evidence)) AS first
    FROM made a LEFT ANTI JOIN {commits} c
      ON same(c, a, member, topic, partition, committed)
     AND coalesce(c.asked_at <= after(:slack_ms, a.arrived_at), true)
    GROUP BY a.member
), totals AS (
    SELECT member, count(*) AS commits, min(arrived_at) AS at FROM made GROUP BY member
)
SELECT concat(t.member, ' (commits asked for)') AS subject,
       coalesce(u.first.arrived_at, t.at) AS at, coalesce(u.times, 0) AS measured,
       0 AS bound_high,
       concat(t.commits, ' commits',
              coalesce(concat('; the first that nobody asked for is of ', u.first.topic,
                              '-', u.first.partition, ' at ', u.first.committed), ''))
           AS note,
       u.first.evidence AS evidence
FROM totals t LEFT JOIN unasked u ON u.member = t.member
