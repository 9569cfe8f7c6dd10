-- A fenced member comes back with epoch 0
-- A member that is answered that it is fenced or unknown gives up its partitions, and joins again
-- under its own id with epoch 0.
-- why: A consumer that was evicted during a pause works again without a restart.
-- source: KIP-848, Member epoch; FENCED_MEMBER_EPOCH
-- id: X23 | rows: fenced members | unit: ms | measured: until it joined again | needs: session end
--   | protocols: consumer
--
-- A member may act on a refusal before the line is stamped from which its arrival counts back. One
-- that holds nothing has nothing to give up, and no client calls back for that. One that is about
-- to end need not come back.

WITH beats AS (
    SELECT *, error_code IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH) AS out,
           lag(error_code) OVER (PARTITION BY member_id ORDER BY arrived_at, evidence)
               IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH) AS out_before
    FROM {consumer_heartbeats}
),
-- The first answer by which a member learns that it is in the group no more.
refused AS (
    SELECT * FROM beats WHERE out AND generation > 0 AND NOT coalesce(out_before, false)
), back AS (
    SELECT r.member_id, r.member, r.arrived_at, r.answered_at, r.error_code, r.evidence,
           min(struct(b.arrived_at, b.member_id)) AS back
    FROM refused r LEFT JOIN beats b
      ON b.member = r.member AND b.generation = 0 AND b.error_code = :NONE
     AND b.arrived_at >= r.answered_at
    GROUP BY ALL
),
-- What a member has from before its refusal until it is back, it has not given up.
held AS (
    SELECT b.*, count(o.from_at) AS held
    FROM back b LEFT JOIN {ownership} o
      ON o.member = b.member AND o.from_at <= b.answered_at
     AND (o.to_at IS NULL OR o.to_at > b.back.arrived_at)
    GROUP BY ALL
), goings AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'closing'
    UNION ALL
    SELECT resolved, injecting_at FROM {fault_windows} WHERE ends_member
), going AS (
    SELECT h.*, count(g.at) > 0 AS goes
    FROM held h LEFT JOIN goings g
      ON g.member = h.member AND h.back.arrived_at IS NULL
     AND g.at >= after(-:session_ms, h.arrived_at)
     AND g.at <= after(:session_ms, h.arrived_at)
    GROUP BY ALL
), lost AS (
    SELECT b.*, count(c.event_at) > 0 AS gave_up
    FROM going b LEFT JOIN {client_events} c
      ON c.member = b.member AND c.event = 'lost'
     -- Its application hears of it at its next poll, perhaps when it has joined again.
     AND coalesce(c.observed_at, c.event_at) >= after(-:slack_ms, b.arrived_at)
     AND (b.back.arrived_at IS NULL OR c.event_at <= b.back.arrived_at)
    GROUP BY ALL
)
SELECT concat(member, ' (fenced)') AS subject, arrived_at AS at,
       ms_between(answered_at, back.arrived_at) AS measured,
       CASE WHEN back.arrived_at IS NULL AND arrived_at >= after(-2000, :stopped_at)
            THEN 'the run ended before it could come back'
            WHEN goes THEN 'it ended before it could come back' END AS unknown,
       CASE WHEN back.arrived_at IS NULL THEN 'did not come back'
            WHEN back.member_id <> member_id THEN 'came back under another member id'
            WHEN NOT gave_up AND held > 0
            THEN 'came back without giving its partitions up' END AS wrong,
       concat('answered with error ', error_code) AS note, evidence
FROM lost
