-- A group rebalances for known causes only
-- The group rebalances, or takes a partition from a member, only if a member comes, goes, is silent
-- for a session or has to join again, or if partitions are added. A slow link, a lost controller or
-- time alone is no cause.
-- why: An unexplained rebalance has a cause that is worth looking for.
-- source: document 002, rebalance conditions (that there are no others)
-- id: R20f | rows: rebalances, departures and partitions given up
--
-- The cause of a rebalance has to be in the coordinator's log beside it and be what the reason
-- names. A member that joined or left must have asked for it. A member that was there already and
-- joins again needs a reason: it has to give up a partition that it had (cooperative), it offers
-- other assignors, it was refused something, its topic has got partitions, or the answer that gave
-- it its part may have been lost.
--
-- Law: a member gives up a partition only after an answer that makes it do so, later than the
-- answer that gave it its last part though maybe before its application heard of that, or by its
-- own end.

-- let NEAR_MS = 1000
--   How far the line, or the request, that causes a rebalance stands from the line that says it
--   started (measured: 1 ms, 50 ms on a busy machine, and 159 ms on a coordinator that had just
--   been resumed).
-- let CAUSE_NOTICED_MS = 3000
--   How long a client that notices new partitions only by its own refresh may take beyond it.

WITH starts AS (
    SELECT at, event, generation, evidence, reason,
           CASE WHEN event = 'epoch_bumped' THEN 'bump'
                WHEN reason LIKE 'Adding new member%' THEN 'join'
                WHEN reason LIKE '%heartbeat expiration%' THEN 'expiry'
                WHEN reason RLIKE '(?i)leavegroup' THEN 'leave'
                WHEN reason RLIKE '(?i)re-?joining|updating metadata' THEN 'rejoin'
                ELSE 'other' END AS claims,
           nullif(regexp_extract(reason,
               '([-_.\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), '') AS named,
           lag(reason) OVER (PARTITION BY event ORDER BY at, generation) AS reason_before
    FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('rebalance_started', 'epoch_bumped')
), noticed AS (
    -- What the coordinator noticed of members, and whether the member's request is on record.
    SELECT l.at, l.event, l.member_id, l.evidence,
           -- A request's times count back from its line, which a busy broker stamps late.
           l.event NOT IN ('member_added', 'left') OR count(r.arrived_at) > 0 AS asked,
           -- A classic member of a group that was converted is added once more.
           l.event = 'member_added' AND coalesce(lag(l.event) OVER (
               PARTITION BY l.member_id ORDER BY l.at) = 'member_added', false)
               AND NOT coalesce(max(l.reason) LIKE '% using the classic protocol', false)
               AS twice
    FROM {coordinator_events} l LEFT JOIN {own_requests} r
      ON r.member_id = l.member_id AND r.arrived_at <= after(:NEAR_MS, l.at)
     AND CASE l.event WHEN 'member_added' THEN r.api = 'JOIN_GROUP'
                           OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0
                      WHEN 'left' THEN r.api = 'LEAVE_GROUP'
                           OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0 END
    WHERE l.`group` = :group AND l.event IN ('member_added', 'left', 'left_for_now', 'evicted',
        'fenced', 'replaced', 'stragglers_removed', 'upgraded', 'downgraded')
    GROUP BY l.at, l.event, l.member_id, l.evidence
), topics AS (
    SELECT injecting_at AS from_at, after(:metadata_refresh_ms + :CAUSE_NOTICED_MS,
                                          coalesce(healed_at, injected_at)) AS to_at
    FROM {fault_windows} WHERE breaks = 'topic'
), given AS (
    -- By generations: the line of an answer may be stamped after the rejoin that it led to.
    SELECT member_id, generation, assigned, lag(assigned) OVER w AS assigned_before,
           lead(generation) OVER w AS next
    FROM {own_requests} WHERE api = 'SYNC_GROUP' AND error_code = :NONE
    WINDOW w AS (PARTITION BY member_id ORDER BY generation, processed_at)
), offered AS (
    SELECT member_id, arrived_at, processed_at, assignors,
           lag(assignors) OVER (PARTITION BY member_id ORDER BY arrived_at) AS assignors_before
    FROM {joins}
), judged AS (
    SELECT s.*, count(n.at) AS lines, count_if(n.twice) > 0 AS twice,
           count(t.from_at) > 0 AS topics, count(d.fault) > 0 AS troubled,
           -- A member with an accepted heartbeat was given its part.
           count_if(q.api = 'HEARTBEAT' AND q.error_code = :NONE) > 0 AS settled,
           count_if(q.error_code NOT IN (:NONE, {NOT_READY})) > 0
               OR count_if(o.assignors <> o.assignors_before) > 0
               OR count_if(exists(g.assigned_before, p -> NOT array_contains(g.assigned, p))) > 0
               -- The leader may assign to a process whose place was taken (KIP-345), so that a
               -- coordinator that waits for the assignment begins anew.
               OR count_if(n.event = 'replaced') > 0 AND count(a.at) = 0 AS has_reason,
           IF(s.claims = 'rejoin', count(o.arrived_at),
              IF(count(n.at) > 0, count_if(n.asked), 1)) = 0 AS unheard
    FROM starts s LEFT JOIN noticed n
      ON n.at >= after(-:NEAR_MS, s.at) AND n.at <= after(:slack_ms, s.at)
     AND (s.named IS NULL OR n.member_id = s.named OR n.event = 'replaced')
     AND CASE s.claims WHEN 'join' THEN n.event = 'member_added'
                       WHEN 'expiry' THEN n.event = 'evicted'
                       WHEN 'leave' THEN n.event = 'left' ELSE true END
    LEFT JOIN topics t ON t.from_at <= s.at AND t.to_at >= s.at
    LEFT JOIN {fault_windows} d
      ON d.disturbs_heartbeats AND d.injecting_at <= s.at
     AND after(:session_ms, coalesce(d.healed_at, :ended_at)) >= s.at
    LEFT JOIN offered o
      ON s.claims = 'rejoin' AND o.member_id = s.named
     AND o.arrived_at <= after(:STAMP_LATE_MS, s.at)
     AND o.processed_at >= after(-:slack_ms, s.at)
    LEFT JOIN given g
      ON s.claims = 'rejoin' AND g.member_id = s.named AND g.generation <= s.generation
     AND coalesce(g.next > s.generation, true)
    LEFT JOIN {own_requests} q
      ON s.claims = 'rejoin' AND q.member_id = s.named AND q.generation = s.generation
     AND q.answered_at <= s.at AND q.api IN ('HEARTBEAT', 'OFFSET_COMMIT', 'SYNC_GROUP')
    LEFT JOIN {coordinator_events} a
      ON a.`group` = :group AND a.event = 'assignment_received'
     AND a.generation = s.generation AND a.at <= s.at
    GROUP BY ALL
), answers AS (
    -- In KIP-848 one to a member that stays gives what the answer before it had not.
    SELECT member, arrived_at AS at, assigned,
           IF(api = 'SYNC_GROUP' OR generation <= 0, NULL, lag(assigned) OVER (
               PARTITION BY member_id ORDER BY arrived_at, evidence)) AS before
    FROM {own_requests}
    WHERE api IN ('SYNC_GROUP', 'CONSUMER_GROUP_HEARTBEAT') AND error_code = :NONE
      AND assigned IS NOT NULL
), gave AS (
    -- The application hears of each by its next callback that names nothing else.
    SELECT a.member, a.at, min(c.event_at) AS heard_at
    FROM answers a JOIN {client_events} c
      ON c.member = a.member AND c.event = 'assigned' AND c.event_at >= a.at
     AND size(c.partitions) > 0
     AND NOT exists(c.partitions, p -> NOT array_contains(a.assigned, p))
     AND (a.before IS NULL OR exists(c.partitions, p -> NOT array_contains(a.before, p)))
    GROUP BY a.member, a.at
), taken AS (
    SELECT c.member, c.event, c.event_at AS at, size(c.partitions) AS partitions,
           max(struct(a.event_at AS at, coalesce(g.at, a.event_at) AS given_at)) AS since
    FROM {client_events} c LEFT JOIN {client_events} a
      ON a.member = c.member AND a.event = 'assigned' AND a.event_at < c.event_at
    LEFT JOIN gave g ON g.member = a.member AND g.heard_at = a.event_at
    WHERE c.event IN ('revoked', 'lost') AND size(c.partitions) > 0
    GROUP BY c.member, c.event, c.event_at, c.partitions
), causes AS (
    -- Answers that are no plain "stay", and ends of its own. They count from their arrival, which a
    -- line that is stamped late puts too late as well.
    SELECT member, arrived_at AS at, CAST(NULL AS TIMESTAMP) AS begun_at FROM {own_requests}
    WHERE api IN ('HEARTBEAT', 'OFFSET_COMMIT') AND error_code NOT IN (:NONE, {NOT_READY})
       OR api IN ('JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP')
       OR api = 'CONSUMER_GROUP_HEARTBEAT'
          AND (error_code <> :NONE OR assigned IS NOT NULL OR generation <= 0)
    UNION ALL
    SELECT member, event_at, NULL FROM {client_events}
    WHERE event IN ('closing', 'session_timed_out', 'max_poll_exceeded')
    UNION ALL
    -- An application that stalled, or was busy for longer than an interval of heartbeats, hears
    -- of its assignment when the next is under way already.
    SELECT member, after(:NEAR_MS + coalesce(duration_ms, 0), event_at), event_at
    FROM {client_events} WHERE event IN ('stall_started', 'callback_stall_started')
    UNION ALL
    SELECT member, after(:NEAR_MS, to_at), from_at FROM {busy}
    WHERE reason IN ('commit', 'work') AND to_at > after(:heartbeat_ms, from_at)
), given_up AS (
    SELECT h.member, h.event, h.at, h.partitions, count(c.at) + count(o.from_at) AS causes
    FROM taken h LEFT JOIN causes c
      ON c.member = h.member
     AND IF(c.begun_at IS NULL,
            c.at > h.since.given_at AND c.at <= after(:STAMP_LATE_MS, h.at),
            c.at > h.since.at AND c.begun_at <= h.since.at)
    LEFT JOIN topics o ON o.from_at <= h.at AND o.to_at >= h.at
    GROUP BY h.member, h.event, h.at, h.partitions
)
SELECT concat(IF(event = 'epoch_bumped', 'epoch ', 'rebalance of generation '),
              generation) AS subject, at,
       CASE WHEN claims = 'rejoin' AND NOT unheard AND NOT has_reason
                 AND NOT topics AND (settled OR NOT troubled)
            THEN clause('began although its member had no reason to join again: ', reason)
            WHEN claims = 'bump' AND reason <> reason_before AND topics THEN NULL
            WHEN claims <> 'rejoin' AND lines = 0
            THEN clause('began without a cause on record: ', reason)
            WHEN twice THEN clause('began for a member that had joined already: ', reason)
            WHEN unheard AND NOT troubled
            THEN clause('began for what no member had asked for: ', reason) END AS wrong,
       IF(unheard AND troubled,
          'the request for it may be on no log, while a broker or a link was disturbed',
          NULL) AS unknown,
       concat('the coordinator''s reason: ', reason) AS note, evidence
FROM judged
UNION ALL
SELECT concat(member, ' (', event, ')'), at,
       IF(causes = 0,
          clause('gave up ', partitions, IF(partitions = 1, ' partition', ' partitions'),
                 ' without a reason'), NULL),
       NULL, concat('gave up ', partitions), NULL
FROM given_up
UNION ALL
SELECT concat(n.member_id, ' (left)'), n.at,
       IF(n.asked OR count(d.fault) > 0, NULL, 'left without having asked for it'),
       IF(n.asked OR count(d.fault) = 0, NULL,
          'the request for it may be on no log, while a broker or a link was disturbed'),
       CAST(NULL AS STRING), n.evidence
FROM noticed n LEFT JOIN {fault_windows} d
  ON d.disturbs_heartbeats AND d.injecting_at <= n.at
 AND after(:session_ms, coalesce(d.healed_at, :ended_at)) >= n.at
WHERE n.event = 'left'
GROUP BY n.member_id, n.at, n.asked, n.evidence
