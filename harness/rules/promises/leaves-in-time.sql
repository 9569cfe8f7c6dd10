-- A program that is asked to end leaves its group in time
-- A process that is asked to end leaves its group and ends by itself within its grace period. A
-- static member need not leave.
-- why: A process that does not leave makes the group wait for its session timeout, with every
--   deploy.
-- source: kafka-chaos, programs under test; KIP-345 for static members
-- id: P6 | rows: processes asked to end | unit: ms | measured: from the signal to the end | high:
--   ended after its grace period | clients: app | headline: leaving | kind: without journals
--
-- Kafka Streams stays by default (KIP-812): its client id or its assignor shows that it is one.
--
-- Law: A dynamic member that is asked to end announces to its coordinator that it leaves, and its
-- process ends within its grace period.

-- let STREAMS_STAYS
--   what helps (KIP-812; KIP-1153, which renamed it in 4.2; Spring Boot's own setting)
; Kafka Streams stays in its group unless it is closed by KafkaStreams.close(new CloseOptions().leaveGroup(true)), from 4.2 on CloseOptions.groupMembershipOperation(LEAVE_GROUP), or with Spring''s leave-group-on-close

-- query
WITH ending AS (
    SELECT member, instance_id, told_at, ended_at, `end`, exit_code,
           coalesce(session_timeout_ms, :session_ms) AS session_timeout_ms
    FROM {members} WHERE role = 'consumer' AND told_at IS NOT NULL
), leaves AS (
    SELECT t.member, min(r.arrived_at) AS at
    FROM ending t JOIN {own_requests} r
      ON r.member = t.member AND r.arrived_at >= t.told_at AND r.error_code = :NONE
     AND (r.api = 'LEAVE_GROUP'
          OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
    GROUP BY t.member
), dropped AS (
    SELECT member, max(detail) AS signal FROM {client_events} WHERE event = 'signal_dropped'
    GROUP BY member
), streams AS (
    SELECT DISTINCT member FROM {own_requests}
    WHERE protocol_name = 'stream' OR client_id RLIKE '-StreamThread-[0-9]+-consumer$'
), belonged AS (
    SELECT DISTINCT t.member
    FROM ending t JOIN {memberships} m
      ON m.member = t.member AND m.joined_at <= t.told_at
     AND (m.removed_at IS NULL OR m.removed_at > t.told_at)
)
SELECT t.member AS subject, t.told_at AS at, ms_between(t.told_at, t.ended_at) AS measured,
       :grace_ms AS bound_high,
       CASE WHEN t.`end` = 'killed'
            THEN clause(coalesce(concat('ran as PID 1 and did not react to ', d.signal,
                                        ', for which it has no handler: '), ''),
                        'still ran ', round(:grace_ms / 1e3, 1),
                        ' s after it was asked to end, and was killed')
            WHEN t.ended_at IS NULL THEN 'never ended'
            WHEN b.member IS NOT NULL AND l.at IS NULL AND t.instance_id IS NULL
            THEN clause('ended without leaving the group, which waits for its session of ',
                        round(t.session_timeout_ms / 1e3, 1), ' s',
                        IF(s.member IS NULL, '', '{STREAMS_STAYS}')) END AS wrong,
       concat_ws(', ', concat('left after ', round(ms_between(t.told_at, l.at)), ' ms'),
                 concat('exit code ', t.exit_code)) AS note
FROM ending t LEFT JOIN leaves l ON l.member = t.member
LEFT JOIN belonged b ON b.member = t.member LEFT JOIN dropped d ON d.member = t.member
LEFT JOIN streams s ON s.member = t.member
