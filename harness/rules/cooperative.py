"""What a rebalance takes away: everything (eager), or only what moves (KIP-429)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

_COOPERATIVE = ("cooperative",)


def _only_moved_is_revoked(t: Tables) -> Frame:
    """Partitions that a member was told to give up, and who had each next.

    What a member gives up because it closes is not examined.
    """
    return t.sql(
        """
        WITH given_up AS (
            SELECT o.member, o.topic, o.partition, o.to_at AS at
            FROM {ownership} o LEFT ANTI JOIN {client_events} c
              ON c.member = o.member AND c.event = 'closing' AND c.event_at <= o.to_at
            WHERE o.ended_by = 'revoked'
        ),
        next AS (
            SELECT g.member, g.topic, g.partition, g.at, min_by(o.member, o.from_at) AS next_member,
                   min(o.from_at) AS next_at
            FROM given_up g LEFT JOIN {ownership} o
              ON o.topic = g.topic AND o.partition = g.partition AND o.from_at >= g.at
            GROUP BY g.member, g.topic, g.partition, g.at
        )
        SELECT concat(member, ' gave up ', topic, '-', partition) AS subject, at,
               next_member <> member AS ok,
               timestampdiff(MICROSECOND, at, next_at) / 1e3 AS measured,
               CASE WHEN next_member IS NULL THEN 'nobody had it until the run ended'
                    WHEN next_member = member THEN 'it had the same partition next'
                    ELSE concat('for ', next_member) END AS why
        FROM next
        """
    )


# Who was given each partition in which generation, beside who had been given it before.
_MOVES = """
    given AS (
        SELECT DISTINCT broker, generation, member_id, coalesce(instance_id, member) AS member,
               topic, partition, evidence, at
        FROM {assignments}
    ),
    followed AS (
        SELECT *, lag(member) OVER w AS member_before, lag(member_id) OVER w AS id_before,
               lag(generation) OVER w AS generation_before
        FROM given WINDOW w AS (PARTITION BY topic, partition ORDER BY at, generation)
    ),
    joined AS (
        SELECT DISTINCT generation, member_id FROM {requests}
        WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
    )
