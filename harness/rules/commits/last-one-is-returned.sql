-- A coordinator returns the position that was committed last
-- Every coordinator that the group has had returns the position that was committed last. Only a
-- coordinator that has not written a commit of its own yet may return an older one, of 5.5 s before
-- its predecessor's last commit at most. No answer has the position of a commit that fails for want
-- of a replica, for as long as that is missing.
-- why: An older position makes its reader repeat records; a newer one makes it skip some.
-- source: document 003, OFFSET_FETCH, and OFFSET_COMMIT (visible only after the append);
--   OffsetMetadataManager, fetchOffsets; KIP-447
-- id: R30 | was: R31-append, X68 | rows: partitions | unit: records | measured: behind the commit |
--   high: was answered with an older position than the one committed last | kind: always, broker
--
-- The answer is right if it is the last position whose committer had its answer, or a later one
-- that was asked for by then and not refused: a commit that timed out may have been made. A
-- deletion is a commit of nothing. A transaction's positions may lag behind its end: its markers
-- wait for their replicas, and for as long as a broker is gone. Automatic commits that were in
-- flight when their broker died are on no record, and cover no more than had been delivered by
-- then. Two answers within the slack of each other may have come in the other order.
--
-- Positions expire a retention after the last commit at the earliest (X17). A broker that has just
-- loaded the group answers with what was replicated everywhere by then, and learns of later commits
-- when it writes one itself (CoordinatorRuntime).

-- let REFUSED
--   Errors with which a coordinator refuses a commit for good (GroupMetadata and
--   OffsetMetadataManager, 4.3). After any other it may still take effect.
(:OFFSET_METADATA_TOO_LARGE, :ILLEGAL_GENERATION, :INVALID_GROUP_ID,
:UNKNOWN_MEMBER_ID, :REBALANCE_IN_PROGRESS, :INVALID_COMMIT_OFFSET_SIZE,
:GROUP_AUTHORIZATION_FAILED, :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH)

-- let WATERMARK_BEHIND_MS = 5500
--   How far the high watermark of a new leader may be behind. A follower has it with its next
--   fetch, after 500 ms at most (replica.fetch.wait.max.ms). A broker that starts has the one that
--   it wrote down last, every 5 s (replica.high.watermark.checkpoint.interval.ms).

-- let MARKED_MS = 2000
--   How long after its producer was answered a transaction may wait for its markers. In the kept
--   runs no position came later than 0.3 s.

