-- A member that is put out loses its partitions
-- A member whose heartbeat is answered that it is out of the group loses all its partitions at
-- once. Its application hears of them by the callback for lost partitions, and not by the one for
-- revoked partitions.
-- why: An application commits what it has done in the callback for partitions that it gives up.
--   After a loss the next owner has them already.
-- source: ConsumerRebalanceListener.onPartitionsLost; rd_kafka_assignment_lost; KIP-429
-- id: X84 | rows: members that were told that they are out | unit: partitions | measured: given up,
--   or kept | high: gave up, or kept, partitions that it had lost | kind: in passing, compares
--   clocks
--
-- Heartbeats that were answered so, beside how the partitions held then were taken away.
--
-- What a member gives up because it closes is none of that, nor what it gives up before the answer
-- can have reached it. Whoever is handed records a session later, and has heard of no loss, has
-- kept all.

WITH told AS (
    SELECT member, answered_at AS at, error_code, evidence FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
      AND error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH)
), lost AS (
    -- When its application first heard that it has lost something; it has lost all then.
    SELECT t.member, t.at, min(c.at) AS at_once
    FROM told t JOIN {callbacks} c
      ON c.member = t.member AND c.event = 'lost' AND c.at >= t.at
    GROUP BY t.member, t.at
), closed AS (
    SELECT member, min(event_at) AS at FROM {client_events}
    WHERE event = 'closing' GROUP BY member
), held AS (
    SELECT t.member, t.at, t.error_code, t.evidence, o.topic, o.partition, o.from_at,
           o.to_at, o.ended_by, l.at_once,
           coalesce(c.at <= o.to_at, false) AS closing,
           l.at_once IS NULL AND coalesce(max(d.polled_at) > after(:session_ms, t.at),
                                          false) AS went_on
    FROM told t JOIN {ownership} o
      ON o.member = t.member AND o.from_at <= t.at
     AND (o.to_at IS NULL OR o.to_at > t.at)
    LEFT JOIN lost l ON same(l, t, member, at)
    LEFT JOIN closed c ON c.member = t.member
    LEFT JOIN {deliveries} d
      ON same(d, o, member, topic, partition)
     AND d.polled_at <= coalesce(o.to_at, :ended_at)
    GROUP BY ALL
)
SELECT concat(member, ' (put out)') AS subject, at,
       count_if(went_on OR ended_by = 'revoked' AND to_at > after(:rounding_ms, at)
                OR to_at > after(:slack_ms, at_once)) AS measured, 0 AS bound_high,
       concat('told by error ', error_code, '; held ', count(*), ' partitions') AS note,
       evidence
FROM held WHERE went_on OR to_at IS NOT NULL AND NOT closing
GROUP BY member, at, error_code, evidence
