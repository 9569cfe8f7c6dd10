"""How long a rebalance waits for members, and for whom."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rebalance import START_MS  # noqa: F401 (a query names it)
from harness.rules.rule import A_BROKER, A_MEMBER, Rule
from harness.rules.stalling import left_by_limit

# Each join phase, with the least and the largest rebalance timeout of the members of that time. Who
# joins while it lasts is not among them: the coordinator sets its timer when it begins
# (GroupMetadataManager.prepareRebalance). `wait_ms` is how long it waits: for the largest timeout,
# and, if nobody has joined by then and static members are left, again and again for the largest of
# those (completeClassicGroupJoin). `late_ms` is by how much the first came after the largest; one
# that came within the slack of it may have come before. A coordinator that is stopped meanwhile
# looks at no timer.
PHASES: Final = """
    WITH asked AS (
        -- Kafka allows 2^31 - 1 ms, which leaves no room to add to.
        SELECT member_id, CAST(max(rebalance_timeout_ms) AS BIGINT) AS timeout_ms,
               min(arrived_at) AS arrived_at
        FROM {joins} WHERE rebalance_timeout_ms IS NOT NULL GROUP BY member_id
    ), timers AS (
        SELECT g.broker, g.generation, g.since_at, g.until_at, g.started_at, g.joined_at,
               g.evidence,
               ms_between(g.started_at, g.joined_at) AS ms,
               min(a.timeout_ms) AS least_ms, max(a.timeout_ms) AS most_ms,
               max(a.timeout_ms) FILTER (WHERE m.instance_id IS NOT NULL) AS again_ms
        FROM {generations} g JOIN {memberships} m
          ON m.joined_at <= g.joined_at AND (m.removed_at IS NULL OR m.removed_at >= g.started_at)
        JOIN asked a
          ON a.member_id = m.member_id AND least(a.arrived_at, m.joined_at) <= g.started_at
        LEFT ANTI JOIN {stopped_brokers} b
          ON b.broker = g.broker AND b.from_at <= g.joined_at AND b.to_at >= g.started_at
        WHERE g.started_at IS NOT NULL
        GROUP BY g.broker, g.generation, g.since_at, g.until_at, g.started_at, g.joined_at,
                 g.evidence
    ), begun AS (
        SELECT t.*, ms_between(t.started_at, min(j.arrived_at)) - t.most_ms AS late_ms
        FROM timers t LEFT JOIN {joins} j
          ON same(j, t, broker, generation) AND j.arrived_at <= after(:slack_ms, t.joined_at)
         AND in_time_of(t, j.processed_at)
        GROUP BY ALL
    ), phases AS (
        SELECT *, after(wait_ms, started_at) AS due_at
        FROM (SELECT *, most_ms + coalesce(again_ms * greatest(0, 1 + floor(
                            (late_ms + :slack_ms) / again_ms)), 0) AS wait_ms
              FROM begun)
    ), stragglers AS (
        SELECT p.generation, p.started_at, p.joined_at, p.most_ms, p.late_ms, s.member_id, s.member,
               s.removed_at, s.instance_id, s.evidence, after(p.most_ms, p.started_at) AS due_at
        FROM phases p JOIN {memberships} s
          ON s.removed_by = 'stragglers_removed' AND s.removed_at > p.started_at
         AND s.removed_at <= after(:rounding_ms, p.joined_at)
    )
