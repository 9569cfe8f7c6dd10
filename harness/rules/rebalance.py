"""How a rebalance begins, runs and ends at the coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# What a coordinator takes to start a rebalance after the line that caused it (measured: 1 ms).
START_MS = 10


def _one_assignment(t: Tables) -> Frame:
    """Generations whose leader had its say; one that the next rebalance cut short is passed over.

    The group leader stays while it is among those who rejoined under the same member id.
    """
    return t.sql(
        """
        WITH joined AS (
            SELECT broker, generation, collect_set(member_id) AS member_ids
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
            GROUP BY broker, generation
        ),
        led AS (
            SELECT g.*, array_contains(j.member_ids, g.leader) AS leader_joined,
                   array_contains(j.member_ids, g.leader_before) AS former_joined
            FROM {generations} g
            LEFT JOIN joined j ON j.broker = g.broker AND j.generation = g.generation
            WHERE g.event = 'stabilized' AND g.members > 0
              -- Without a word of the leader: only if nothing came between.
              AND (g.times > 0 OR g.next_started_at IS NULL AND g.broker_after IS NULL)
        ),
        clauses AS (
            SELECT *,
                   CASE WHEN times = 0
                         AND joined_at >= timestampadd(MILLISECOND, -1000, :stopped_at)
                        THEN 'the run ended before the leader answered'
                        WHEN leader_joined IS NULL AND times > 0
                        THEN 'no join of this generation is on record' END AS unknown,
                   CASE WHEN times = 0 THEN 'the leader never gave its assignment'
                        WHEN times > 1 THEN concat(times, ' assignments were received')
                        WHEN NOT leader_joined THEN 'the leader had not joined'
                        WHEN former_joined AND leader <> leader_before
                             AND generation_before < generation
                        THEN 'the former leader rejoined and was replaced' END AS wrong
            FROM led
        )
        SELECT concat('generation ', generation) AS subject, joined_at AS at,
               CASE WHEN unknown IS NULL THEN wrong IS NULL END AS ok, times AS measured,
               1 AS bound_low, 1 AS bound_high,
               coalesce(unknown, wrong, concat('led by ', leader)) AS why, evidence
        FROM clauses
        """
    )


_STARTS = """
    WITH steps AS (
        SELECT *, timestampdiff(MICROSECOND, at, next_start_at) / 1e3 AS ms
        FROM {group_steps} WHERE event IN (:first, :second)
    )
    SELECT concat(event, ' ', member_id) AS subject, at,
           rebalancing OR coalesce(ms <= :start_ms + :slack_ms, false) AS ok,
           CASE WHEN NOT rebalancing THEN ms END AS measured, CAST(NULL AS DOUBLE) AS bound_low,
           :start_ms + :slack_ms AS bound_high,
           CASE WHEN rebalancing THEN 'members were being waited for already'
                WHEN ms IS NULL THEN 'no rebalance started after it'
                ELSE next_reason END AS why,
           evidence,
           -- The coordinator tells both moments itself: a machine that stood still can only have
           -- made it longer.
           CASE WHEN rebalancing OR ms <= :start_ms + :slack_ms THEN NULL ELSE at END AS guard_from,
           timestampadd(MILLISECOND, :start_ms + :guard_ms, at) AS guard_to
    FROM steps
