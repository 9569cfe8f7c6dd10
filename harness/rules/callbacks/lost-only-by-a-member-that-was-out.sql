-- A partition is lost only by a member that was out
-- The callback for lost partitions comes only to a member that was refused as one that is out of
-- the group, or that gave up by itself: its session, or its poll limit, was over, or its client had
-- failed for good. Any other partition is revoked, and none of a member that learned by its
-- heartbeat that it is out.
-- why: An application may not commit what it had of a lost partition, so it is repeated.
-- source: KIP-429, onPartitionsLost; librdkafka rdkafka_assignment.c
-- id: X74 | was: X84 | rows: members that lost partitions | unit: callbacks | measured: without a
--   reason | high: heard that partitions were lost, without a reason | kind: in passing, compares
--   clocks
--
-- Which of several reasons made its client give up does not matter. A Java member that closes while
-- it joins anew has no generation then, and loses what it has.

WITH lost AS (
    SELECT member, event_at, at, min(since_at) AS since_at
    FROM (SELECT l.member, l.event_at, l.at, max(a.event_at) AS since_at
          FROM {callbacks} l LEFT JOIN {callbacks} a
            ON same(a, l, member, topic, partition) AND a.event = 'assigned'
           AND a.event_at < l.event_at
          WHERE l.event = 'lost'
          GROUP BY l.member, l.topic, l.partition, l.event_at, l.at)
    GROUP BY member, event_at, at
), reasons AS (
    SELECT member, processed_at AS at FROM {own_requests}
    WHERE error_code IN (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID,
              :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH, :UNRELEASED_INSTANCE_ID,
              :GROUP_AUTHORIZATION_FAILED)
    UNION ALL
    SELECT member, event_at FROM {client_events}
    WHERE event IN ('session_timed_out', 'max_poll_exceeded', 'error')
       OR event = 'closing' AND :client = 'java'
), judged AS (
    SELECT l.member, l.event_at, count(r.at) = 0 AS odd, false AS gave_up
    FROM lost l LEFT JOIN reasons r
      ON r.member = l.member AND r.at <= after(:STAMP_LATE_MS, l.at)
     AND coalesce(r.at >= after(-:slack_ms, l.since_at), true)
    GROUP BY l.member, l.event_at, l.at
    UNION ALL
    SELECT DISTINCT c.member, c.event_at, true, true
    FROM {callbacks} c JOIN {own_requests} t
      ON t.member = c.member AND t.api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
     AND t.error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH)
     AND t.answered_at < after(-:rounding_ms, c.at)
    LEFT ANTI JOIN {client_events} e
      ON e.member = c.member AND e.event_at <= c.event_at
     AND (e.event = 'closing' OR e.event = 'assigned' AND e.event_at > t.answered_at)
    WHERE c.event = 'revoked'
)
SELECT concat(member, ' (lost)') AS subject,
       coalesce(min(IF(odd, event_at, NULL)), min(event_at)) AS at,
       count_if(odd) AS measured, 0 AS bound_high,
       IF(bool_or(gave_up), 'gave up partitions that it had lost', NULL) AS wrong,
       concat(count(*), ' callbacks for lost partitions') AS note
FROM judged GROUP BY member