"""


@Rule(
    "R04",
    title="Each member sends the coordinator its own timeouts",
    statement="A member's session.timeout.ms becomes its session timeout at the coordinator, and "
    "its max.poll.interval.ms its rebalance timeout. In KIP-848 only the latter is its own.",
    source="document 000, the two parameters of a rebalance; KIP-848, ConsumerGroupHeartbeat",
    unit="ms",
    things="members that joined",
    measures="of rebalance timeout",
    too_low="asked for a rebalance timeout below its max.poll.interval.ms",
    too_high="asked for a rebalance timeout above its max.poll.interval.ms",
    matters="The coordinator detects failures by the timeouts that a member sent: a setting that "
    "does not reach the coordinator changes nothing.",
)
def limits_are_told() -> str:
    """Joins that the coordinator accepted, each beside the settings of the process that asked.

    In KIP-848 they are heartbeats: a join has to name the limit, a later one may.
    """
    return """
        WITH modern AS (
            SELECT member, member_id, min(arrived_at) AS at,
                   coalesce(max(rebalance_timeout_ms) FILTER (
                       WHERE rebalance_timeout_ms <> own_ms), max(own_ms)) AS rebalance_ms,
                   max(own_ms) AS own_ms,
                   count_if(generation = 0 AND rebalance_timeout_ms IS NULL) AS unnamed,
                   min(evidence) AS evidence
            FROM (SELECT h.*, m.max_poll_interval_ms AS own_ms
                  FROM {consumer_heartbeats} h JOIN {members} m ON m.member = h.member
                  WHERE h.error_code = :NONE AND :protocol = 'consumer'
                    AND (h.generation = 0 OR h.rebalance_timeout_ms IS NOT NULL))
            GROUP BY member, member_id
        ), asked AS (
            SELECT member, member_id, min(arrived_at) AS at,
                   max(session_timeout_ms) AS session_ms, max(rebalance_timeout_ms) AS rebalance_ms,
                   min(evidence) AS evidence
            FROM {joins} WHERE rebalance_timeout_ms IS NOT NULL GROUP BY member, member_id
        )
        SELECT concat(a.member, ' (', a.member_id, ')') AS subject, a.at,
               a.rebalance_ms AS measured, m.max_poll_interval_ms AS bound_low,
               m.max_poll_interval_ms AS bound_high,
               IF(a.session_ms IS NULL OR m.session_timeout_ms IS NULL
                  OR m.max_poll_interval_ms IS NULL,
                  'its settings are not on record', NULL) AS unknown,
               IF(a.session_ms <> m.session_timeout_ms,
                  clause('asked for a session timeout of ', a.session_ms, ' ms instead of ',
                         m.session_timeout_ms), NULL) AS wrong,
               concat('its session timeout is ', a.session_ms, ' ms') AS note, a.evidence
        FROM asked a JOIN {members} m ON m.member = a.member
        UNION ALL
        SELECT concat(member, ' (', member_id, ')'), at, rebalance_ms, own_ms, own_ms,
               IF(own_ms IS NULL, 'its settings are not on record', NULL),
               IF(unnamed > 0, 'joined without a rebalance timeout', NULL),
               'its session timeout is the broker''s', evidence
        FROM modern
    """


@Rule(
    "R04-longest",
    title="A rebalance waits for the longest max.poll.interval.ms",
    statement="The coordinator waits for members to rejoin for at most the largest "
    "max.poll.interval.ms in the group, whichever member is late. It does not go on earlier while "
    "a member is missing. It waits again only if nobody has rejoined by then and static members "
    "are left.",
    source="document 000, rebalanceTimeoutMs; ClassicGroup.rebalanceTimeoutMs",
    unit="ms",
    things="join phases longer than a member's max.poll.interval.ms",
    measures="from start to end",
    too_low="ended although a member was missing",
    too_high="lasted longer than the largest max.poll.interval.ms",
    matters="One member with a large max.poll.interval.ms decides how long a stuck member can "
    "hold up the whole group.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_BROKER,
)
def longest_counts() -> str:
    """Join phases that outlasted the shortest limit of a member, or ended at a limit."""
    return """
        {PHASES},
        missed AS (
            SELECT p.generation, p.started_at, p.joined_at, p.ms, p.least_ms, p.most_ms,
                   p.wait_ms, p.due_at, p.evidence, count(s.member_id) AS missing
            FROM phases p LEFT JOIN stragglers s ON same(s, p, generation, started_at)
            GROUP BY ALL
        )
        SELECT concat('generation ', generation) AS subject, started_at AS at, ms AS measured,
               IF(missing > 0, most_ms - :slack_ms, NULL) AS bound_low,
               wait_ms + :slack_ms AS bound_high,
               concat('limits of ', least_ms, ' to ', most_ms, ' ms, and ', missing,
                      ' missing at the end',
                      IF(wait_ms > most_ms, '; nobody had rejoined at first', '')) AS note,
               evidence, guard_from(due_at, joined_at) AS guard_from,
               guard_to(joined_at) AS guard_to
        FROM missed WHERE ms > least_ms OR missing > 0
    """


@Rule(
    "X09",
    title="A member that does not rejoin in time is removed",
    statement="A dynamic member that has not rejoined at the end of the group's rebalance timeout "
    "is removed. If another member has rejoined, the rebalance goes on at once.",
    source="KIP-62; GroupMetadataManager.completeClassicGroupJoin",
    unit="ms",
    things="members removed as late",
    measures="after the rebalance started",
    too_low="was removed too early",
    too_high="was removed too late",
    matters="A member that is busy for too long loses its partitions without noticing, and others "
    "repeat its work.",
    broker=True,
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def stragglers_go() -> str:
    """Members that the coordinator removed because they had not joined in time."""
    return """
        {PHASES}
        SELECT concat(coalesce(member, member_id), ' (straggler)') AS subject, removed_at AS at,
               ms_between(started_at, removed_at) AS measured, most_ms - :slack_ms AS bound_low,
               most_ms + :slack_ms AS bound_high,
               CASE WHEN instance_id IS NOT NULL
                    THEN 'is a static member, which is to be kept'
                    WHEN late_ms < -:slack_ms
                         AND ms_between(removed_at, joined_at) > :START_MS + :slack_ms
                    THEN 'was removed, and the others still had to wait' END AS wrong,
               concat('generation ', generation, ' went on without it') AS note,
               evidence, guard_from(due_at, removed_at) AS guard_from,
               guard_to(joined_at) AS guard_to
        FROM stragglers
    """


@Rule(
    "R08-client",
    title="A client that is told of a rebalance keeps its coordinator",
    statement="A heartbeat answered REBALANCE_IN_PROGRESS counts for the client as well: its own "
    "session timer does not run out while such answers come.",
    source="document 000, HeartbeatThread (receiveHeartbeat); rd_kafka_cgrp_handle_Heartbeat",
    unit="ms",
    things="members answered REBALANCE_IN_PROGRESS for longer than a session",
    measures="since the last answer without an error",
    matters="A rebalance may take as long as max.poll.interval.ms, which is more than a session.",
    protocols=CLASSIC,
    in_passing=True,
)
def counts_for_the_client() -> str:
    """From the last answer without an error to the last of the heartbeats answered so in a row.

    Between two answers there has to be less than a session, or the client's session ends rightly.
    """
    return """
        WITH answers AS (
            SELECT member, member_id, answered_at, evidence,
                   api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS AS told
            FROM {own_requests}
            WHERE api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP')
              AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
        ), numbered AS (
            SELECT *, count_if(NOT told) OVER w AS turn,
                   ms_between(lag(answered_at) OVER w, answered_at) AS gap_ms
            FROM answers WINDOW w AS (PARTITION BY member_id ORDER BY answered_at, evidence)
        ), spans AS (
            SELECT member, member_id, turn, min(answered_at) AS from_at, max(answered_at) AS to_at,
                   count_if(told) AS told, max(gap_ms) FILTER (WHERE told) AS gap_ms,
                   max(evidence) AS evidence
            FROM numbered WHERE turn > 0 GROUP BY member, member_id, turn
        ), ended AS (
            SELECT s.*, m.session_timeout_ms, min(c.event_at) AS ended_at
            FROM spans s JOIN {members} m ON m.member = s.member
            LEFT JOIN {client_events} c
              ON c.member = s.member AND c.event = 'session_timed_out'
             AND c.event_at >= after(m.session_timeout_ms, s.from_at) AND c.event_at <= s.to_at
            GROUP BY ALL
        )
        SELECT concat(member, ' (told)') AS subject, from_at AS at,
               ms_between(from_at, to_at) AS measured,
               IF(ended_at IS NOT NULL,
                  clause('took its session for ended after ',
                         CAST(round(ms_between(from_at, ended_at)) AS INT), ' ms'), NULL) AS wrong,
               concat(told, ' heartbeats were answered so; its session is ', session_timeout_ms,
                      ' ms') AS note, evidence
        FROM ended
        WHERE told > 0 AND gap_ms < session_timeout_ms
          AND ms_between(from_at, to_at) > session_timeout_ms
    """


@Rule(
    "X31",
    title="librdkafka does not notice a callback that does not return",
    statement="librdkafka does not count the time in a rebalance callback against "
    "max.poll.interval.ms. The client does not leave, and only the coordinator's rebalance "
    "timeout removes it.",
    source="librdkafka rdkafka_int.h, rd_kafka_app_poll_blocking; max.poll.interval.ms",
    unit="ms",
    things="callbacks past the limit",
    measures="until removed or returned",
    matters="No timer of the client ends a callback that hangs, so its partitions stay unread "
    "until a rebalance times out.",
    clients=("librdkafka",),
    protocols=CLASSIC,
)
def callback_is_not_seen() -> str:
    """Stalls in a callback past max.poll.interval.ms, and how each was found out, if it was."""
    return """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.duration_ms, m.max_poll_interval_ms AS limit_ms,
                   after(e.duration_ms, e.event_at) AS to_at
            FROM {client_events} e JOIN {members} m USING (member)
            WHERE e.event = 'callback_stall_started'
              AND e.duration_ms - 500 - :slack_ms > m.max_poll_interval_ms
        ), signs AS (
            SELECT member, 'leave asked' AS what, arrived_at AS at, CAST(NULL AS STRING) AS evidence
            FROM {own_requests} WHERE api = 'LEAVE_GROUP'
            UNION ALL
            SELECT member, event, event_at, NULL FROM {client_events}
            WHERE event = 'max_poll_exceeded'
            UNION ALL
            SELECT member, removed_by, removed_at, evidence FROM {memberships}
        ), found AS (
            SELECT s.member, s.at, s.duration_ms, s.limit_ms,
                   min(x.at) FILTER (WHERE x.what = 'leave asked') AS left_at,
                   count_if(x.what = 'max_poll_exceeded') AS noticed,
                   min(struct(x.at, x.what, x.evidence)) FILTER (
                       WHERE x.what NOT IN ('leave asked', 'max_poll_exceeded')) AS removed
            FROM stalls s LEFT JOIN signs x
              ON x.member = s.member AND x.at >= s.at AND x.at <= s.to_at
            GROUP BY s.member, s.at, s.duration_ms, s.limit_ms
        )
        SELECT concat(member, ' (callback)') AS subject, at,
               coalesce(ms_between(at, removed.at), duration_ms) AS measured,
               CASE WHEN left_at IS NOT NULL
                    THEN clause('left after ', CAST(round(ms_between(at, left_at)) AS INT), ' ms')
                    WHEN noticed > 0 THEN 'was warned by its client that it does not poll'
                    WHEN removed.what <> 'stragglers_removed'
                    THEN clause('was removed otherwise: ', removed.what) END AS wrong,
               concat(IF(removed.what IS NULL, 'nobody noticed it before it returned',
                         'the coordinator removed it as a straggler'),
                      '; its limit is ', limit_ms, ' ms') AS note,
               removed.evidence AS evidence
        FROM found
    """


@Rule(
    "X31-java",
    title="The Java client leaves while a callback does not return",
    statement="The Java client counts the time in a rebalance callback against "
    "max.poll.interval.ms. Its heartbeat thread leaves the group at that limit, while the "
    "callback still runs.",
    source="ConsumerCoordinator.onJoinPrepare and AbstractCoordinator.HeartbeatThread",
    unit="ms",
    things="callbacks past the limit",
    measures="from the callback to the LeaveGroup",
    too_low="left too early",
    too_high="left too late",
    matters="A slow callback costs the member its partitions while it still gives them up or "
    "takes them over.",
    clients=("java",),
    protocols=CLASSIC,
    delayed_by=A_MEMBER,
)
def callback_is_seen() -> str:
    """The poll that calls back began its time at its start, a poll's length before at most."""
    return left_by_limit("callback_stall_started")
