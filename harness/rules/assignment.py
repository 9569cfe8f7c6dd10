"""How evenly partitions are given out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables


# What each member has in a generation of the classic protocol, as its leader gave it.
_GIVEN_BY_LEADER = """
    WITH joined AS (
        SELECT DISTINCT j.broker, j.generation, j.member_id, m.member
        FROM {requests} j LEFT JOIN {memberships} m ON m.member_id = j.member_id
        WHERE j.`group` = :group AND j.api = 'JOIN_GROUP' AND j.error_code = 0
    ),
    given AS (
        SELECT broker, generation, member_id, count(DISTINCT topic, partition) AS size,
               min(at) AS at, min(evidence) AS evidence
        FROM {assignments} GROUP BY broker, generation, member_id
    ),
    -- A static member that came back later joined in the same generation, under another id.
    whole AS (
        SELECT j.broker, j.generation, j.member_id, coalesce(g.size, 0) AS size, g.at,
               g.evidence
        FROM joined j JOIN {generations} d
          ON d.broker = j.broker AND d.generation = j.generation AND d.event = 'stabilized'
        JOIN {memberships} m ON m.member_id = j.member_id AND m.joined_at <= d.joined_at
        LEFT JOIN given g
          ON g.broker = j.broker AND g.generation = j.generation AND g.member_id = j.member_id
    )
"""

# The same of an epoch of KIP-848: what each member that its target was computed for had been told
# when all of them had heard of it. Who was gone by then has no part in it; where somebody else has
# not heard of it, nothing can be said.
_TOLD_BY_HEARTBEATS = """
    WITH told AS (
        SELECT d.coordinator AS broker, d.generation, m.stay AS member_id, d.completed_at AS at,
               coalesce(max_by(size(b.assigned), b.processed_at)
                            FILTER (WHERE b.assigned IS NOT NULL), 0) AS size,
               max_by(b.evidence, b.processed_at) AS evidence,
               count_if(b.member_epoch = d.generation) > 0 AS heard
        FROM {rebalances} d
        JOIN {memberships} m ON m.joined_at <= d.joined_at
         AND (m.removed_at IS NULL OR m.removed_at > d.completed_at)
        LEFT JOIN {requests} b
          ON b.member_id = m.member_id AND b.`group` = :group
         AND b.api = 'CONSUMER_GROUP_HEARTBEAT' AND b.error_code = 0
         AND b.processed_at <= d.completed_at
         AND (m.since_at IS NULL OR b.arrived_at > m.since_at)
        WHERE d.protocol = 'consumer' AND d.completed_at IS NOT NULL
        GROUP BY d.coordinator, d.generation, m.stay, d.completed_at
    ),
    whole AS (
        SELECT * FROM (
            SELECT *, bool_and(heard) OVER (PARTITION BY broker, generation) AS complete FROM told)
        WHERE complete
    )
"""

_SPREAD = """
    , sizes AS (
        SELECT broker, generation, min(at) AS at, min(evidence) AS evidence,
               count(*) AS members, sum(size) AS partitions, max(size) - min(size) AS spread,
               array_join(reverse(array_sort(collect_list(size))), '+') AS sizes
        FROM whole GROUP BY broker, generation
    ),
    -- A topic may have grown, which the group may know before the observer does.
    grown AS (
        SELECT s.broker, s.generation, count(DISTINCT p.partition) AS partitions
        FROM sizes s JOIN {topology} p ON p.topic = :topic AND p.at <= s.at
        GROUP BY s.broker, s.generation
    )
    SELECT concat('generation ', generation) AS subject, at, spread <= 1 AS ok,
           spread AS measured, CAST(NULL AS DOUBLE) AS bound_low, 1 AS bound_high,
           concat(s.partitions, ' partitions for ', members, ' members: ', sizes) AS why,
           evidence
    FROM sizes s LEFT JOIN grown g USING (broker, generation)
    WHERE s.partitions >= greatest(:partitions, coalesce(g.partitions, 0))
"""


def _evenly(t: Tables) -> Frame:
    """Assignments, of a group leader or of the broker, that give every partition to somebody.

    The first round of a cooperative move leaves partitions out on purpose and is not examined, and
    neither is an epoch of KIP-848 that was overtaken before everybody had been told.
    """
    led, told = t.sql(_GIVEN_BY_LEADER + _SPREAD), t.sql(_TOLD_BY_HEARTBEATS + _SPREAD)
    return t.union(led, told)


EVENLY = Rule(
    id="R22",
    title="Partitions are spread evenly",
    statement=(
        "The partitions of one topic are given out so that no member has two more than another: "
        "three to three are one each, three to two are two and one, and who is too many is idle."
    ),
    source="seed 002, partition assignment",
    unit="partitions",
    things="whole assignments",
    measures="between the most and the least",
    examine=_evenly,
)
