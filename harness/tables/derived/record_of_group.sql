-- What brokers have on record of the group under test: a row for requests, one for events.
--
-- Each is held against the other, and against what members know; and a row for each killed member,
-- which closes no journal, of whose end others show something that its journal lacks. Members that
-- break rules on purpose may well do what their journals lack.
--
-- Law: after a killed member's last batch or commit on record no broker gets a commit of it that it
-- did not ask for, or of records that it did not get; nor does it live on for 5 s with records to
-- read and nothing that keeps it from reading.

WITH killed AS (
    SELECT m.member, any_value(m.commit) AS commit, any_value(m.journal_frames) AS frames,
           :QUIET_MS + coalesce(max(m.batch_records * m.process_us) / 1e3, 0) AS busy_ms,
           max(greatest(m.started_at, w.at)) AS last_at
    FROM {members} m LEFT JOIN (
        SELECT member, greatest(polled_at, processed_at) AS at FROM {deliveries}
        UNION ALL SELECT member, greatest(asked_at, answered_at) FROM {commits}) w
      ON w.member = m.member
    WHERE m.`end` = 'killed' AND m.role = 'consumer' AND m.client <> 'app'
      AND m.sabotage IS NULL
    GROUP BY m.member
), unasked AS (
    SELECT k.member, count(*) AS commits
    FROM killed k JOIN {positions} p
      ON p.member = k.member AND p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
     AND p.arrived_at > after(-:slack_ms, k.last_at)
    LEFT ANTI JOIN {commits} c ON same(c, p, member, topic, partition, committed)
    WHERE k.commit <> 'auto' GROUP BY k.member
), unread AS (
    -- The library commits by itself what it has handed out, or where it began to read.
    SELECT k.member, count(*) AS commits
    FROM killed k JOIN {positions} p
      ON p.member = k.member AND p.api = 'OFFSET_COMMIT' AND p.arrived_at > k.last_at
    LEFT SEMI JOIN (
        SELECT member, topic, partition FROM {deliveries}
        UNION ALL SELECT member, topic, partition FROM {positions}
        WHERE api = 'OFFSET_FETCH' AND committed >= 0) b
      ON same(b, p, member, topic, partition)
    LEFT ANTI JOIN (
        SELECT member, topic, partition, last_offset + 1 AS up_to FROM {deliveries}
        UNION ALL SELECT member, topic, partition, committed FROM {positions}
        WHERE api IN ('OFFSET_FETCH', 'LIST_OFFSETS')) d
      ON same(d, p, member, topic, partition) AND d.up_to >= p.committed
    WHERE k.commit = 'auto' GROUP BY k.member
), living AS (
    SELECT k.member, k.busy_ms, k.last_at, max(r.arrived_at) AS lived_at
    FROM killed k JOIN {own_requests} r ON r.member = k.member
    GROUP BY k.member, k.busy_ms, k.last_at
), idle AS (
    SELECT l.member, ms_between(l.last_at, l.lived_at) AS ms
    FROM living l LEFT SEMI JOIN (
        SELECT o.member, s.last_answered_at AS at FROM {ownership} o JOIN {sends} s
          ON same(s, o, topic, partition) AND s.outcome = 'acknowledged'
         AND s.last_answered_at >= o.from_at
         AND s.last_answered_at < coalesce(o.to_at, :ended_at)) s
      ON s.member = l.member AND s.at > l.last_at AND s.at < after(-l.busy_ms, l.lived_at)
    LEFT ANTI JOIN {fault_windows} f
      ON f.injecting_at < l.lived_at
     AND coalesce(f.healed_at, f.injected_at, :ended_at) >= l.last_at
), own AS (
    SELECT count(*) AS requests, max(answered_at) AS at FROM {own_requests}
), unheard AS (
    SELECT count(*) AS commits, min_by(c.member, struct(c.at, c.member)) AS member,
           min(c.at) AS at
    FROM (SELECT *, coalesce(asked_at, answered_at) AS at FROM {commits}
          WHERE error_code = :NONE AND how <> 'external') c
    -- A broker logs what it has answered, unless it is killed in between.
    LEFT ANTI JOIN {fault_windows} f
      ON f.breaks = 'broker' AND f.killed AND c.answered_at <= f.injected_at
     AND c.answered_at >= after(-:slack_ms, f.injecting_at)
    LEFT ANTI JOIN {positions} p
      ON p.api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT')
     AND same(p, c, member, topic, partition, committed)
), events AS (
    SELECT count(*) AS lines, max(at) AS at FROM {coordinator_events}
    WHERE `group` = :group
), departures AS (
    SELECT count(*) AS members, min(r.member_id) AS member_id
    FROM {own_requests} r
    LEFT ANTI JOIN {coordinator_events} e
      ON e.`group` = :group AND e.event IN ('left', 'left_for_now')
     AND e.member_id = r.member_id
    WHERE r.error_code = :NONE
      AND (r.api = 'LEAVE_GROUP'
           OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)
), given AS (
    SELECT DISTINCT CASE api WHEN 'JOIN_GROUP' THEN generation ELSE member_epoch END AS generation
    FROM {own_requests}
    WHERE api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT') AND error_code = :NONE
), generations AS (
    SELECT count(*) AS times, min(g.generation) AS generation
    FROM given g
    LEFT ANTI JOIN {coordinator_events} e
      ON e.`group` = :group AND e.generation = g.generation
     AND e.event IN ('stabilized', 'epoch_bumped', 'target_computed')
    WHERE g.generation > 0
)
SELECT 'request log' AS subject, o.at, requests AS measured,
       CASE WHEN requests = 0 THEN 'has no request of the group'
            WHEN commits > 0
            THEN clause('lacks ', commits, ' commits that were accepted, the first of ',
                        member)
            END AS unknown,
       CAST(NULL AS STRING) AS note, 'requests' AS files
FROM own o CROSS JOIN unheard
UNION ALL
SELECT 'coordinator log', e.at, lines,
       CASE WHEN lines = 0 THEN 'has no line of the group'
            WHEN members > 0
            THEN clause('does not tell that ', member_id, ' left, as ', members,
                        ' members asked to')
            WHEN times > 0
            THEN clause('does not tell of generation ', generation, ', nor of ',
                        times - 1, ' others that members were given')
            END,
       NULL, 'coordinator_events'
FROM events e CROSS JOIN departures CROSS JOIN generations
UNION ALL
SELECT concat('end of the journal of ', k.member), k.last_at, k.frames,
       CASE WHEN a.commits > 0
            THEN clause('lacks ', a.commits, ' commits that brokers got from its member')
            WHEN u.commits > 0
            THEN clause('lacks the records of ', u.commits,
                        ' commits that brokers got from its member')
            ELSE clause('lacks the last ', round(i.ms / 1e3, 1),
                        ' s of its member, which had records to read')
            END,
       NULL, '{OF_CONSUMERS}'
FROM killed k LEFT JOIN unasked a ON a.member = k.member
LEFT JOIN unread u ON u.member = k.member LEFT JOIN idle i ON i.member = k.member
WHERE coalesce(a.member, u.member, i.member) IS NOT NULL
