-- A client reports the answer that it was given
-- A commit that its coordinator accepted is not reported as refused, and one that it refused not as
-- made, nor with another refusal, for each partition by itself. One that was accepted in time is
-- not reported as timed out, nor left without a report, and none is reported as made that no
-- coordinator was asked for.
-- why: An application that hears of a commit which was not made goes on, and its work is done
--   twice; one that hears of a failure does it again itself.
-- source: KafkaConsumer.commitSync; rd_kafka_commit; OffsetCommitResponse
-- id: X59 | rows: members | unit: commits | measured: reported otherwise | high: reported another
--   answer than it was given | kind: in passing, compares clocks
--
-- A client asks again by itself after an error that passes, and reports the last answer. An answer
-- may be lost on a disturbed link or with its process, its line with a broker that is killed. Java
-- reports REBALANCE_IN_PROGRESS for a commit that was refused while it has to join again. A refusal
-- may be reported for all partitions of a request. A transaction may fail after its positions were
-- accepted, but not by one of COMMIT_REFUSALS. When an automatic commit was asked for is not on
-- record: it is reported as made if any answer before that says so.

-- let TIMED_OUT = -185
--   librdkafka's own code, _TIMED_OUT

-- let COMMIT_REFUSALS
--   Refusals that only a coordinator gives; Java reports REBALANCE_IN_PROGRESS by itself, too.
(:OFFSET_METADATA_TOO_LARGE, :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
:REBALANCE_IN_PROGRESS, :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)

-- query
WITH polled AS (
    SELECT member, max(polled_at) AS last_at FROM {deliveries} GROUP BY member
), asked AS (
    SELECT c.member, c.how, c.topic, c.partition, c.committed, c.asked_at, c.error_code,
           coalesce(c.answered_at, after(-:commit_timeout_ms, p.last_at)) AS answered_at
    FROM {commits} c LEFT JOIN polled p ON p.member = c.member
    WHERE c.how <> 'external' AND (c.asked_at IS NOT NULL OR c.how = 'auto')
      AND coalesce(c.error_code >= 0 OR c.error_code = :TIMED_OUT, true)
), answered AS (
    SELECT a.*, count(p.arrived_at) > 0 AS heard,
           count_if(p.error_code = :NONE
                    AND p.arrived_at <= after(:slack_ms, a.answered_at)) > 0 AS made,
           max(struct(p.arrived_at, p.error_code, p.evidence, p.answered_at))
               FILTER (WHERE p.arrived_at <= after(:slack_ms, a.answered_at)) AS last
    FROM asked a LEFT JOIN {positions} p
      ON p.api = IF(a.how = 'transaction', 'TXN_OFFSET_COMMIT', 'OFFSET_COMMIT')
     AND same(p, a, member, topic, partition, committed)
     AND coalesce(p.arrived_at >= after(-:slack_ms, a.asked_at), true)
     AND p.arrived_at <= after(:STAMP_LATE_MS, a.answered_at)
    GROUP BY ALL
    HAVING last IS NOT NULL OR NOT heard AND a.how <> 'auto' AND a.error_code = :NONE
), unlogged AS (
    SELECT injecting_at AS from_at, coalesce(healed_at, :ended_at) AS to_at
    FROM {broker_faults} WHERE killed OR healed_at IS NULL
), unheard AS (
    SELECT DISTINCT a.member, a.answered_at, a.error_code
    FROM answered a LEFT ANTI JOIN {positions} p
      ON p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT') AND same(p, a, member, error_code)
     AND coalesce(p.arrived_at >= after(-:slack_ms, a.asked_at), true)
     AND p.arrived_at <= after(:slack_ms, a.answered_at)
    LEFT ANTI JOIN unlogged u
      ON u.from_at <= a.answered_at AND u.to_at >= coalesce(a.asked_at, a.last.arrived_at)
    WHERE a.error_code IN {COMMIT_REFUSALS}
      AND (:client <> 'java' OR a.error_code <> :REBALANCE_IN_PROGRESS)
), compared AS (
    SELECT a.*,
           u.member IS NOT NULL
           OR CASE WHEN a.how = 'auto'
                   THEN a.error_code = :NONE AND NOT a.made AND a.broken = 0
                   ELSE a.error_code = :NONE AND a.last.error_code <> :NONE
                        OR a.error_code IN {COMMIT_REFUSALS} AND a.last.error_code = :NONE
                        OR a.error_code = :NONE AND NOT a.heard AND a.broken = 0
                        OR coalesce(a.error_code = :TIMED_OUT, true)
                           AND a.last.error_code = :NONE AND a.how <> 'transaction'
                           AND a.last.answered_at <= after(-:slack_ms, a.answered_at)
                           AND a.disturbed = 0 END AS otherwise
    FROM (SELECT a.*, count(d.from_at) AS disturbed, count(b.from_at) AS broken
          FROM answered a LEFT JOIN {disturbances} d
            ON coalesce(d.member = a.member, true) AND d.to_at >= a.asked_at
           AND d.from_at <= after(:commit_timeout_ms, a.asked_at)
          LEFT JOIN unlogged b
            ON b.from_at <= a.answered_at
           AND b.to_at >= coalesce(a.last.arrived_at, a.asked_at)
          GROUP BY ALL) a
    LEFT JOIN unheard u ON same(u, a, member, answered_at, error_code)
), judged AS (
    SELECT member, count(*) AS commits, count_if(otherwise) AS times,
           min(coalesce(asked_at, answered_at)) AS at,
           min(struct(coalesce(asked_at, answered_at) AS at, topic, partition, committed,
                      error_code, last)) FILTER (WHERE otherwise) AS first
    FROM compared GROUP BY member
)
SELECT concat(member, ' (commits)') AS subject, coalesce(first.at, at) AS at,
       times AS measured, 0 AS bound_high,
       IF(times > 0, clause(coalesce(concat('reported error ', first.error_code),
                                     'reported nothing'), ' for ', first.topic, '-',
                            first.partition, ' at ', first.committed, ', and was answered ',
                            coalesce(CAST(first.last.error_code AS STRING), 'nothing')),
          NULL) AS wrong,
       concat(commits, ' commits') AS note, first.last.evidence AS evidence
FROM judged
