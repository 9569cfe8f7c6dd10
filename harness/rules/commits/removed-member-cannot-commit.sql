-- A removed member cannot commit
-- Commits of a removed member are refused, and what it offers to a transaction. Records that it had
-- not committed are delivered again; automatic commits do not save them either.
-- why: Work that a removed member finishes late is done twice, so it has to be idempotent.
-- source: document 002, session.timeout.ms; CommitFailedException; KIP-447
-- id: R19 | was: R19-auto, X29-fenced | rows: commits after a removal and partitions left
--   uncommitted | unit: error code | measured: in the answer | needs: max poll end
--
-- A member that closed gave its partitions back first, and is not examined. A commit without an
-- answer at its client, and an automatic one, count by the coordinator's answer. Where positions
-- are kept elsewhere than with the coordinator (external, transaction) it is not known which work
-- they cover. A commit that had arrived by the removal covers its records even if it was answered
-- later, and may cover them if its write timed out, or if its coordinator was killed before it had
-- logged the answer. A line is stamped late, so it may seem to have come just after.

WITH removed AS (
    SELECT m.* FROM {removals} m LEFT ANTI JOIN {client_events} c
      ON c.member = m.member AND c.event = 'closing' AND c.event_at <= m.removed_at
),
-- The last position accepted before each removal, in one pass over the commits.
moments AS (
    SELECT topic, partition, at, committed, CAST(NULL AS STRING) AS stay
    FROM {accepted}
    UNION ALL
    SELECT p.topic, p.partition, r.removed_at, NULL, r.stay
    FROM removed r CROSS JOIN (SELECT DISTINCT topic, partition FROM {accepted}) p
), positions AS (
    SELECT topic, partition, stay,
           last_value(committed, true) OVER (
               PARTITION BY topic, partition ORDER BY at, committed NULLS LAST, stay
               {SO_FAR}) AS committed
    FROM moments
), unfinished AS (
    SELECT d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at,
           greatest(min(d.first_offset), coalesce(max(p.committed), 0)) AS first,
           max(d.last_offset) AS last
    FROM {deliveries} d JOIN removed r
      ON r.member_id = d.member_id AND d.polled_at <= r.removed_at
     AND (r.since_at IS NULL OR d.polled_at > r.since_at)
    LEFT JOIN positions p
      ON p.stay = r.stay AND same(p, d, topic, partition)
    WHERE d.last_offset >= coalesce(p.committed, 0)
    GROUP BY d.member, d.member_id, d.topic, d.partition, r.removed_at, r.back_at
), unlogged AS (
    SELECT c.member_id, c.topic, c.partition, c.committed, c.asked_at
    FROM {commits} c JOIN {broker_faults} f
      ON f.killed AND f.injecting_at >= c.asked_at
     AND f.injecting_at <= coalesce(c.answered_at, :ended_at)
    WHERE c.how <> 'external'
), open AS (
    SELECT u.*, coalesce(greatest(max(p.committed), max(k.committed)), 0) AS open_to
    FROM unfinished u LEFT JOIN {positions} p
      ON p.api = 'OFFSET_COMMIT' AND same(p, u, member_id, topic, partition)
     AND p.arrived_at <= after(:slack_ms, u.removed_at)
     AND p.error_code IN (:NONE, :REQUEST_TIMED_OUT, :COORDINATOR_NOT_AVAILABLE)
    LEFT JOIN unlogged k
      ON same(k, u, member_id, topic, partition) AND k.asked_at <= u.removed_at
    GROUP BY ALL
),
-- What overlaps it is found within buckets of offsets.
wanted AS (
    SELECT *, explode(sequence(first DIV 1024, last DIV 1024)) AS bucket FROM open
), reads AS (
    SELECT *, explode(sequence(first_offset DIV 1024, last_offset DIV 1024)) AS bucket
    FROM {deliveries}
), reread AS (
    SELECT u.* EXCEPT (bucket), greatest(u.first, u.open_to) AS due,
           min(d.first_offset) AS again_from, max(d.last_offset) AS again_to
    FROM wanted u LEFT JOIN reads d ON same(d, u, topic, partition, bucket)
     AND d.first_offset <= u.last AND d.last_offset >= u.first
     AND d.polled_at > u.removed_at
     AND (d.member_id <> u.member_id OR d.polled_at > u.back_at)
    GROUP BY ALL
),
-- When a partition was last held or read by any member, who could have read it again.
held AS (
    SELECT topic, partition, max(at) AS last_at
    FROM (SELECT topic, partition, from_at AS at FROM {ownership}
          UNION ALL SELECT topic, partition, polled_at FROM {deliveries})
    GROUP BY topic, partition
)
SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (coordinator)') AS subject,
       c.at, c.error_code AS measured,
       -- How a coordinator refuses a member that is no longer in the group.
       CASE WHEN c.error_code NOT IN (
                :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS,
                :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)
            THEN clause('was answered with error ', c.error_code) END AS wrong,
       IF(c.error_code IS NULL, 'was never answered', NULL) AS unknown,
       CAST(NULL AS STRING) AS note
FROM (SELECT member, member_id, removed_at, topic, partition, at, error_code
      FROM {commits_judged}
      UNION ALL
      SELECT p.member, p.member_id, r.removed_at, p.topic, p.partition, p.processed_at,
             coalesce(nullif(p.request_error_code, 0), p.error_code)
      FROM {positions} p JOIN removed r ON r.member_id = p.member_id
       AND p.arrived_at > after(:slack_ms, r.removed_at)
       AND coalesce(p.arrived_at < r.back_at, true)
      WHERE p.api = 'TXN_OFFSET_COMMIT') c
JOIN removed r ON same(r, c, member_id, removed_at)
-- A broker that does not have the group, or may not be asked, says nothing of its members.
WHERE coalesce(c.error_code NOT IN (
          :COORDINATOR_LOAD_IN_PROGRESS, :NOT_COORDINATOR, :GROUP_AUTHORIZATION_FAILED,
          :TOPIC_AUTHORIZATION_FAILED), true)
UNION ALL
SELECT concat(c.member, ' commits ', c.topic, '-', c.partition, ' (client)'), c.asked_at,
       c.error_code, IF(c.error_code = :NONE, 'was accepted', NULL), NULL,
       CASE WHEN c.error_code IS NULL THEN 'never answered'
            ELSE concat('refused: ', coalesce(c.error, string(c.error_code))) END
FROM {commits} c JOIN removed r
  ON r.member_id = c.member_id AND c.asked_at > r.removed_at
 AND (r.back_at IS NULL OR c.asked_at < r.back_at)
WHERE c.how <> 'external'
UNION ALL
SELECT concat(r.topic, '-', r.partition, ' after ', r.member), r.removed_at, NULL,
       CASE WHEN due > last OR h.last_at <= r.removed_at THEN NULL
            WHEN again_from IS NULL THEN 'its uncommitted records never came again'
            WHEN again_from > due OR again_to < last
            THEN concat('only ', greatest(again_from, first), ' to ', least(again_to, last),
                        ' of its records ', first, ' to ', last, ' came again') END,
       IF(due <= last AND h.last_at <= r.removed_at,
          'was given to no member after that', NULL),
       concat(last - first + 1, ' records read and not committed')
FROM reread r JOIN held h ON same(h, r, topic, partition)
WHERE :commit NOT IN ('external', 'transaction')
