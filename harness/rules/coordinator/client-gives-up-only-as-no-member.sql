-- A client gives up only if it cannot be a member
-- A client library reports a fatal error, after which the consumer can do nothing any more, only if
-- another process has the member's instance id, the group is full, or the user has lost a right.
-- why: A consumer that gave up comes back only when it is started again, and a static member's
--   partitions wait for its session to end as well.
-- source: KIP-345, FENCED_INSTANCE_ID; KIP-848, UNRELEASED_INSTANCE_ID; group.max.size
-- id: X42 | rows: consumers | kind: always, in passing
--
-- P14 is about programs.

WITH gave_up AS (
    SELECT member, min(event_at) AS at,
           min_by(regexp_extract(detail, 'cannot go on: (.*)', 1), event_at) AS what
    FROM {client_events}
    WHERE event = 'error' AND detail LIKE 'process: ClientGaveUp: %' GROUP BY member
), refused AS (
    SELECT DISTINCT member FROM {own_requests} WHERE error_code = :GROUP_MAX_SIZE_REACHED
), twins AS (
    SELECT g.member, min(s.member) AS other
    FROM gave_up g JOIN {members} m ON m.member = g.member
    JOIN {memberships} s
      ON s.instance_id = m.instance_id AND s.member <> m.member
     AND s.joined_at <= after(:slack_ms, g.at)
     AND (s.removed_at IS NULL OR s.removed_at >= after(-:slack_ms, g.at))
    GROUP BY g.member
), barred AS (
    SELECT DISTINCT g.member FROM gave_up g JOIN {fault_windows} f
      ON f.resolved = g.member AND f.breaks = 'rights' AND f.injecting_at <= g.at
     AND coalesce(f.healed_at, :ended_at) >= after(-:slack_ms, g.at)
)
SELECT m.member AS subject, coalesce(g.at, m.ended_at, :stopped_at) AS at,
       IF(g.at IS NOT NULL AND t.other IS NULL AND r.member IS NULL AND b.member IS NULL,
          clause('its client gave up for good: ', g.what), NULL) AS wrong,
       CASE WHEN g.at IS NULL THEN NULL
            WHEN t.other IS NOT NULL
            THEN concat('gave up for good: ', t.other, ' has its instance id')
            WHEN r.member IS NOT NULL THEN 'gave up for good: the group was full'
            WHEN b.member IS NOT NULL
            THEN 'gave up for good: its user had lost a right' END AS note
FROM {members} m LEFT JOIN gave_up g USING (member) LEFT JOIN twins t USING (member)
LEFT JOIN refused r USING (member) LEFT JOIN barred b USING (member)
WHERE m.role = 'consumer' AND m.client <> 'app'
