-- A member that was too slow hears that it is out before it is handed a record
-- A member whose application did not poll for max.poll.interval.ms is out of its group. When the
-- application polls again, it hears that its partitions are lost before it is handed any record.
-- why: Two members work on the same records, and what the late one commits is refused.
-- source: KIP-62; ConsumerRebalanceListener, onPartitionsLost; librdkafka rdkafka_cgrp.c
--   (rd_kafka_cgrp_revoke_all_rejoin_maybe)
-- id: X99 | was: X104 | rows: members that were too slow | unit: records | measured: handed over
--   before the member heard that it is out | high: were handed over though the member had left, and
--   another may have had them by then | kind: in passing

WITH heard AS (
    SELECT member, event_at AS at FROM {client_events}
    WHERE event IN ('lost', 'revoked', 'closing')
    UNION ALL
    SELECT member, arrived_at FROM {own_requests}
    WHERE api = 'JOIN_GROUP' OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0
), late AS (
    SELECT e.member, e.event_at AS at, min(h.at) AS heard_at
    FROM {client_events} e LEFT JOIN heard h
      ON h.member = e.member AND h.at > e.event_at
    WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at
)
SELECT concat(l.member, ' (too slow)') AS subject, l.at,
       coalesce(sum(d.count), 0) AS measured, 0 AS bound_high,
       concat('in ', count(d.count), ' polls, from ',
              CAST(round(ms_between(l.at, min(d.polled_at))) AS INT), ' ms to ',
              CAST(round(ms_between(l.at, max(d.polled_at))) AS INT),
              ' ms after its limit') AS note
FROM late l LEFT JOIN {deliveries} d
  ON d.member = l.member AND d.polled_at > l.at
 AND (l.heard_at IS NULL OR d.polled_at < l.heard_at)
GROUP BY l.member, l.at
