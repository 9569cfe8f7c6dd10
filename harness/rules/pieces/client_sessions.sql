-- What a client does without an answer for as long as its session lasts.

-- let SESSION_ANSWERS
--   Answers that say something of the member. What a coordinator writes into an isolated link does
--   not arrive; while the link is being cut, or mended, it may or may not (`doubtful`).
WITH cut_off AS (
    SELECT m.member, f.injecting_at AS from_at, coalesce(f.healed_at, :ended_at) AS to_at,
           -- A line is stamped late: an answer may have gone just before.
           after(:slack_ms, f.injected_at) AS surely_from_at,
           coalesce(f.healing_at, :ended_at) AS surely_to_at
    FROM {fault_windows} f JOIN {members} m ON f.resolved IN (m.member, m.lane)
    WHERE f.link_cut
), sent AS (
    SELECT r.member, r.member_id, r.api, r.error_code, r.processed_at, r.answered_at,
           IF(r.api IN ('JOIN_GROUP', 'SYNC_GROUP'), r.arrived_at, r.answered_at) AS heard_at,
           count(c.from_at) > 0 AS cut,
           count_if(r.answered_at BETWEEN c.surely_from_at AND c.surely_to_at) > 0 AS surely_cut
    FROM {own_requests} r LEFT JOIN cut_off c
      ON c.member = r.member AND r.answered_at BETWEEN c.from_at AND c.to_at
    WHERE r.member_id IS NOT NULL
      AND r.api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'OFFSET_COMMIT')
      AND r.error_code IN (:NONE, :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                           :REBALANCE_IN_PROGRESS, :FENCED_INSTANCE_ID)
    GROUP BY ALL
), answers AS (SELECT * FROM sent WHERE NOT cut),
doubtful AS (SELECT * FROM sent WHERE cut AND NOT surely_cut),

-- let READ_MS = 300
--   How long an answer to a heartbeat may wait behind two others until Java reads it, one each time
--   that its thread looks: every 100 ms. Seen 56 ms after the answer, behind a SyncGroup's.

-- let TIME_OUTS
--   Each time-out of a client's session, with when the application heard that its assignment is
--   lost, if it did. librdkafka calls back from poll: so it has a second from when the application
--   could poll, which it cannot while it waits for the answer to a commit or works on a batch.
noticed AS (
    SELECT e.member, e.event_at AS at, max(e.duration_ms) AS duration_ms,
           greatest(e.event_at, max(b.to_at)) AS could_poll_at
    FROM {client_events} e LEFT JOIN {busy} b
      ON b.member = e.member AND b.reason IN ('commit', 'work')
     AND b.from_at <= e.event_at AND b.to_at > e.event_at
    WHERE e.event = 'session_timed_out' GROUP BY e.member, e.event_at
), time_outs AS (
    SELECT n.member, n.at, n.duration_ms, min(l.event_at) AS lost_at
    FROM noticed n LEFT JOIN {client_events} l
      ON l.member = n.member AND l.event = 'lost' AND l.event_at >= n.at
     AND l.event_at <= after(1000, n.could_poll_at)
    GROUP BY n.member, n.at, n.duration_ms
),
