-- Deleted credentials expire within connections.max.reauth.ms
-- A broker with connections.max.reauth.ms serves no connection for longer than that after its last
-- login, so a user without credentials is cut off within that time.
-- why: Without that setting (default: 0) a user whose credentials were deleted stays connected for
--   as long as it likes.
-- source: connections.max.reauth.ms; KIP-368
-- id: X44 | rows: users whose credentials were deleted | unit: ms | measured: from the deletion to
--   the last request that was served | high: was still served after each of its connections had to
--   log in again | delayed by: member, toxiproxy, brokers, controller | kind: broker
--
-- By the time that counts as the deletion every broker had refused a login of the user, so no
-- connection can have been logged in after it.

{LOST}, served AS (
    SELECT d.fault, d.member, d.injected_at, count(r.arrived_at) AS requests,
           max(struct(r.arrived_at, r.evidence)) AS last
    FROM lost d LEFT JOIN {own_requests} r
      ON r.member = d.member AND r.arrived_at > d.injected_at AND r.arrived_at < d.gone_to_at
    WHERE d.lost IS NULL AND :reauth_ms > 0
    GROUP BY d.fault, d.member, d.injected_at
)
SELECT member AS subject, injected_at AS at,
       coalesce(ms_between(injected_at, last.arrived_at), 0) AS measured,
       :reauth_ms + :slack_ms AS bound_high,
       concat(requests, ' requests were served after it') AS note, last.evidence AS evidence,
       after(:reauth_ms - :guard_ms, injected_at) AS guard_from,
       after(:reauth_ms + :slack_ms, injected_at) AS guard_to
FROM served
