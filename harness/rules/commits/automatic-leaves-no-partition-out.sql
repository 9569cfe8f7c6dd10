-- An automatic commit leaves no partition out
-- A member with enable.auto.commit commits in each interval all that it was given before, of every
-- partition that it has.
-- why: A crash repeats all that came of a partition since it was committed last, however often its
--   member commits.
-- source: ConsumerCoordinator.maybeAutoCommitOffsetsAsync (allConsumed);
--   rd_kafka_cgrp_offset_commit_tmr_cb (rd_kafka_cgrp_assigned_offsets_commit)
-- id: X103 | rows: members and partitions | unit: records | measured: left out at worst | high: had
--   records that a later automatic commit left out | kind: in passing, compares clocks
--
-- What was given in the last moment before a commit arrived may have come after it was made. At a
-- revocation librdkafka commits only what it gives up.

-- let GIVEN_UP_MS = 1000
--   how long a commit at a revocation, which names what is given up alone, may take

WITH {HINDERED}, timed AS (
    SELECT r.member, r.arrived_at AS at, r.evidence
    FROM {own_requests} r LEFT ANTI JOIN hindered h
      ON coalesce(h.member = r.member, true) AND h.from_at <= r.arrived_at
     AND after(:session_ms, h.to_at) >= r.arrived_at
    LEFT ANTI JOIN {client_events} c
      ON c.member = r.member AND c.event IN ('revoked', 'lost', 'closing')
     AND c.event_at <= after(:STAMP_LATE_MS, r.arrived_at)
     AND after(:GIVEN_UP_MS, coalesce(c.observed_at, c.event_at)) >= r.arrived_at
    WHERE r.api = 'OFFSET_COMMIT' AND r.generation >= 0 AND :commit = 'auto'
), held AS (
    SELECT topic, partition, member, from_at, coalesce(removed_at, to_at, :ended_at) AS to_at
    FROM {ownership}
), moments AS (
    SELECT h.*, after(:STAMP_LATE_MS + :auto_commit_late_ms, d.polled_at) AS at, 1 AS rank,
           d.last_offset + 1 AS given, NULL AS committed, NULL AS evidence
    FROM held h JOIN {deliveries} d
      ON same(d, h, member, topic, partition) AND d.polled_at BETWEEN h.from_at AND h.to_at
    UNION ALL
    SELECT h.*, p.arrived_at, 2, NULL, p.committed, NULL
    FROM held h JOIN {positions} p
      ON p.api = 'OFFSET_COMMIT' AND same(p, h, member, topic, partition)
     AND p.arrived_at BETWEEN h.from_at AND h.to_at
    UNION ALL
    SELECT h.*, t.at, 3, NULL, NULL, t.evidence
    FROM held h JOIN timed t ON t.member = h.member AND t.at >= h.from_at AND t.at < h.to_at
), ordered AS (
    SELECT *, last_value(given, true) OVER w AS due,
           coalesce(max(committed) OVER w, 0) AS done
    FROM moments
    WINDOW w AS (PARTITION BY member, topic, partition, from_at ORDER BY at, rank, given
                 {SO_FAR})
), judged AS (
    SELECT member, topic, partition, at, evidence, greatest(0, due - done) AS records
    FROM ordered WHERE rank = 3 AND due IS NOT NULL
)
SELECT concat(topic, '-', partition, ' of ', member) AS subject,
       coalesce(min(IF(records > 0, at, NULL)), min(at)) AS at,
       max(records) AS measured, 0 AS bound_high,
       concat(count_if(records > 0), ' of ', count(*), ' commits left some out') AS note,
       min_by(evidence, struct(at, evidence)) FILTER (WHERE records > 0) AS evidence
FROM judged GROUP BY member, topic, partition
