-- What a coordinator does while the offsets topic has too few replicas to be written to.

-- let TIMED
--   The same, and every request of the group with how long its answer took.
{UNWRITABLE},
timed AS (
    SELECT *, concat(member, ' ', date_format(arrived_at, 'HH:mm:ss.SSS')) AS subject,
           ms_between(arrived_at, processed_at) AS ms FROM {own_requests}
)

-- let UNWRITABLE
--   When the offsets topic had too few replicas in sync to be written to, because a broker was
--   gone.
WITH unwritable AS (
    SELECT fault, injecting_at, after(:slack_ms, injected_at) AS from_at,
           coalesce(healing_at, :ended_at) AS to_at
    FROM {broker_faults}
    WHERE took_effect AND :brokers - 1 < :offsets_min_isr
)

-- let CHANGES
--   The same of all groups, those of probes too, from when it could already have failed until it
--   would still do so before the broker is back: one that waits for that may be made after all. A
--   JoinGroup that is answered by then has not waited for it.
{UNWRITABLE},
changes AS (
    SELECT r.*, u.from_at, u.to_at,
           concat(r.`group`, ' ', date_format(r.arrived_at, 'HH:mm:ss.SSS')) AS subject,
           ms_between(r.arrived_at, r.processed_at) AS ms,
           IF(r.error_code IS NULL, 'was answered without an error code', NULL) AS unknown
    FROM {requests} r JOIN unwritable u
      ON r.arrived_at >= IF(r.error_code = :NONE, u.from_at, u.injecting_at)
     AND (after(:commit_timeout_ms, r.arrived_at) <= u.to_at
          OR r.api = 'JOIN_GROUP' AND r.processed_at <= u.to_at)
)