-- query
{UNWRITABLE}, asked AS (
    SELECT api, topic, partition, committed, error_code, arrived_at, answered_at
    FROM {positions} WHERE api IN ('OFFSET_COMMIT', 'OFFSET_DELETE', 'TXN_OFFSET_COMMIT')
    UNION ALL
    -- A commit that was sent again, to another coordinator, was asked for before that.
    SELECT how, topic, partition, committed, coalesce(error_code, -1), asked_at,
           IF(error_code = :NONE, answered_at, NULL)
    FROM {commits} WHERE asked_at IS NOT NULL AND how <> 'external'
), possible AS (
    SELECT topic, partition, committed, min(arrived_at) AS first_asked_at,
           bool_or(error_code = :NONE) AS made,
           max(coalesce(answered_at, :ended_at)) AS open_to,
           max(coalesce(followed_at, :ended_at)) AS followed_at
    FROM (SELECT *, min(IF(error_code = :NONE AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE'),
                           answered_at, NULL))
                    OVER (PARTITION BY topic, partition
                          ORDER BY arrived_at DESC, answered_at DESC, committed DESC
                          {BEFORE}) AS followed_at
          FROM asked WHERE error_code NOT IN {REFUSED})
    GROUP BY topic, partition, committed
), moments AS (
    SELECT topic, partition, arrived_at AS at, NULL AS since, NULL AS known,
           committed AS given, processed_at AS given_at, member, broker, evidence
    FROM {positions}
    WHERE api = 'OFFSET_FETCH' AND coalesce(request_error_code, 0) = 0 AND error_code = 0
      AND topic = :topic
    UNION ALL
    SELECT topic, partition, after(:slack_ms, answered_at), arrived_at, committed,
           NULL, NULL, NULL, NULL, NULL
    FROM asked WHERE error_code = :NONE AND api IN ('OFFSET_COMMIT', 'OFFSET_DELETE')
    UNION ALL
    SELECT topic, partition, after(:MARKED_MS, answered_at), arrived_at, committed,
           NULL, NULL, NULL, NULL, NULL
    FROM asked a LEFT ANTI JOIN {unsettled} u
      ON u.from_at <= after(:MARKED_MS, a.answered_at) AND u.to_at >= a.answered_at
    WHERE api = 'transaction' AND error_code = :NONE AND a.answered_at IS NOT NULL
), ordered AS (
    SELECT *, coalesce(last_value(known, true) OVER before, -1) AS expected,
           last_value(since, true) OVER before AS expected_since
    FROM moments
    WINDOW before AS (PARTITION BY topic, partition ORDER BY at, since NULLS LAST, known
                      {SO_FAR})
), taken_over AS (
    SELECT t.broker, t.from_at,
           coalesce(min(IF(r.broker = t.broker AND r.arrived_at >= t.from_at,
                           r.answered_at, NULL)), :ended_at) AS to_at,
           max(IF(r.arrived_at < t.from_at, r.answered_at, NULL)) AS last_at
    FROM {tenures} t LEFT JOIN {own_requests} r
      ON r.api = 'OFFSET_COMMIT' AND r.error_code = :NONE
    WHERE t.loaded GROUP BY t.broker, t.from_at
), placed AS (
    SELECT o.* EXCEPT (since, known), count(n.from_at) > 0 AS fresh,
           min(n.last_at) AS last_at, count(u.fault) > 0 AS unwritable
    FROM ordered o LEFT JOIN taken_over n
      ON n.broker = o.broker AND n.from_at <= o.given_at
     AND o.at <= after(:slack_ms, n.to_at)
    LEFT JOIN unwritable u ON o.at BETWEEN u.from_at AND u.to_at
    WHERE o.given IS NOT NULL GROUP BY ALL
), possibly_lost AS (
    SELECT DISTINCT o.topic, o.partition, o.at, o.given
    FROM placed o
    JOIN {broker_faults} f ON f.injecting_at <= greatest(o.at, o.given_at)
     AND coalesce(f.healed_at >= o.expected_since, true)
    JOIN {deliveries} d ON same(d, o, topic, partition) AND d.last_offset + 1 >= o.given
     AND d.polled_at <= greatest(o.at, o.given_at)
    WHERE o.given > o.expected AND :commit = 'auto'
), judged AS (
    SELECT o.*, coalesce(o.fresh AND p.first_asked_at <= o.given_at
                         AND coalesce(p.followed_at
                                      >= after(-:WATERMARK_BEHIND_MS, o.last_at), true),
                         false) AS stale,
           o.given = o.expected OR stale
           OR coalesce(p.first_asked_at <= after(:slack_ms, o.given_at)
                       AND (o.expected_since IS NULL OR p.open_to >= o.expected_since)
                       AND (p.made OR NOT o.unwritable), false)
           OR l.given IS NOT NULL
           OR o.given = -1
              AND coalesce(ms_between(o.expected_since, o.at) >= :retention_ms, false) AS fits,
           IF(fits, 0, greatest(0, o.expected - o.given)) AS behind
    FROM placed o LEFT JOIN possible p
      ON same(p, o, topic, partition) AND p.committed = o.given
    LEFT JOIN possibly_lost l ON same(l, o, topic, partition, at, given)
), summed AS (
    SELECT topic, partition, max(behind) AS behind, count(*) AS answers,
           count_if(stale AND given < expected) AS older,
           min(IF(fits, NULL, at)) AS at,
           min_by(concat('broker-', broker, ' answered ', coalesce(member, 'a client'),
                         ' with ', given, ' where ',
                         coalesce(string(nullif(expected, -1)), 'nothing'),
                         ' was committed'), struct(at, evidence))
               FILTER (WHERE NOT fits) AS misfit,
           min_by(evidence, struct(at, evidence)) FILTER (WHERE NOT fits) AS evidence
    FROM judged GROUP BY topic, partition
)
SELECT concat(topic, '-', partition) AS subject, at, behind AS measured, 0 AS bound_high,
       CASE WHEN behind = 0 AND misfit IS NOT NULL
            THEN clause('was answered with what no one had committed: ', misfit) END AS wrong,
       coalesce(misfit, concat(answers, ' answers', IF(older > 0, concat(', ', older,
           ' older by a coordinator that had just loaded the group'), ''))) AS note,
       evidence
FROM summed
