-- A rebalance lasts a fixed number of heartbeat intervals
-- Each round of a rebalance lasts at most one heartbeat interval plus the work in progress until
-- the next poll, however many members there are. An eager rebalance has one round and a cooperative
-- one two; in KIP-848 the old owner has one and the new owner one.
-- why: heartbeat.interval.ms, not the size of the group, decides how long the group does no work.
-- source: document 003, HEARTBEAT; KIP-429; KIP-848
-- id: X34 | rows: changes of the group | unit: intervals | measured: from the coordinator's notice
--   to the last join | high: lasted too long | delayed by: members, toxiproxy, brokers | headline:
--   join cost
--
-- A member rejoins when it polls next, so the work of one batch comes on top of each round. Where
-- several changes fell into one episode, each has its rounds. A leader that gave something up may
-- join again before another member has its part: that SyncGroup is refused, which costs one round
-- more.
--
-- Not examined is a change that came into a stall, or whose heartbeats a fault held up, or in which
-- a silent member's session ended. Nor is the gathering of a KIP-848 group of Java members: several
-- that join within one target have the rounds of one, and 14 gatherings took up to 2.14 of 2.3
-- intervals, where no later change took more than 1.11.

WITH split AS (
    -- Generations that some members have their part of, and others were refused it.
    SELECT e.number
    FROM {episodes} e JOIN {own_requests} r
      ON r.api = 'SYNC_GROUP' AND r.generation = e.generation
     AND r.arrived_at BETWEEN e.first_at AND e.last_at
    GROUP BY e.number
    HAVING count_if(r.error_code = :NONE) > 0
       AND count_if(r.error_code = :REBALANCE_IN_PROGRESS) > 0
), changes AS (
    -- No member joins in the consumer protocol: it is over when the last has its part.
    SELECT episode, min(first_at) AS at, count(*) AS rounds,
           max(IF(:protocol = 'consumer', ended_at, joined_at)) AS joined_at,
           count_if(trigger IN ('join', 'leave', 'expiry', 'fenced', 'metadata'))
               * IF(:protocol = 'eager', 1, 2)
               + count_if(:protocol = 'cooperative' AND s.number IS NOT NULL) AS most,
           min_by(trigger, number) AS trigger, min_by(trigger_member, number) AS member,
           max_by(members_after, number) AS members,
           min_by(members_before, number) AS members_before,
           max_by(generation, number) AS generation
    FROM {episodes} LEFT JOIN split s USING (number) GROUP BY episode
), timed AS (
    SELECT x.*, concat(rounds, IF(rounds = 1, ' round', ' rounds'),
                       coalesce(concat(' among ', members, ' members'), '')) AS counted,
           ms_between(at, joined_at) / :heartbeat_ms AS intervals,
           most * (1 + (:cadence_ms + :slack_ms + poll_ms) / :heartbeat_ms) AS bound
    FROM changes x CROSS JOIN (
        SELECT coalesce(max(process_us * batch_records) / 1e3, 0) AS poll_ms
        FROM {members} WHERE role = 'consumer')
    LEFT ANTI JOIN {client_events} s
      ON s.event IN ('stall_started', 'callback_stall_started') AND s.event_at < x.joined_at
     AND after(s.duration_ms, s.event_at) > x.at
    LEFT ANTI JOIN {disturbances} d
      ON coalesce(d.member <> x.member, true)
     AND d.from_at <= x.joined_at AND d.to_at >= x.at
    LEFT ANTI JOIN {evictions} v
      ON v.evicted_at > x.at AND v.evicted_at <= after(:rounding_ms, x.joined_at)
    WHERE trigger IN ('join', 'leave', 'expiry') AND members_before > 0
      AND joined_at IS NOT NULL
      AND NOT (:client = 'java' AND :protocol = 'consumer' AND at < :steady_at)
)
SELECT concat(trigger, coalesce(concat(' of ', member), ''), ', generation ', generation)
           AS subject,
       at, round(intervals, 3) AS measured, round(bound, 3) AS bound_high,
       IF(:protocol <> 'consumer' AND rounds > most, clause('took ', counted), NULL)
           AS wrong,
       counted AS note, guard_from(at, joined_at) AS guard_from,
       guard_to(joined_at) AS guard_to
FROM timed
