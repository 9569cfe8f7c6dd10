-- A member that hears of a rebalance rejoins at its next poll
-- A member that heard of a rebalance sends its JoinGroup when its application polls next.
-- librdkafka may take one second longer, and a tick of its timer, since it sends at most one
-- JoinGroup a second.
-- why: A rebalance lasts until the slowest member has finished its batch, and max.poll.records
--   bounds that batch.
-- source: document 003, HEARTBEAT; document 004, poll and ensureActiveGroup
-- id: R32-rejoin | rows: members that heard of a rebalance | unit: ms | measured: from the next
--   poll to JoinGroup | high: rejoined too late | protocols: classic | delayed by: member,
--   toxiproxy, broker
--
-- Members that heard of a rebalance by a heartbeat, from when their application could poll next. It
-- cannot while it works on a batch, waits for the answer to a commit, or stalls. librdkafka ignores
-- such an answer until the callback of its last assignment has run. Where the coordinator was gone
-- before the member joined, a JoinGroup that waits there is on no record.

-- let JOIN_INTERVAL_MS = 1000
--   librdkafka asks to join at most once a second (rdkafka_cgrp.c, rkcg_join_intvl); the Java
--   client does so in its next poll.
-- let MOST_MS = :JOIN_INTERVAL_MS + :timer_late_ms + :slack_ms

WITH assigned AS (
    SELECT member, generation, min(event_at) AS at FROM {client_events}
    WHERE event = 'assigned' GROUP BY member, generation
), heard AS (
    SELECT r.member_id, r.member, r.broker, r.generation,
           min(r.answered_at) AS heard_at, min(r.evidence) AS evidence
    FROM {heard_requests} r LEFT JOIN assigned a ON same(a, r, member, generation)
    WHERE r.api = 'HEARTBEAT' AND r.error_code = :REBALANCE_IN_PROGRESS
      AND coalesce(a.at < r.answered_at, true)
    GROUP BY r.member_id, r.member, r.broker, r.generation
), polled AS (
    SELECT t.*, min(r.arrived_at) AS arrived_at, greatest(t.heard_at, max(b.to_at)) AS polled_at
    FROM heard t LEFT JOIN {requests} r
      ON r.member_id = t.member_id AND r.api = 'JOIN_GROUP' AND r.arrived_at >= t.heard_at
    LEFT JOIN {busy} b
      ON b.member = t.member AND b.from_at <= t.heard_at AND b.to_at > t.heard_at
    GROUP BY ALL
),
-- Members that left or were removed instead of joining again are not examined.
staying AS (
    SELECT p.*, ms_between(p.polled_at, p.arrived_at) AS ms, {MOST_MS} AS most_ms
    FROM polled p LEFT JOIN {memberships} m USING (member_id)
    LEFT ANTI JOIN {tenures} t
      ON t.next_at > p.heard_at AND t.next_at <= coalesce(p.arrived_at, :stopped_at)
    WHERE p.arrived_at IS NOT NULL
       OR m.removed_at IS NULL AND after({MOST_MS}, p.polled_at) < :stopped_at
)
SELECT concat(member, ' after generation ', generation) AS subject, heard_at AS at,
       ms AS measured, most_ms AS bound_high,
       IF(arrived_at IS NULL, 'never joined again', NULL) AS wrong,
       concat('joined ', CAST(round(ms_between(heard_at, arrived_at)) AS INT),
              ' ms after it was told') AS note,
       evidence, IF(ms > most_ms, after(-:guard_ms, polled_at), NULL) AS guard_from,
       guard_to(arrived_at) AS guard_to
FROM staying