"""


def _moves_in_two(t: Tables) -> Frame:
    """Partitions that went from one member to another while both were in the group."""
    return t.sql(
        f"""
        WITH {_MOVES}
        SELECT concat(f.topic, '-', f.partition, ' from ', f.member_before, ' to ', f.member)
                   AS subject,
               f.at, f.generation - f.generation_before >= 2 AS ok,
               f.generation - f.generation_before AS measured, 2 AS bound_low,
               concat('given up in generation ', f.generation_before + 1,
                      ', given away in ', f.generation) AS why,
               f.evidence
        FROM followed f JOIN joined j
          ON j.generation = f.generation AND j.member_id = f.id_before
        WHERE f.member <> f.member_before
        """
    )


def _kept_goes_on(t: Tables) -> Frame:
    """Partitions whose owner kept them through a rebalance, and how long each stood still in it.

    Measured against the longest time that any partition stood still in this run while no rebalance
    was under way. The longest of few is longer than the longest of many now and then: so only a
    standstill counts that lasted for half of its member's wait in the join phase, to its end, and
    only if that wait was longer than the pauses that there are without one.
    """
    return t.sql(
        """
        WITH spans AS (
            SELECT generation, joined_at, started_at,
                   coalesce(completed_at, joined_at) AS completed_at
            FROM {generations} WHERE started_at IS NOT NULL AND members > 0
        ),
        gaps AS (
            SELECT topic, partition, busy_until AS from_at, polled_at AS to_at,
                   timestampdiff(MICROSECOND, busy_until, polled_at) / 1e3 AS ms
            FROM {progress} WHERE busy_until < polled_at
        ),
        calm AS (
            SELECT max(g.ms) AS ms FROM gaps g LEFT ANTI JOIN spans s
              ON g.from_at <= s.completed_at AND g.to_at >= s.started_at
            WHERE g.from_at > (SELECT min(completed_at) FROM spans)
        ),
        kept AS (
            SELECT s.generation, s.joined_at, any_value(s.started_at) AS started_at,
                   any_value(s.completed_at) AS completed_at, o.topic, o.partition,
                   any_value(o.member) AS member
            FROM spans s JOIN {ownership} o
              ON o.from_at < s.started_at AND (o.to_at IS NULL OR o.to_at > s.completed_at)
             AND o.removed_at IS NULL
            JOIN {assignments} a
              ON a.generation = s.generation AND a.topic = o.topic AND a.partition = o.partition
             AND a.member = o.member
            GROUP BY s.generation, s.joined_at, o.topic, o.partition
        ),
        waits AS (
            SELECT generation, client_id AS member, max(processed_at) AS to_at,
                   timestampadd(MICROSECOND, CAST(max(
                       timestampdiff(MICROSECOND, arrived_at, processed_at)) DIV 2 AS BIGINT),
                       max(arrived_at)) AS middle_at,
                   max(timestampdiff(MICROSECOND, arrived_at, processed_at)) / 1e3 AS ms
            FROM {requests}
            WHERE `group` = :group AND api = 'JOIN_GROUP' AND error_code = 0
            GROUP BY generation, client_id
        ),
        measured AS (
            SELECT k.generation, k.joined_at, k.started_at, k.completed_at, k.topic, k.partition,
                   k.member, coalesce(max(st.ms), 0) AS ms,
                   count_if(g.from_at <= w.middle_at AND g.to_at >= w.to_at) > 0 AS through,
                   any_value(w.ms) AS waited_ms
            FROM kept k LEFT JOIN {standstills} st
              ON st.generation = k.generation AND st.joined_at = k.joined_at
             AND st.topic = k.topic AND st.partition = k.partition
            LEFT JOIN gaps g
              ON g.topic = k.topic AND g.partition = k.partition AND g.ms = st.ms
             AND g.from_at <= k.completed_at AND g.to_at >= k.started_at
            LEFT JOIN waits w ON w.generation = k.generation AND w.member = k.member
            GROUP BY k.generation, k.joined_at, k.started_at, k.completed_at, k.topic, k.partition,
                     k.member
        )
        SELECT concat(m.topic, '-', m.partition, ' in generation ', m.generation) AS subject,
               m.joined_at AS at,
               CASE WHEN c.ms IS NOT NULL THEN m.ms <= c.ms + :slack_ms OR NOT m.through
                                                 OR m.waited_ms < c.ms END AS ok,
               m.ms AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, c.ms + :slack_ms AS bound_high,
               concat('kept by ', m.member, '; at most ', CAST(round(c.ms) AS INT),
                      ' ms between rebalances') AS why,
               timestampadd(MILLISECOND, -:guard_ms, m.started_at) AS guard_from,
               timestampadd(MILLISECOND, :guard_ms, m.completed_at) AS guard_to
        FROM measured m CROSS JOIN calm c
        """
    )


def _all_is_revoked(t: Tables) -> Frame:
    """Members that went through a rebalance with partitions, and how many they kept meanwhile."""
    return t.sql(
        """
        WITH spans AS (
            SELECT g.broker, g.generation, g.started_at, g.joined_at, j.client_id AS member
            FROM {generations} g JOIN {requests} j
              ON j.broker = g.broker AND j.generation = g.generation AND j.`group` = :group
             AND j.api = 'JOIN_GROUP' AND j.error_code = 0
            WHERE g.event = 'stabilized' AND g.started_at IS NOT NULL
              AND j.arrived_at <= g.joined_at
            GROUP BY ALL
        ),
        held AS (
            SELECT s.generation, s.member, s.started_at, count(*) AS held,
                   count_if(o.to_at IS NULL OR o.to_at > s.joined_at) AS kept
            FROM spans s JOIN {ownership} o
              ON o.member = s.member AND o.from_at < s.started_at
             AND (o.to_at IS NULL OR o.to_at > s.started_at) AND o.removed_at IS NULL
            GROUP BY s.generation, s.member, s.started_at
        )
        SELECT concat(member, ' in generation ', generation) AS subject, started_at AS at,
               kept = 0 AS ok, kept AS measured, CAST(NULL AS DOUBLE) AS bound_low,
               0 AS bound_high,
               CASE WHEN kept = 0 THEN concat('gave up all ', held)
                    ELSE concat('kept ', kept, ' of ', held) END AS why
        FROM held
        """
    )


ALL_IS_REVOKED = Rule(
    id="R15-all",
    title="A rebalance takes every partition away (documented for eager)",
    statement="In a rebalance each member gives up all its partitions before the new assignment.",
    source="seed 001, rebalance phases and its listener; PartitionAssignor, EAGER",
    unit="partitions",
    things="members per rebalance",
    measures="kept through it",
    examine=_all_is_revoked,
    protocols=CLASSIC,
)
ONLY_MOVED = Rule(
    id="X01",
    title="A cooperative rebalance revokes only what moves",
    statement=(
        "In a cooperative rebalance a member is told to give up only partitions that another "
        "member gets."
    ),
    source="KIP-429; CooperativeStickyAssignor",
    unit="ms",
    things="partitions given up",
    measures="until another member had it",
    examine=_only_moved_is_revoked,
    protocols=_COOPERATIVE,
)
TWO_GENERATIONS = Rule(
    id="X01-two",
    title="A cooperative move takes two generations",
    statement=(
        "A partition that moves between two members of the group belongs to nobody for a "
        "generation: one takes it away, the next gives it."
    ),
    source="KIP-429",
    unit="generations",
    things="partitions moved",
    measures="from the one assignment to the other",
    examine=_moves_in_two,
    protocols=_COOPERATIVE,
)
KEPT_GOES_ON = Rule(
    id="X01-kept",
    title="What does not move is not interrupted",
    statement=(
        "A partition that its member keeps through a cooperative rebalance stands still no longer "
        "than between rebalances."
    ),
    source="KIP-429",
    unit="ms",
    things="partitions kept",
    measures="of standstill",
    examine=_kept_goes_on,
    protocols=_COOPERATIVE,
)
