-- Only the leader's SyncGroup carries an assignment
-- A follower's SyncGroup carries no assignment, and the leader's carries that of all members. Each
-- member is answered with what the leader gave it, and goes on in a generation only after that.
-- why: The assignor of one client decides for all, so the members of a group have to agree on it.
-- source: document 001, SyncGroup; document 003, the group's state machine
-- id: R13-members | was: X101 | rows: SyncGroups of members | unit: partitions | measured: assigned
--   by a follower | high: sent an assignment although it is not the leader | protocols: classic |
--   kind: in passing
--
-- Within a generation the leader has another id once a process has taken its place. A static member
-- that took the place of another is not named in what the leader gave.

WITH syncs AS (
    SELECT s.*, l.led_by, l.led_by = s.member_id AS leads, coalesce(g.number, 0) AS number
    FROM {own_requests} s JOIN (
        SELECT broker, generation, member_id,
               max_by(leader, struct(arrived_at, evidence)) AS led_by
        FROM {joins} GROUP BY broker, generation, member_id) l
      ON same(l, s, broker, generation, member_id)
    LEFT JOIN {generations} g
      ON same(g, s, broker, generation) AND in_time_of(g, s.processed_at)
    WHERE s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.assignments IS NOT NULL
      AND s.assigned IS NOT NULL
), given AS (
    SELECT broker, generation, number,
           min_by(assignments, struct(arrived_at, evidence)) AS given
    FROM syncs WHERE leads AND size(assignments) > 0 GROUP BY broker, generation, number
), compared AS (
    SELECT s.*,
           array_join(array_sort(transform(
               filter(g.given, p -> p.member_id = s.member_id),
               p -> concat(p.topic, '-', p.partition))), ' ') AS given_to_it,
           array_join(array_sort(transform(
               s.assigned, p -> concat(p.topic, '-', p.partition))), ' ') AS got
    FROM syncs s LEFT JOIN given g ON same(g, s, broker, generation, number)
)
SELECT concat(member, ' in generation ', generation) AS subject, arrived_at AS at,
       IF(leads, NULL, size(assignments)) AS measured, IF(leads, NULL, 0) AS bound_high,
       IF(got <> given_to_it AND NOT (instance_id IS NOT NULL AND given_to_it = ''),
          clause('got "', got, '" where the leader gave it "', given_to_it, '"'), NULL)
           AS wrong,
       IF(leads, concat('the leader, which assigned ', size(assignments), ' partitions'),
          concat('follows ', led_by)) AS note, evidence
FROM compared
UNION ALL
SELECT concat(r.member, ' in generation ', r.generation), min(r.arrived_at), NULL, NULL,
       'went on in a generation and never asked for its part of it', NULL,
       min_by(r.evidence, struct(r.arrived_at, r.evidence))
FROM {own_requests} r JOIN {generations} g
  ON same(g, r, broker, generation) AND in_time_of(g, r.arrived_at)
 AND g.synced_at < after(-:slack_ms, r.arrived_at)
LEFT SEMI JOIN {joins} j ON same(j, r, member_id, generation)
LEFT ANTI JOIN {own_requests} s
  ON s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND same(s, r, member_id, generation)
WHERE r.api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND r.error_code = :NONE
GROUP BY r.member, r.member_id, r.generation
