-- A commit in the revocation callback is accepted
-- The coordinator accepts what a member commits in its callback for revoked partitions, although
-- the rebalance has begun.
-- why: Work that was finished before the partition moves is not repeated.
-- source: document 001, rebalance listener (commit in onPartitionsRevoked)
-- id: R15-commit | rows: commits in the callback | unit: error code | kind: in passing,
--   compares clocks
--
-- The last answer in the time of a commit counts: a position may be committed several times. The
-- coordinator's last line before a commit shows in which state the commit found the group.

WITH answered AS (
    SELECT c.member, c.topic, c.partition, c.committed, c.asked_at,
           max(struct(p.arrived_at, p.error_code, p.evidence)) AS last
    FROM {commits} c JOIN {positions} p
      ON p.api = 'OFFSET_COMMIT' AND same(p, c, member, topic, partition, committed)
     AND p.arrived_at >= after(-:slack_ms, c.asked_at)
     AND coalesce(p.arrived_at <= after(:slack_ms, c.answered_at), true)
    WHERE c.how = 'revoke' GROUP BY ALL
), placed AS (
    SELECT c.member, c.topic, c.partition, c.committed, c.asked_at,
           coalesce(a.last.arrived_at, c.asked_at) AS at,
           coalesce(a.last.error_code, c.error_code) AS error_code, a.last.evidence,
           max_by(s.event, struct(s.at, s.event)) AS state
    FROM {commits} c
    LEFT JOIN answered a ON same(a, c, member, topic, partition, committed, asked_at)
    LEFT JOIN {coordinator_events} s
      ON s.`group` = :group AND s.at <= coalesce(a.last.arrived_at, c.asked_at)
     AND s.event IN ('rebalance_started', 'stabilized', 'epoch_bumped', 'target_computed')
    WHERE c.how = 'revoke' GROUP BY ALL
)
SELECT concat(topic, '-', partition, ' committed by ', member) AS subject, at,
       IF(error_code <> :NONE, concat('was refused with error ', error_code), NULL) AS wrong,
       IF(error_code IS NULL, 'was never answered', NULL) AS unknown,
       concat('position ', committed, ' was accepted ',
              CASE state WHEN 'rebalance_started' THEN 'while members rejoined'
                         WHEN 'stabilized' THEN 'after all had rejoined'
                         WHEN 'epoch_bumped' THEN 'before the new target was computed'
                         WHEN 'target_computed' THEN 'when the new target was computed'
                         ELSE 'before any rebalance' END) AS note,
       evidence
FROM placed
WHERE coalesce(error_code NOT IN (:GROUP_AUTHORIZATION_FAILED,
                                  :TOPIC_AUTHORIZATION_FAILED), true)
