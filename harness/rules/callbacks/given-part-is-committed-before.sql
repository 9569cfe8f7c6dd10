-- What a member was given is committed before it gives the partition up
-- A member with enable.auto.commit commits what it was given before it gives partitions up: when it
-- closes, when a rebalance takes them away, and with Java before each JoinGroup.
-- why: The next owner repeats all that came since the last commit, in each deploy.
-- source: ConsumerCoordinator.onJoinPrepare, close; ConsumerMembershipManager,
--   CommitRequestManager.maybeAutoCommitSyncBeforeRebalance; rd_kafka_assignment_serve_removals
-- id: X102 | rows: times at which partitions were given up | unit: partitions | measured: left
--   uncommitted | high: were given up, and what had been given of them was not committed | kind: in
--   passing, compares clocks
--
-- librdkafka commits as its application gives a partition up, and sends that when it can. Java has
-- its answer before it goes on, so records of a poll after that commit are left out, by the slowest
-- of the member's commits. A cooperative Java member hears what it gives up after it has joined,
-- and commits nothing then. Nor can it commit between JoinGroup and assignment.

-- let OUT = (:ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID, :FENCED_INSTANCE_ID, :FENCED_MEMBER_EPOCH)
--   Answers after which a member is none any more, and does not commit.

WITH {HINDERED}, slowest AS (
    SELECT member, max(ms_between(arrived_at, answered_at)) AS ms
    FROM {own_requests} WHERE api = 'OFFSET_COMMIT' GROUP BY member
), steps AS (
    SELECT *, lag(struct(api, error_code, member_id)) OVER w AS former,
           lead(arrived_at) OVER w AS next_at
    FROM {own_requests}
    WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP') OR error_code IN {OUT}
       OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0
    WINDOW w AS (PARTITION BY member ORDER BY arrived_at, evidence)
), given_up AS (
    SELECT c.member, c.topic, c.partition, c.at, count(h.at) > 0 AS closes, false AS joins
    FROM {callbacks} c LEFT JOIN {halts} h
      ON h.member = c.member AND h.what = 'close' AND h.at <= c.at
    WHERE c.event = 'revoked' GROUP BY c.member, c.topic, c.partition, c.at
    UNION ALL
    SELECT s.member, o.topic, o.partition, s.arrived_at, false, true
    FROM steps s JOIN {ownership} o
      ON o.member = s.member AND o.from_at <= s.arrived_at
     AND coalesce(o.to_at > s.arrived_at, true)
    WHERE :client = 'java' AND s.api = 'JOIN_GROUP' AND s.error_code = :NONE
      AND s.former.api = 'SYNC_GROUP' AND s.former.error_code = :NONE
      AND s.former.member_id = s.member_id
), due AS (
    SELECT g.member, g.topic, g.partition, g.at, g.joins,
           max_by(d.last_offset + 1, struct(d.polled_at, d.last_offset)) AS given
    FROM given_up g LEFT ANTI JOIN hindered h
      ON coalesce(h.member = g.member, true) AND h.from_at <= after(:session_ms, g.at)
     AND after(:session_ms, h.to_at) >= g.at
    LEFT ANTI JOIN steps s
      ON NOT g.joins AND s.member = g.member
     AND s.arrived_at <= g.at AND coalesce(s.next_at > g.at, true)
     AND (s.error_code IN {OUT}
          OR :client = 'java' AND (s.api = 'JOIN_GROUP' OR s.error_code <> :NONE))
    JOIN {ownership} o
      ON same(o, g, member, topic, partition) AND o.from_at <= g.at
     AND coalesce(o.to_at >= g.at, true) AND o.removed_at IS NULL
    LEFT JOIN slowest w ON w.member = g.member
    JOIN {deliveries} d
      ON same(d, g, member, topic, partition) AND d.polled_at >= o.from_at
     AND d.polled_at <= after(IF(:client = 'java', -:STAMP_LATE_MS - coalesce(w.ms, 0), 0), g.at)
    WHERE :commit = 'auto' AND (g.joins OR g.closes OR :client = 'librdkafka'
                                OR :protocol <> 'cooperative')
    GROUP BY g.member, g.topic, g.partition, g.at, g.joins
), compared AS (
    SELECT u.*, max(p.committed) AS committed,
           coalesce(max(p.committed) < u.given, true) AS lacking
    FROM due u LEFT JOIN {positions} p
      ON p.api = 'OFFSET_COMMIT' AND same(p, u, member, topic, partition)
     AND p.arrived_at <= after(IF(u.joins, :STAMP_LATE_MS, :session_ms), u.at)
    GROUP BY ALL
)
SELECT concat(member, IF(joins, ' (joins again)', ' (gives up)')) AS subject, at,
       count_if(lacking) AS measured, 0 AS bound_high,
       coalesce(min(clause(topic, '-', partition, ' was given up to ', given,
                           ', and committed up to ', coalesce(committed, 0)))
                    FILTER (WHERE lacking), clause(count(*), ' partitions')) AS note
FROM compared GROUP BY member, joins, at
