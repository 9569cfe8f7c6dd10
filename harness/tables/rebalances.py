"""`rebalances`: one row per generation of the group."""

from typing import Final

BUCKET_S: Final = 10  # standstills and rebalances are joined within buckets of time


def rebalances() -> str:
    """One row per generation that the coordinator completed, those of an emptied group included.

    In a group of KIP-848 it is one per group epoch that got a target assignment: see `epochs`.

    It starts with the last "Preparing to rebalance" of its old generation on the same broker; it
    is complete when the last member that it waited for has its part: who joins a generation later,
    or again, is only told what it has. `partitions_moved` and `_kept` compare the group leader's
    assignment with the one before, by process: a member that came back under another member id and
    got its partition again has kept it. `partitions_revoked` counts callbacks (revoked or lost)
    since the one before was complete: a member that closes gives up what it has before it leaves,
    and in a cooperative rebalance before it joins again.
    """
    return """
        {REBALANCES}
    """


def standstills() -> str:
    """Per generation and partition, the longest time that no member processed the partition.

    The times meant are those between the end of the work on everything delivered before (as long
    as it was declared to take: a stall is no work) and the next poll that returned records, by
    whichever member, and only such as overlap the rebalance from its start to its completion.
    Waiting for new records counts too, so at low rates a standstill has a floor of one record's
    interval.
    """
    return """
        WITH still AS (
            SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
                   explode(sequence(unix_seconds(busy_until) DIV :BUCKET_S,
                                    unix_seconds(polled_at) DIV :BUCKET_S)) AS bucket
            FROM {progress} WHERE busy_until < polled_at
        ), around AS (
            SELECT generation, joined_at, started_at,
                   coalesce(completed_at, joined_at) AS completed_at,
                   explode(sequence(unix_seconds(started_at) DIV :BUCKET_S,
                       unix_seconds(coalesce(completed_at, joined_at)) DIV :BUCKET_S)) AS bucket
            FROM {generations} WHERE started_at IS NOT NULL
        )
        SELECT r.generation, r.joined_at, s.topic, s.partition,
               max(ms_between(s.from_at, s.to_at)) AS ms
        FROM around r JOIN still s
          ON s.bucket = r.bucket AND s.from_at <= r.completed_at AND s.to_at >= r.started_at
        GROUP BY r.generation, r.joined_at, s.topic, s.partition
    """


