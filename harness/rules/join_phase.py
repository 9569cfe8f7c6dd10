"""How long a rebalance waits for members, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.failure_detection import left_by_limit
from harness.rules.rebalance import START_MS
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# Each join phase, with the least and the largest rebalance timeout of the members of that time: the
# coordinator waits for the largest.
_PHASES = """
    asked AS (
        SELECT member_id, max(rebalance_timeout_ms) AS timeout_ms
        FROM {requests}
        WHERE `group` = :group AND api = 'JOIN_GROUP' AND rebalance_timeout_ms IS NOT NULL
          AND error_code = 0
        GROUP BY member_id
    ),
    phases AS (
        SELECT g.broker, g.generation, g.started_at, g.joined_at, g.evidence,
               timestampdiff(MICROSECOND, g.started_at, g.joined_at) / 1e3 AS ms,
               min(a.timeout_ms) AS least_ms, max(a.timeout_ms) AS most_ms
        FROM {generations} g JOIN {memberships} m
          ON m.joined_at <= g.joined_at AND (m.removed_at IS NULL OR m.removed_at >= g.started_at)
        JOIN asked a ON a.member_id = m.member_id
        WHERE g.started_at IS NOT NULL
        GROUP BY ALL
    ),
    stragglers AS (
        SELECT p.broker, p.generation, p.started_at, p.joined_at, p.most_ms, s.member_id, s.member,
               s.removed_at, s.instance_id, s.evidence
        FROM phases p JOIN {memberships} s
          ON s.removed_by = 'stragglers_removed' AND s.removed_at >= p.started_at
         AND s.removed_at <= timestampadd(MILLISECOND, :rounding_ms, p.joined_at)
    )
"""


def _limits_are_told(t: Tables) -> Frame:
    """Joins that the coordinator accepted, each beside the settings of the process that asked."""
    return t.sql(
        """
        WITH asked AS (
            SELECT client_id AS member, member_id, min(arrived_at) AS at,
                   max(session_timeout_ms) AS session_ms, max(rebalance_timeout_ms) AS rebalance_ms,
                   min(evidence) AS evidence
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
              AND rebalance_timeout_ms IS NOT NULL
            GROUP BY client_id, member_id
        )
        SELECT concat(a.member, ' (', a.member_id, ')') AS subject, a.at,
               a.session_ms = m.session_timeout_ms AND a.rebalance_ms = m.max_poll_interval_ms
                   AS ok,
               a.rebalance_ms AS measured,
               concat('session ', a.session_ms, ' and rebalance ', a.rebalance_ms,
                      ' ms told, ', m.session_timeout_ms, ' and ', m.max_poll_interval_ms,
                      ' ms set') AS why,
               a.evidence
        FROM asked a JOIN {members} m ON m.member = a.member
        """
    )


def _longest_counts(t: Tables) -> Frame:
    """Join phases that outlasted the shortest limit of a member, or ended at a limit."""
    return t.sql(
        f"""
        WITH {_PHASES},
        late AS (
            SELECT generation, started_at, count(*) AS stragglers FROM stragglers
            GROUP BY generation, started_at
        )
        SELECT concat('generation ', p.generation) AS subject, p.started_at AS at,
               CASE WHEN l.stragglers > 0 THEN p.ms >= p.most_ms - :slack_ms ELSE true END
                   AND p.ms <= p.most_ms + :slack_ms AS ok,
               p.ms AS measured,
               CASE WHEN l.stragglers > 0 THEN p.most_ms - :slack_ms END AS bound_low,
               p.most_ms + :slack_ms AS bound_high,
               concat('limits of ', p.least_ms, ' to ', p.most_ms, ' ms; ',
                      coalesce(l.stragglers, 0), ' members had not come when it ended') AS why,
               p.evidence,
               timestampadd(MILLISECOND, p.most_ms - :guard_ms, p.started_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, p.joined_at) AS guard_to
        FROM phases p LEFT JOIN late l USING (generation, started_at)
        WHERE p.ms > p.least_ms OR l.stragglers > 0
        """
    )


def _stragglers_go(t: Tables) -> Frame:
    """Members that the coordinator removed because they had not joined in time."""
    return t.sql(
        f"""
        WITH {_PHASES},
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, started_at, removed_at) / 1e3 AS ms,
                   timestampdiff(MICROSECOND, removed_at, joined_at) / 1e3 AS end_ms
            FROM stragglers
        )
        SELECT concat(coalesce(member, member_id), ' (straggler)') AS subject, removed_at AS at,
               ms BETWEEN most_ms - :slack_ms AND most_ms + :slack_ms
                   AND instance_id IS NULL AND end_ms <= :start_ms + :slack_ms AS ok,
               ms AS measured, most_ms - :slack_ms AS bound_low, most_ms + :slack_ms AS bound_high,
               CASE WHEN instance_id IS NOT NULL THEN 'a static member, which is to be kept'
                    WHEN ms < most_ms - :slack_ms THEN 'removed too early'
                    WHEN ms > most_ms + :slack_ms THEN 'removed too late'
                    WHEN end_ms > :start_ms + :slack_ms
                    THEN 'the others had to wait still when it was gone'
                    ELSE concat('generation ', generation, ' went on without it') END AS why,
               evidence,
               timestampadd(MILLISECOND, most_ms - :guard_ms, started_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, joined_at) AS guard_to
        FROM timed
        """,
        start_ms=START_MS,
    )


def _callback_is_not_seen(t: Tables) -> Frame:
    """Stalls in a callback past max.poll.interval.ms, and how each was found out, if it was."""
    return t.sql(
        """
        WITH stalls AS (
            SELECT e.member, e.event_at AS at, e.member_id, e.duration_ms,
                   m.max_poll_interval_ms AS limit_ms,
                   timestampadd(MICROSECOND, CAST(e.duration_ms * 1e3 AS BIGINT), e.event_at)
                       AS to_at
            FROM {client_events} e JOIN {members} m USING (member)
            WHERE e.event = 'callback_stall_started'
              AND e.duration_ms > m.max_poll_interval_ms + 500 + :slack_ms
        ),
        said AS (
            SELECT s.member, s.at, count(r.arrived_at) AS leaves,
                   min(timestampdiff(MICROSECOND, s.at, r.arrived_at)) / 1e3 AS left_ms
            FROM stalls s LEFT JOIN {requests} r
              ON r.client_id = s.member AND r.api = 'LEAVE_GROUP' AND r.`group` = :group
             AND r.arrived_at >= s.at AND r.arrived_at <= s.to_at
            GROUP BY s.member, s.at
        ),
        noticed AS (
            SELECT s.member, s.at, count(c.event_at) AS noticed
            FROM stalls s LEFT JOIN {client_events} c
              ON c.member = s.member AND c.event = 'max_poll_exceeded' AND c.event_at >= s.at
             AND c.event_at <= s.to_at
            GROUP BY s.member, s.at
        ),
        removed AS (
            SELECT s.member, s.at, min(m.removed_at) AS removed_at,
                   min_by(m.removed_by, m.removed_at) AS removed_by,
                   min_by(m.evidence, m.removed_at) AS evidence
            FROM stalls s LEFT JOIN {memberships} m
              ON m.member = s.member AND m.removed_at >= s.at AND m.removed_at <= s.to_at
            GROUP BY s.member, s.at
        )
        SELECT concat(member, ' (callback)') AS subject, at,
               leaves = 0 AND noticed = 0
                   AND coalesce(removed_by = 'stragglers_removed', true) AS ok,
               coalesce(timestampdiff(MICROSECOND, at, removed_at) / 1e3, duration_ms) AS measured,
               limit_ms AS bound_low,
               CASE WHEN leaves > 0
                    THEN concat('it left after ', CAST(round(left_ms) AS INT), ' ms')
                    WHEN noticed > 0 THEN 'the client noticed that it was not polled'
                    WHEN removed_by IS NULL THEN 'nobody noticed until it went on'
                    WHEN removed_by <> 'stragglers_removed'
                    THEN concat('removed otherwise: ', removed_by)
                    ELSE 'removed by the coordinator, which waited for it no longer' END AS why,
               evidence
        FROM stalls JOIN said USING (member, at) JOIN noticed USING (member, at)
        JOIN removed USING (member, at)
        """
    )


def _callback_is_seen(t: Tables) -> Frame:
    """The poll that calls back began its time at its start, a poll's length before at most."""
    return left_by_limit(t, "callback_stall_started")


