-- A fenced member comes back with epoch 0
-- A member that is answered that it is fenced or unknown joins again with epoch 0.
-- why: A consumer that was evicted during a pause works again without a restart.
-- source: KIP-848, Member epoch; FENCED_MEMBER_EPOCH
-- id: X23 | rows: fenced members | unit: ms | measured: until it joined again | needs: session end
--   | protocols: consumer
--
-- One that is about to end need not come back. X88 is about what it has to give up before that,
-- and X20-alone about the member id that it keeps.

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
           min(b.arrived_at) AS back_at
    FROM refused r LEFT JOIN beats b
      ON b.member = r.member AND b.generation = 0 AND b.error_code = :NONE
     AND b.arrived_at >= r.answered_at
    GROUP BY ALL
), goings AS (
    SELECT member, event_at AS at FROM {client_events} WHERE event = 'closing'
    UNION ALL
    SELECT resolved, injecting_at FROM {fault_windows} WHERE ends_member
), going AS (
    SELECT b.*, count(g.at) > 0 AS goes
    FROM back b LEFT JOIN goings g
      ON g.member = b.member AND b.back_at IS NULL
     AND g.at >= after(-:session_ms, b.arrived_at)
     AND g.at <= after(:session_ms, b.arrived_at)
    GROUP BY ALL
)
SELECT concat(member, ' (fenced)') AS subject, arrived_at AS at,
       ms_between(answered_at, back_at) AS measured,
       CASE WHEN back_at IS NULL AND arrived_at >= after(-2000, :stopped_at)
            THEN 'the run ended before it could come back'
            WHEN goes THEN 'it ended before it could come back' END AS unknown,
       IF(back_at IS NULL, 'did not come back', NULL) AS wrong,
       concat('answered with error ', error_code) AS note, evidence
FROM going