"""


def _new_member_starts_one(t: Tables) -> Frame:
    return t.sql(_STARTS, first="member_added", second="member_added", start_ms=START_MS)


def _departure_starts_one(t: Tables) -> Frame:
    """What the coordinator was told or noticed, and static members that closed and told nobody."""
    silent = t.sql(
        """
        WITH closings AS (
            SELECT c.member, c.event_at AS at, min(g.at) AS started_at,
                   min_by(g.reason, g.at) AS reason
            FROM {client_events} c
            JOIN {members} m ON m.member = c.member AND m.instance_id IS NOT NULL
            LEFT JOIN {coordinator_events} g
              ON g.`group` = :group AND g.event = 'rebalance_started' AND g.at >= c.event_at
            WHERE c.event = 'closing' AND c.event_at < :stopped_at
            GROUP BY c.member, c.event_at
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, at, started_at) / 1e3 AS ms FROM closings
        )
        SELECT concat(member, ' (close)') AS subject, at,
               coalesce(ms <= :start_ms + :slack_ms, false) AS ok, ms AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :start_ms + :slack_ms AS bound_high,
               concat('a static member does not say that it leaves; ',
                      coalesce(reason, 'no rebalance started after it')) AS why,
               CAST(NULL AS STRING) AS evidence, at AS guard_from,
               timestampadd(MILLISECOND, :start_ms + :guard_ms, at) AS guard_to
        FROM timed
        """,
        start_ms=START_MS,
    )
    heard = t.sql(_STARTS, first="left", second="evicted", start_ms=START_MS)
    return t.union(heard, silent)


def _eviction_starts_one(t: Tables) -> Frame:
    return t.sql(_STARTS, first="evicted", second="evicted", start_ms=START_MS)


def _told_by_heartbeat(t: Tables) -> Frame:
    """Members of the generation before that rejoined and had not caused the rebalance.

    A member that rejoined before its next heartbeat (the second round of a cooperative rebalance)
    did not need to be told and is not examined. A heartbeat that had come before the rebalance
    began may be answered, or told to be, some milliseconds after that as if nothing was up.
    """
    return t.sql(
        """
        WITH begun AS (
            SELECT number, broker, generation, generation_before, started_at, joined_at, reason
            FROM {generations}
            WHERE event = 'stabilized' AND broker = broker_before AND started_at IS NOT NULL
        ),
        joins AS (
            SELECT broker, generation, member_id, client_id AS member, arrived_at
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
        ),
        rejoined AS (
            -- The first join of a generation: a follower that joins anew later is told at once
            -- that it has this generation already.
            SELECT b.number, b.generation, b.started_at, j.member_id, j.member,
                   min(j.arrived_at) AS arrived_at
            FROM begun b JOIN joins j ON j.broker = b.broker AND j.generation = b.generation
            JOIN joins p ON p.broker = b.broker AND p.generation = b.generation_before
             AND p.member_id = j.member_id
            WHERE j.arrived_at > b.started_at AND NOT contains(coalesce(b.reason, ''), j.member_id)
            GROUP BY b.number, b.generation, b.started_at, j.member_id, j.member
        ),
        told AS (
            SELECT r.number, r.generation, r.started_at, r.member_id, r.member, r.arrived_at,
                   min(h.at) FILTER (WHERE h.error_code = 27) AS told_at,
                   count_if(h.error_code = 0
                            AND h.at > timestampadd(MILLISECOND, :slack_ms, r.started_at))
                       AS misled
            FROM rejoined r JOIN {heartbeats} h
              ON h.member_id = r.member_id AND h.at >= r.started_at AND h.at <= r.arrived_at
            GROUP BY ALL
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, started_at, told_at) / 1e3 AS ms FROM told
            WHERE told_at IS NOT NULL OR misled > 0
        )
        SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
               misled = 0 AND coalesce(ms <= :heartbeat_ms + :cadence_ms + :slack_ms, false) AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               :heartbeat_ms + :cadence_ms + :slack_ms AS bound_high,
               CASE WHEN misled > 0 THEN concat(misled, ' heartbeats answered as if nothing was up')
                    ELSE 'told by a heartbeat answered 27' END AS why,
               timestampadd(MILLISECOND, -:guard_ms, started_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, coalesce(told_at, arrived_at)) AS guard_to
        FROM timed
        """
    )


def _generations_count_up(t: Tables) -> Frame:
    """Steps between generations, each through all states.

    The coordinator's log tells of each change of state: the group is being prepared, all have
    joined, the leader's assignment is there. A generation that was overtaken before its leader gave
    one says nothing of that last, and is not stored: a coordinator that takes over begins from the
    one before and uses the number again.
    """
    return t.sql(
        """
        WITH steps AS (
            SELECT *, lag(times) OVER (ORDER BY number) AS times_before FROM {generations}
        )
        SELECT concat('generation ', generation) AS subject, joined_at AS at,
               (generation = generation_before + 1
                   OR broker <> broker_before AND times_before = 0
                      AND generation = generation_before)
                   AND started_at IS NOT NULL
                   AND coalesce(broker_after <> broker OR synced_at <= next_started_at, true) AS ok,
               generation - generation_before AS measured, 1 AS bound_low, 1 AS bound_high,
               concat('after generation ', generation_before,
                      CASE WHEN started_at IS NULL THEN ', was never prepared'
                           WHEN broker_after = broker AND synced_at > next_started_at
                           THEN ', given out when the next was being prepared'
                           ELSE '' END) AS why,
               evidence
        FROM steps WHERE generation_before IS NOT NULL
        """
    )


def _close_leaves(t: Tables) -> Frame:
    """Members that were in the group when they closed; what left before then has nothing to say.

    Static members are to stay silent, and are not examined.
    """
    return t.sql(
        """
        WITH closings AS (
            SELECT c.member, c.event_at AS at, max_by(s.member_id, s.joined_at) AS member_id
            FROM {client_events} c JOIN {memberships} s
              ON s.member = c.member AND s.joined_at <= c.event_at
             AND (s.removed_at IS NULL OR s.removed_at >= c.event_at)
            WHERE c.event = 'closing' AND s.instance_id IS NULL
            GROUP BY c.member, c.event_at
        ),
        gone AS (
            SELECT c.member, c.at, g.at AS left_at, g.rebalancing, g.next_reason, g.evidence,
                   timestampdiff(MICROSECOND, g.at, g.next_start_at) / 1e3 AS ms
            FROM closings c LEFT JOIN {group_steps} g
              ON g.event = 'left' AND g.member_id = c.member_id AND g.at >= c.at
        )
        SELECT concat(member, ' (close)') AS subject, at,
               left_at IS NOT NULL
                   AND (rebalancing OR coalesce(ms <= :start_ms + :slack_ms, false)) AS ok,
               CASE WHEN NOT rebalancing THEN ms END AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :start_ms + :slack_ms AS bound_high,
               CASE WHEN left_at IS NULL THEN 'the coordinator never heard that it left'
                    WHEN rebalancing THEN 'members were being waited for already'
                    ELSE next_reason END AS why,
               evidence,
               -- The coordinator tells both moments itself, as above.
               CASE WHEN rebalancing OR ms <= :start_ms + :slack_ms THEN NULL ELSE left_at END
                   AS guard_from,
               timestampadd(MILLISECOND, :start_ms + :guard_ms, left_at) AS guard_to
        FROM gone
        """,
        start_ms=START_MS,
    )


ONE_LEADER = Rule(
    id="R12",
    title="One leader per generation",
    statement=(
        "In each generation one member that joined it leads the group and gives the assignment "
        "once; the leader stays while it rejoins."
    ),
    source="seed 001, JoinGroup phase",
    unit="assignments",
    things="generations",
    measures="received",
    examine=_one_assignment,
    protocols=CLASSIC,  # in KIP-848 the coordinator assigns: X24
)
NEW_MEMBER = Rule(
    id="R20a",
    title="A new member starts a rebalance",
    statement="A member that joins a group starts a rebalance, unless one is under way.",
    source="seed 002, rebalance conditions; seed 001, triggers",
    unit="ms",
    things="new members",
    measures="until the rebalance started",
    examine=_new_member_starts_one,
)
DEPARTURE = Rule(
    id="R20b",
    title="A departure starts a rebalance",
    statement=(
        "A member that leaves or is evicted starts a rebalance at once, unless one is under way."
    ),
    source="seed 002, rebalance conditions; seed 003, LEAVE_GROUP",
    unit="ms",
    things="departures",
    measures="until the rebalance started",
    examine=_departure_starts_one,
)
SESSION_END = Rule(
    id="R20e",
    title="A session that ends starts a rebalance",
    statement=(
        "A member whose session runs out is evicted, and a rebalance starts at once, unless one "
        "is under way."
    ),
    source="seed 002, rebalance conditions (session.timeout.ms)",
    unit="ms",
    things="evictions",
    measures="until the rebalance started",
    examine=_eviction_starts_one,
    protocols=CLASSIC,
)
TOLD_BY_HEARTBEAT = Rule(
    id="R32",
    title="Members learn of a rebalance by their heartbeat",
    statement=(
        "The coordinator answers each member's next heartbeat with REBALANCE_IN_PROGRESS, and the "
        "member rejoins."
    ),
    source="seed 003, HEARTBEAT",
    unit="ms",
    things="members told",
    measures="after the rebalance started",
    examine=_told_by_heartbeat,
    protocols=CLASSIC,  # in KIP-848 heartbeats carry the assignment itself: X20
)
GENERATIONS = Rule(
    id="R33",
    title="Generations count up by one, through all states",
    statement=(
        "Each completed join gives the group the next generation, whichever broker is asked: it is "
        "prepared, completed by the members' joins, and stable with the leader's assignment, in "
        "this order."
    ),
    source="seed 003, group states",
    unit="generations",
    things="generations",
    measures="further than the one before",
    examine=_generations_count_up,
    protocols=CLASSIC,  # group epochs of KIP-848 are passed over: X24
)
CLOSE_LEAVES = Rule(
    id="X14",
    title="close() leaves the group at once",
    statement=(
        "A dynamic member that closes sends LeaveGroup, and the others' rebalance starts at once, "
        "not after a session."
    ),
    source="KIP-62; KafkaConsumer.close; rd_kafka_consumer_close",
    unit="ms",
    things="closed members",
    measures="from leaving to the rebalance",
    examine=_close_leaves,
)