LIMITS_TOLD = Rule(
    id="R04",
    title="Each member tells the coordinator its own limits",
    statement=(
        "A member's session.timeout.ms becomes its session timeout at the coordinator, and its "
        "max.poll.interval.ms its rebalance timeout."
    ),
    source="seed 000, the two parameters of a rebalance",
    unit="ms",
    things="members that joined",
    measures="of rebalance timeout",
    examine=_limits_are_told,
    protocols=CLASSIC,
)
LONGEST_COUNTS = Rule(
    id="R04-longest",
    title="A rebalance waits for the longest limit of all members",
    statement=(
        "The coordinator waits for members to rejoin for the largest max.poll.interval.ms in the "
        "group, whoever is late: no less while one is missing, and no more."
    ),
    source="seed 000, rebalanceTimeoutMs; ClassicGroup.rebalanceTimeoutMs",
    unit="ms",
    things="join phases past a member's limit",
    measures="from start to end",
    examine=_longest_counts,
    broker=True,
    protocols=CLASSIC,
)
STRAGGLERS_GO = Rule(
    id="X09",
    title="Who does not rejoin in time is removed",
    statement=(
        "A dynamic member that has not rejoined when the group's rebalance timeout is over is "
        "removed, and the rebalance goes on at once without it."
    ),
    source="KIP-62; GroupMetadataManager.completeClassicGroupJoin",
    unit="ms",
    things="members removed as late",
    measures="after the rebalance started",
    examine=_stragglers_go,
    broker=True,
    protocols=CLASSIC,
)
CALLBACK_UNSEEN = Rule(
    id="X31",
    title="librdkafka does not see a callback that does not return",
    statement=(
        "Time spent in a rebalance callback does not count against max.poll.interval.ms: the "
        "client does not leave, and only the coordinator's rebalance timeout ends it."
    ),
    source="librdkafka rdkafka_int.h, rd_kafka_app_poll_blocking; max.poll.interval.ms",
    unit="ms",
    things="callbacks past the limit",
    measures="until removed or returned",
    examine=_callback_is_not_seen,
    clients=("librdkafka",),
    protocols=CLASSIC,
)
CALLBACK_SEEN = Rule(
    id="X31-java",
    title="The Java client leaves from within a callback that does not return",
    statement=(
        "Time spent in a rebalance callback counts against max.poll.interval.ms: the client's "
        "heartbeat thread leaves the group at that limit, while the callback still runs."
    ),
    source="ConsumerCoordinator.onJoinPrepare and AbstractCoordinator.HeartbeatThread",
    unit="ms",
    things="callbacks past the limit",
    measures="from the callback to the LeaveGroup",
    examine=_callback_is_seen,
    clients=("java",),
    protocols=CLASSIC,
)
