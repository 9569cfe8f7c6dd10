-- Completed generations, and group epochs, in order of time: when and why each was begun.
--
-- `joined` is how many member ids had joined it when it was complete, `leaders` who leads it by the
-- answers to them, `answered` how many were given their part.
--
-- A group that is forgotten when it is empty begins again with generation 1, and a coordinator that
-- died before it had written a generation may come to the same one again. Such a number has several
-- rows: `since_at` is when this one began, `until_at` when the next did, else both are null.

WITH ends AS (
    SELECT broker, at AS joined_at, event, generation, evidence,
           CASE WHEN event = 'emptied' THEN 0 ELSE members END AS members
    FROM {coordinator_events}
    WHERE `group` = :group AND event IN ('stabilized', 'emptied')
    UNION ALL
    SELECT broker, joined_at, 'target_computed', generation, evidence, members
    FROM {epochs}
), done AS (
    SELECT *, row_number() OVER (ORDER BY joined_at, generation) AS number,
           -- Lines and requests may be stamped in another order within the slack.
           IF(lag(joined_at) OVER again IS NULL, NULL, after(-:slack_ms, joined_at))
               AS since_at,
           after(-:slack_ms, lead(joined_at) OVER again) AS until_at
    FROM ends
    WINDOW again AS (PARTITION BY broker, generation ORDER BY joined_at)
), begun AS (
    SELECT d.number, max(s.at) AS started_at, max_by(s.reason, s.at) AS reason,
           max_by(s.member_id, s.at) AS member_id
    FROM done d JOIN {coordinator_events} s
      ON same(s, d, broker, generation) - 1 AND s.at <= d.joined_at
    WHERE s.`group` = :group AND s.event = 'rebalance_started'
      AND d.event <> 'target_computed'
    GROUP BY d.number
), led AS (
    SELECT d.number, min(s.at) AS synced_at, min_by(s.member_id, s.at) AS leader,
           count(s.at) AS times
    FROM done d JOIN {coordinator_events} s
      ON same(s, d, broker, generation) AND s.at >= d.joined_at AND in_time_of(d, s.at)
    WHERE s.`group` = :group AND s.event = 'assignment_received'
    GROUP BY d.number
), joiners AS (
    SELECT d.number, j.member_id, j.leader,
           min(j.arrived_at) <= after(:slack_ms, d.joined_at) AS in_time
    FROM done d JOIN {joins} j
      ON same(j, d, broker, generation) AND in_time_of(d, j.processed_at)
    GROUP BY d.number, d.joined_at, j.member_id, j.leader
), formed AS (
    SELECT number, CAST(count(DISTINCT member_id) AS INT) AS joined,
           collect_set(leader) AS leaders
    FROM joiners WHERE in_time GROUP BY number
), latecomers AS (
    -- A static member that comes back joins the generation that there is, under another id.
    SELECT number, member_id FROM joiners
    GROUP BY number, member_id HAVING NOT bool_or(in_time)
), given AS (
    -- A follower of librdkafka may join again, and is given the same again.
    SELECT d.number, s.member_id, min(s.answered_at) AS at
    FROM done d JOIN {own_requests} s
      ON same(s, d, broker, generation) AND in_time_of(d, s.processed_at)
    WHERE s.api = 'SYNC_GROUP' AND s.error_code = :NONE
    GROUP BY d.number, s.member_id
), synced AS (
    SELECT x.number, max(x.at) AS completed_at, CAST(count(*) AS INT) AS answered
    FROM given x LEFT ANTI JOIN latecomers c ON same(c, x, number, member_id)
    GROUP BY x.number
)
SELECT d.number, d.broker, d.generation, d.event, d.members, d.joined_at,
       d.since_at, d.until_at,
       coalesce(b.started_at, e.started_at) AS started_at,
       coalesce(b.reason, e.reason) AS reason, coalesce(b.member_id, e.named) AS named,
       e.cause, e.assignor, coalesce(l.synced_at, e.synced_at) AS synced_at, l.leader,
       coalesce(l.times, 0) AS times, coalesce(f.joined, 0) AS joined, f.leaders,
       coalesce(s.answered, 0) AS answered,
       CASE d.event WHEN 'emptied' THEN d.joined_at
                    WHEN 'target_computed' THEN e.completed_at
                    ELSE s.completed_at END AS completed_at,
       lag(d.generation) OVER w AS generation_before,
       lag(d.members) OVER w AS members_before,
       lag(d.broker) OVER w AS broker_before, lag(l.leader) OVER w AS leader_before,
       lead(coalesce(b.started_at, e.started_at)) OVER w AS next_started_at,
       lead(d.broker) OVER w AS broker_after, d.evidence
FROM done d LEFT JOIN begun b USING (number) LEFT JOIN led l USING (number)
LEFT JOIN synced s USING (number) LEFT JOIN formed f USING (number)
LEFT JOIN {epochs} e
  ON d.event = 'target_computed' AND e.joined_at = d.joined_at
WINDOW w AS (PARTITION BY 1 ORDER BY d.number)
