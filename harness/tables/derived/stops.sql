-- One row per episode and partition, and one per fault and partition that it stopped.
--
-- The parts are the times between the moments, as far as they lie within the stop: a member that
-- goes on until it hears of a rebalance does not stand still while it has not heard. A part whose
-- beginning or end is not on record is null, and its time is in `other_ms`; so is the time after
-- the cause of a stop without a rebalance, but for what the observer saw of a new leader. Of a
-- partition that was neither taken away nor given anew all is `idle_ms`, less the time in which its
-- member waited for the answer to a synchronous commit: `commit_ms`.

WITH steps AS (
    -- `least` passes over a null, which here must stay one.
    SELECT *,
           CASE WHEN episode IS NOT NULL AND assigned_at IS NULL THEN to_at
                WHEN cause_at IS NULL THEN from_at
                ELSE greatest(from_at, least(cause_at, to_at)) END AS at_cause,
           CASE WHEN noticed_at IS NOT NULL THEN least(noticed_at, to_at) END AS at_notice,
           CASE WHEN heard_at IS NOT NULL THEN least(heard_at, to_at) END AS at_heard,
           CASE WHEN revoked_at IS NOT NULL THEN least(revoked_at, to_at) END AS at_revoked,
           CASE WHEN joined_at IS NOT NULL THEN least(joined_at, to_at) END AS at_joined
    FROM {stop_moments}
),
-- A broker answers one connection's requests in order, so a commit waits behind the parked
-- JoinGroup of its own member, and a member that waits for its commit does not poll.
blocked AS (
    SELECT s.topic, s.partition, s.from_at,
           sum(ms_between(greatest(s.waits_from_at, c.asked_at),
                          least(s.to_at, c.answered_at))) AS blocked_ms
    FROM (SELECT *, IF(episode IS NULL, at_cause, from_at) AS waits_from_at FROM steps) s
    JOIN {awaited_commits} c
      ON c.member = s.old_member AND c.asked_at < s.to_at
     AND c.answered_at > s.waits_from_at
    WHERE s.assigned_at IS NULL AND s.old_member = s.new_member
      AND (s.episode IS NOT NULL OR s.noticed_at IS NULL)
    GROUP BY s.topic, s.partition, s.from_at
), in_order AS (
    SELECT *, greatest(at_cause, at_notice) AS p1,
           greatest(at_cause, at_notice, at_heard) AS p2,
           greatest(at_cause, at_notice, at_heard, at_revoked) AS p3,
           greatest(at_cause, at_notice, at_heard, at_revoked, at_joined) AS p4,
           greatest(at_cause, at_notice, at_heard, at_revoked, at_joined, assigned_at)
               AS p5,
           assigned_at IS NOT NULL AS handed, blocked_ms
    FROM steps LEFT JOIN blocked USING (topic, partition, from_at)
), parts AS (
    SELECT *,
           ms_between(from_at, at_cause)
               - IF(episode IS NULL, 0, coalesce(blocked_ms, 0)) AS idle_ms,
           CASE WHEN NOT handed THEN blocked_ms END AS commit_ms,
           CASE WHEN (handed OR episode IS NULL)
                     AND cause_at IS NOT NULL AND at_notice IS NOT NULL
                THEN ms_between(at_cause, p1) END AS detection_ms,
           CASE WHEN handed AND heard_at IS NOT NULL
                THEN ms_between(p1, p2) END AS notice_ms,
           CASE WHEN handed AND heard_at IS NOT NULL AND revoked_at IS NOT NULL
                THEN ms_between(p2, p3) END AS revoke_ms,
           CASE WHEN handed AND revoked_at IS NOT NULL AND joined_at IS NOT NULL
                THEN ms_between(p3, p4) END AS join_ms,
           CASE WHEN handed AND coalesce(joined_at, CASE WHEN :protocol = 'consumer'
                                                    THEN revoked_at END) IS NOT NULL
                THEN ms_between(p4, p5) END AS sync_ms,
           CASE WHEN handed THEN ms_between(p5, to_at)
                WHEN episode IS NULL AND at_notice IS NOT NULL
                THEN ms_between(p1, to_at) END AS first_fetch_ms
    FROM in_order
), again AS (
    SELECT s.topic, s.partition, s.from_at, sum(r.count) AS records
    FROM {redeliveries} r JOIN
         (SELECT topic, partition, from_at, to_at,
                 lead(to_at) OVER (PARTITION BY topic, partition ORDER BY to_at) AS next_at
          FROM {stop_gaps}) s ON same(s, r, topic, partition) AND r.polled_at >= s.to_at
     AND (s.next_at IS NULL OR r.polled_at < s.next_at)
    GROUP BY s.topic, s.partition, s.from_at
)
SELECT :group AS `group`, CAST(p.episode AS INT) AS episode, p.generation,
       CAST(coalesce(p.rounds, 0) AS INT) AS rounds, :protocol AS protocol, p.trigger,
       p.cause, p.subject, p.topic, p.partition, p.old_member, p.new_member, p.waited_for,
       p.from_at, p.cause_at, p.noticed_at, p.heard_at, p.given_up_at, p.revoked_at,
       p.rejoined_at, p.joined_at, p.synced_at, p.assigned_at, p.to_at, p.ms, p.usual_ms,
       handed OR p.ms > coalesce(p.usual_ms, 0) + :slack_ms AS stopped,
       p.idle_ms, p.commit_ms, p.detection_ms, p.notice_ms, p.revoke_ms, p.join_ms,
       p.sync_ms, p.first_fetch_ms,
       round(p.ms - p.idle_ms - coalesce(p.commit_ms, 0) - coalesce(p.detection_ms, 0)
             - coalesce(p.notice_ms, 0) - coalesce(p.revoke_ms, 0) - coalesce(p.join_ms, 0)
             - coalesce(p.sync_ms, 0) - coalesce(p.first_fetch_ms, 0), 3) AS other_ms,
       coalesce(a.records, 0) AS redelivered
FROM parts p LEFT JOIN again a ON same(a, p, topic, partition, from_at)
ORDER BY p.from_at, p.topic, p.partition