def epochs() -> str:
    """Group epochs of KIP-848 for which the coordinator computed a target assignment.

    Epochs that were passed over, because the next came before anybody's heartbeat had one computed,
    belong to the one that was: it starts with the first of them. `synced_at` is when all members
    that were to stay had been told this epoch, `completed_at` when the last change of an assignment
    had been; both null if the next target came before. `cause` is the line before the epoch was
    bumped, or "metadata" where the topics had changed. Lines of one moment are in the order of the
    log.
    """
    return """
        WITH lines AS (
            SELECT *, lag(struct(event, member_id, reason)) OVER w AS line_before
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('member_added', 'left', 'left_for_now', 'evicted',
                'fenced', 'epoch_bumped', 'target_computed', 'loaded', 'upgraded')
            WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
        ), bumps AS (
            SELECT at, generation, reason,
                   CASE WHEN line_before.event NOT IN ('epoch_bumped', 'target_computed', 'loaded')
                        THEN line_before END AS line,
                   lag(reason) OVER w AS reason_before, row_number() OVER w AS place
            FROM lines WHERE event = 'epoch_bumped'
            WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
        ), targets AS (
            SELECT broker, generation, at, reason AS assignor, evidence,
                   lag(generation) OVER w AS generation_before, lead(at) OVER w AS next_at
            FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
            WINDOW w AS (PARTITION BY 1 ORDER BY at, length(evidence), evidence)
        ), begun AS (
            SELECT x.at, min(b.at) AS started_at,
                   min_by(coalesce(b.line.reason, b.reason), b.place) AS reason,
                   min_by(b.line.member_id, b.place) AS named,
                   min_by(coalesce(b.line.event, CASE WHEN b.reason <> b.reason_before
                                                      THEN 'metadata' END), b.place) AS cause
            FROM targets x JOIN bumps b
              ON b.generation <= x.generation AND b.at <= x.at
             AND (x.generation_before IS NULL OR b.generation > x.generation_before)
            GROUP BY x.at
        ), present AS (
            SELECT x.at, x.generation, x.next_at, m.member_id,
                   coalesce(m.removed_at < x.next_at, false) AS goes
            FROM targets x JOIN {memberships} m
              ON m.joined_at <= x.at AND (m.removed_at IS NULL OR m.removed_at > x.at)
        ),
        -- Answers that tell a member this epoch; a classic member of such a group is told by SYNC.
        -- A new coordinator tells members again what they have: that changes nothing.
        answers AS (
            SELECT member_id, processed_at, answered_at, arrived_at,
                   assigned IS NOT NULL AND coalesce(
                       array_sort(assigned) <> array_sort(last_value(assigned, true) OVER (
                           PARTITION BY member_id ORDER BY arrived_at {BEFORE})), true) AS changes,
                   CASE api WHEN 'SYNC_GROUP' THEN generation ELSE member_epoch END AS epoch
            FROM {requests}
            WHERE `group` = :group AND error_code = 0 AND generation >= 0
              AND api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
        ), told AS (
            SELECT p.at, p.member_id, p.goes, min(a.answered_at) AS first_at,
                   max(a.answered_at) FILTER (
                       WHERE a.changes
                         AND (p.next_at IS NULL OR a.processed_at < p.next_at)) AS last_at
            FROM present p LEFT JOIN answers a
              ON a.member_id = p.member_id AND a.epoch = p.generation AND a.processed_at >= p.at
             AND (p.next_at IS NULL OR a.arrived_at < p.next_at)
            GROUP BY p.at, p.member_id, p.goes
        ), followed AS (
            SELECT at, CAST(count(*) AS INT) AS members,
                   CASE WHEN count_if(NOT goes AND first_at IS NULL) = 0
                        THEN max(first_at) END AS synced_at,
                   max(last_at) AS last_at
            FROM told GROUP BY at
        )
        SELECT x.broker, x.generation, x.at AS joined_at, x.assignor, x.evidence,
               coalesce(f.members, 0) AS members, b.started_at, b.reason, b.named, b.cause,
               f.synced_at, CASE WHEN f.synced_at IS NOT NULL
                                 THEN greatest(f.synced_at, f.last_at) END AS completed_at
        FROM targets x LEFT JOIN begun b ON b.at = x.at LEFT JOIN followed f ON f.at = x.at
    """


def generations() -> str:
    """Completed generations, and group epochs, in order of time: when and why each was begun.

    `joined` is how many member ids had joined it when it was complete, `leaders` whom they were
    told to be led by, `answered` how many were given their part.

    A group that is forgotten when nobody is in it begins again with generation 1, and a coordinator
    that died before it had written a generation may come to the same one again. Such a number has
    several rows: `since_at` is when this one began, `until_at` when the next did, both null where
    there is no other.
    """
    return """
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
        ),
        -- Who joined before it was complete, whom these were told to be led by, and how many of its
        -- members were given their part.
        formed AS (
            SELECT d.number, CAST(count(DISTINCT j.member_id) AS INT) AS joined,
                   collect_set(j.leader) AS leaders
            FROM done d JOIN {requests} j ON same(j, d, broker, generation)
             AND in_time_of(d, j.processed_at)
            WHERE j.`group` = :group AND j.api = 'JOIN_GROUP' AND j.error_code = 0
              AND j.arrived_at <= after(:slack_ms, d.joined_at)
            GROUP BY d.number
        ),
        -- A static member that comes back joins the generation that there is, under another id.
        -- Within slack it may be the line of a member's own request that was stamped late.
        latecomers AS (
            SELECT d.number, j.member_id
            FROM done d JOIN {requests} j ON same(j, d, broker, generation)
             AND in_time_of(d, j.processed_at)
            WHERE j.`group` = :group AND j.api = 'JOIN_GROUP' AND j.error_code = 0
            GROUP BY d.number, d.joined_at, j.member_id
            HAVING min(j.arrived_at) > after(:slack_ms, d.joined_at)
        ), told AS (
            -- A follower of librdkafka may join again, and is told the same again (X16).
            SELECT d.number, s.member_id, min(s.answered_at) AS at
            FROM done d JOIN {requests} s ON same(s, d, broker, generation)
             AND in_time_of(d, s.processed_at)
            WHERE s.`group` = :group AND s.api = 'SYNC_GROUP' AND s.error_code = 0
            GROUP BY d.number, s.member_id
        ), synced AS (
            SELECT x.number, max(x.at) AS completed_at, CAST(count(*) AS INT) AS answered
            FROM told x LEFT ANTI JOIN latecomers c ON same(c, x, number, member_id)
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
    """


