-- A member holds the part that it was given
-- The callback hands a member the partitions of its part in the answer to its SyncGroup, or to its
-- heartbeat in KIP-848, and no others. In a classic group it has all of them then. In KIP-848 it
-- says of no other partition that it owns it.
-- why: A member that reads a partition of another one repeats its work, and a partition that no
--   member took up is not read.
-- source: ConsumerCoordinator.onJoinComplete; KIP-429; KIP-848, Reconciliation of the group
-- id: X69 | rows: members | unit: partitions | measured: otherwise than given | high: held other
--   partitions than it was given | kind: in passing, compares clocks
--
-- A classic callback names the generation whose part it hands over; a member that keeps partitions
-- is handed the others. In KIP-848 a member takes up its part step by step, each step after its
-- application has returned from its callbacks: so any answer counts that was the last one at some
-- time since the poll limit and a session before.

-- let SAYS = {FIRST_ODD} AS wrong, concat(count(*), ' partitions compared') AS note

WITH given AS (
    SELECT member, api, coalesce(member_epoch, generation) AS generation, processed_at, next_at,
           p.topic, p.partition
    FROM (SELECT *, lead(processed_at) OVER (
              PARTITION BY member ORDER BY processed_at, evidence) AS next_at
          FROM {own_requests}
          WHERE api IN ('SYNC_GROUP', 'CONSUMER_GROUP_HEARTBEAT') AND error_code = :NONE
            AND assigned IS NOT NULL) LATERAL VIEW explode(assigned) AS p
), handed AS (
    SELECT member, generation, event_at AS at,
           'was handed what no answer gave it: ' AS what, p.topic, p.partition
    FROM {client_events} LATERAL VIEW explode(partitions) AS p
    WHERE event = 'assigned'
    UNION ALL
    SELECT member, NULL, arrived_at, 'said that it owned what no answer gave it: ',
           p.topic, p.partition
    FROM {consumer_heartbeats} LATERAL VIEW explode(owned) AS p
    UNION ALL
    SELECT member, NULL, arrived_at, 'asked for the position of what no answer gave it: ',
           topic, partition
    FROM {positions} LEFT SEMI JOIN {members} USING (member) WHERE api = 'OFFSET_FETCH'
), taken AS (
    SELECT h.member, h.at, h.what, h.topic, h.partition, count(g.processed_at) AS times
    FROM handed h LEFT JOIN given g
      ON same(g, h, member, topic, partition)
     AND (:protocol <> 'consumer' AND g.generation = h.generation
          -- A client that was put out in between names the generation before.
          OR (h.generation IS NULL OR :protocol = 'consumer' OR g.generation > h.generation)
             AND g.processed_at <= after(:STAMP_LATE_MS, h.at)
             AND (g.next_at IS NULL
                  OR g.next_at >= after(-:max_poll_ms - :session_ms, h.at)))
    GROUP BY h.member, h.at, h.what, h.topic, h.partition
), missed AS (
    SELECT e.member, e.event_at AS at, 'was not handed a part of its answer: ' AS what,
           g.topic, g.partition, count(o.from_at) AS times
    FROM {client_events} e JOIN given g
      ON same(g, e, member, generation) AND g.api = 'SYNC_GROUP'
    LEFT JOIN {ownership} o
      ON same(o, g, member, topic, partition)
     AND o.from_at <= after(:slack_ms, coalesce(e.observed_at, e.event_at))
     AND (o.to_at IS NULL OR o.to_at >= coalesce(e.observed_at, e.event_at))
    WHERE e.event = 'assigned' AND :protocol <> 'consumer'
    GROUP BY e.member, e.event_at, g.topic, g.partition
), said AS (
    SELECT member, arrived_at, generation, owned,
           transform(owned, p -> concat(p.topic, '-', p.partition)) AS names,
           lead(arrived_at) OVER (PARTITION BY member ORDER BY arrived_at, evidence) AS next_at
    FROM {consumer_heartbeats} WHERE owned IS NOT NULL OR generation < 0
), out_of_turn AS (
    SELECT s.member, s.arrived_at AS at,
           'said that it owned what no callback gave it: ' AS what, s.topic, s.partition,
           count(o.from_at) AS times
    FROM (SELECT member, arrived_at, p.topic, p.partition
          FROM said LATERAL VIEW explode(owned) AS p WHERE generation >= 0) s
    LEFT JOIN {ownership} o
      ON same(o, s, member, topic, partition)
     AND o.from_at <= after(:slack_ms, s.arrived_at)
     AND (o.to_at IS NULL OR o.to_at >= after(-:STAMP_LATE_MS, s.arrived_at))
    GROUP BY s.member, s.arrived_at, s.topic, s.partition
), together AS (
    SELECT s.member, s.names, o.topic, o.partition,
           greatest(s.arrived_at, o.from_at) AS from_at, least(s.next_at, o.to_at) AS to_at
    FROM said s JOIN {ownership} o USING (member)
    WHERE s.generation >= 0 AND o.removed_at IS NULL
), kept_silent AS (
    SELECT t.member, t.from_at AS at, 'did not say that it owned: ' AS what, t.topic, t.partition,
           IF(array_contains(names, concat(t.topic, '-', t.partition)), 1, 0) AS times
    FROM together t LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member = t.member, true) AND d.from_at <= t.to_at
     AND d.to_at >= t.from_at
    WHERE ms_between(t.from_at, t.to_at) > :heartbeat_ms + :slack_ms
), judged AS (
    SELECT concat(member, ' (part)') AS subject, at, CAST(NULL AS STRING) AS evidence,
           IF(times = 0, concat(what, topic, '-', partition), NULL) AS odd
    FROM (SELECT * FROM taken UNION ALL SELECT * FROM missed
          UNION ALL SELECT * FROM out_of_turn UNION ALL SELECT * FROM kept_silent)
)
{ODD_ONES} GROUP BY subject
