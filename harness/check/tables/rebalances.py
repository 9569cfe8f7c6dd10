"""`rebalances`: one row per generation of the group."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from harness.check.tables.base import Tables

_BUCKET_S: Final = 10  # standstills and rebalances are joined within buckets of time


def rebalances(t: Tables) -> DataFrame:
    """One row per generation that the coordinator completed, those of an emptied group included.

    It starts with the last "Preparing to rebalance" of its old generation on the same broker; it
    is complete when the last member has its part. `partitions_moved` and `_kept` compare the group
    leader's assignment with the one before, by process: a member that came back under another
    member id and got its partition again has kept it. `partitions_revoked` counts callbacks
    (revoked or lost) since the one before was complete: a member that closes gives up what it has
    before it leaves, and in a cooperative rebalance before it joins again.
    """
    return t.sql(_REBALANCES)


def standstills(t: Tables) -> DataFrame:
    """Per generation and partition, the longest time that no member processed the partition.

    The times meant are those between the end of the work on everything delivered before (as long
    as it was declared to take: a stall is no work) and the next poll that returned records, by
    whichever member, and only such as overlap the rebalance from its start to its completion.
    Waiting for new records counts too, so at low rates a standstill has a floor of one record's
    interval.
    """
    return t.sql(
        """
        WITH still AS (
            SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
                   explode(sequence(unix_seconds(busy_until) DIV :bucket_s,
                                    unix_seconds(polled_at) DIV :bucket_s)) AS bucket
            FROM {progress} WHERE busy_until < polled_at
        ),
        around AS (
            SELECT generation, joined_at, started_at,
                   coalesce(completed_at, joined_at) AS completed_at,
                   explode(sequence(unix_seconds(started_at) DIV :bucket_s,
                       unix_seconds(coalesce(completed_at, joined_at)) DIV :bucket_s)) AS bucket
            FROM {generations} WHERE started_at IS NOT NULL
        )
        SELECT r.generation, r.joined_at, s.topic, s.partition,
               max(timestampdiff(MICROSECOND, s.from_at, s.to_at)) / 1e3 AS ms
        FROM around r JOIN still s
          ON s.bucket = r.bucket AND s.from_at <= r.completed_at AND s.to_at >= r.started_at
        GROUP BY r.generation, r.joined_at, s.topic, s.partition
        """,
        bucket_s=_BUCKET_S,
    )


def generations(t: Tables) -> DataFrame:
    """Completed generations in order of time, with when and why each was begun."""
    return t.sql(
        """
        WITH done AS (
            SELECT broker, at AS joined_at, event, generation, evidence,
                   CASE WHEN event = 'emptied' THEN 0 ELSE members END AS members,
                   row_number() OVER (ORDER BY at, generation) AS number
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('stabilized', 'emptied')
        ),
        begun AS (
            SELECT d.number, max(s.at) AS started_at, max_by(s.reason, s.at) AS reason,
                   max_by(s.member_id, s.at) AS member_id
            FROM done d JOIN {coordinator_events} s
              ON s.broker = d.broker AND s.generation = d.generation - 1 AND s.at <= d.joined_at
            WHERE s.`group` = :group AND s.event = 'rebalance_started'
            GROUP BY d.number
        ),
        led AS (
            SELECT d.number, min(s.at) AS synced_at, min_by(s.member_id, s.at) AS leader,
                   count(s.at) AS times
            FROM done d JOIN {coordinator_events} s
              ON s.broker = d.broker AND s.generation = d.generation AND s.at >= d.joined_at
            WHERE s.`group` = :group AND s.event = 'assignment_received'
            GROUP BY d.number
        ),
        synced AS (
            SELECT broker, generation, max(answered_at) AS completed_at
            FROM {requests}
            WHERE `group` = :group AND api = 'SYNC_GROUP' AND error_code = 0
            GROUP BY broker, generation
        )
        SELECT d.number, d.broker, d.generation, d.event, d.members, d.joined_at, b.started_at,
               b.reason, b.member_id AS named, l.synced_at, l.leader, coalesce(l.times, 0) AS times,
               CASE WHEN d.event = 'emptied' THEN d.joined_at ELSE s.completed_at END
                   AS completed_at,
               lag(d.generation) OVER w AS generation_before,
               lag(d.members) OVER w AS members_before,
               lag(d.broker) OVER w AS broker_before, lag(l.leader) OVER w AS leader_before,
               lead(b.started_at) OVER w AS next_started_at, lead(d.broker) OVER w AS broker_after,
               d.evidence
        FROM done d LEFT JOIN begun b USING (number) LEFT JOIN led l USING (number)
        LEFT JOIN synced s ON s.broker = d.broker AND s.generation = d.generation
        WINDOW w AS (PARTITION BY 1 ORDER BY d.number)
        """
    )


_REBALANCES: Final = """
WITH joins AS (
    SELECT broker, generation, max(protocol_name) AS assignor, max(leader) AS leader
    FROM {requests}
    WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
    GROUP BY broker, generation
),
owners AS (
    -- A static member is the same one in whichever process it lives.
    SELECT broker, generation, topic, partition, coalesce(instance_id, member) AS member,
           lag(coalesce(instance_id, member)) OVER (PARTITION BY topic, partition ORDER BY at)
               AS member_before
    FROM {assignments}
),
changes AS (
    SELECT broker, generation,
           CAST(count_if(member <> member_before) AS INT) AS moved,
           CAST(count_if(member = member_before) AS INT) AS kept
    FROM owners GROUP BY broker, generation
),
ends AS (
    SELECT number, coalesce(completed_at, joined_at) AS ended_at,
           lag(coalesce(completed_at, joined_at)) OVER (ORDER BY number) AS ended_before
    FROM {generations}
),
revocations AS (
    SELECT g.number, CAST(sum(size(e.partitions)) AS INT) AS revoked
    FROM ends g JOIN {client_events} e
      ON e.event_at <= g.ended_at AND (g.ended_before IS NULL OR e.event_at > g.ended_before)
    WHERE e.event IN ('revoked', 'lost') GROUP BY g.number
),
still AS (
    SELECT generation, joined_at, max(ms) AS longest_ms,
           array_sort(collect_list(struct(topic, partition, ms))) AS each
    FROM {standstills} GROUP BY generation, joined_at
),
named AS (
    SELECT *, CASE WHEN reason LIKE 'Adding new member%' THEN 'join'
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
       g.trigger_member_id, g.reason, :protocol AS protocol, j.assignor, g.broker AS coordinator,
       coalesce(g.members_before, 0) AS members_before, g.members AS members_after,
       lm.member AS leader, coalesce(g.leader, j.leader) AS leader_member_id,
       g.started_at, g.joined_at, g.synced_at, g.completed_at,
       timestampdiff(MICROSECOND, g.started_at, g.completed_at) / 1e3 AS duration_ms,
       coalesce(c.moved, 0) AS partitions_moved, coalesce(c.kept, 0) AS partitions_kept,
       coalesce(v.revoked, 0) AS partitions_revoked, s.longest_ms AS longest_standstill_ms,
       s.each AS standstills, g.evidence
FROM named g
LEFT JOIN joins j ON j.broker = g.broker AND j.generation = g.generation
LEFT JOIN changes c ON c.broker = g.broker AND c.generation = g.generation
LEFT JOIN revocations v ON v.number = g.number
LEFT JOIN still s ON s.generation = g.generation AND s.joined_at = g.joined_at
LEFT JOIN {memberships} tm ON tm.member_id = g.trigger_member_id
LEFT JOIN {memberships} lm ON lm.member_id = coalesce(g.leader, j.leader)
ORDER BY g.number
"""