REBALANCES: Final = """
WITH joins AS (
    SELECT broker, generation, max(protocol_name) AS assignor, max(leader) AS leader
    FROM {requests}
    WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
    GROUP BY broker, generation
), owners AS (
    -- A static member is the same one in whichever process it lives.
    SELECT broker, generation, topic, partition, at, coalesce(instance_id, member) AS member,
           lag(coalesce(instance_id, member)) OVER (PARTITION BY topic, partition ORDER BY at)
               AS member_before
    FROM {assignments}
), changes AS (
    SELECT g.number, CAST(count_if(o.member <> o.member_before) AS INT) AS moved,
           CAST(count_if(o.member = o.member_before) AS INT) AS kept
    FROM {generations} g JOIN owners o ON same(o, g, broker, generation) AND in_time_of(g, o.at)
    GROUP BY g.number
), ends AS (
    SELECT number, coalesce(completed_at, joined_at) AS ended_at,
           lag(coalesce(completed_at, joined_at)) OVER (ORDER BY number) AS ended_before
    FROM {generations}
), revocations AS (
    SELECT g.number, CAST(count(*) AS INT) AS revoked
    FROM ends g JOIN {callbacks} e
      ON e.event_at <= g.ended_at AND (g.ended_before IS NULL OR e.event_at > g.ended_before)
    WHERE e.event <> 'assigned' GROUP BY g.number
), still AS (
    SELECT generation, joined_at, max(ms) AS longest_ms,
           array_sort(collect_list(struct(topic, partition, ms))) AS each
    FROM {standstills} GROUP BY generation, joined_at
), named AS (
    SELECT *, CASE WHEN cause = 'member_added' THEN 'join'
                   WHEN cause IN ('left', 'left_for_now') THEN 'leave'
                   WHEN cause = 'evicted' THEN 'expiry'
                   WHEN cause IN ('fenced', 'metadata') THEN cause
                   WHEN reason LIKE 'Adding new member%' THEN 'join'
                   WHEN reason LIKE '%heartbeat expiration%' THEN 'expiry'
                   WHEN reason LIKE '%LeaveGroup%' THEN 'leave'
                   WHEN reason RLIKE '(?i)re-?join|updating metadata' THEN 'rejoin'
                   ELSE 'other' END AS trigger,
           -- A member id is the client id, a dash and a UUID.
           coalesce(named, nullif(regexp_extract(
               reason, '([-_.\\\\w]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})', 1), ''))
               AS trigger_member_id
    FROM {generations}
)
SELECT :group AS `group`, g.generation, g.trigger, tm.member AS trigger_member,
       g.trigger_member_id, g.reason,
       CASE g.event WHEN 'target_computed' THEN 'consumer' ELSE :protocol END AS protocol,
       coalesce(g.assignor, j.assignor) AS assignor, g.broker AS coordinator,
       coalesce(g.members_before, 0) AS members_before, g.members AS members_after,
       lm.member AS leader, coalesce(g.leader, j.leader) AS leader_member_id,
       g.started_at, g.joined_at, g.synced_at, g.completed_at,
       ms_between(g.started_at, g.completed_at) AS duration_ms,
       coalesce(c.moved, 0) AS partitions_moved, coalesce(c.kept, 0) AS partitions_kept,
       coalesce(v.revoked, 0) AS partitions_revoked, s.longest_ms AS longest_standstill_ms,
       s.each AS standstills, g.evidence
FROM named g
LEFT JOIN joins j ON same(j, g, broker, generation)
LEFT JOIN changes c ON c.number = g.number
LEFT JOIN revocations v ON v.number = g.number
LEFT JOIN still s ON same(s, g, generation, joined_at)
LEFT JOIN {identities} tm ON tm.member_id = g.trigger_member_id
LEFT JOIN {identities} lm ON lm.member_id = coalesce(g.leader, j.leader)
ORDER BY g.number
"""
