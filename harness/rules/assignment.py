"""How evenly partitions are given out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from harness.check.tables import Tables


def _evenly(t: Tables) -> DataFrame:
    """Assignments of a group leader that give every partition to somebody.

    The first round of a cooperative move leaves partitions out on purpose and is not examined.
    """
    return t.sql(
        """
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
        ),
        sizes AS (
            SELECT broker, generation, min(at) AS at, min(evidence) AS evidence,
                   count(*) AS members, sum(size) AS partitions, max(size) - min(size) AS spread,
                   array_join(reverse(array_sort(collect_list(size))), '+') AS sizes
            FROM whole GROUP BY broker, generation
        ),
        -- A topic may have grown.
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
        WHERE s.partitions = greatest(:partitions, coalesce(g.partitions, 0))
        """
    )


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
    protocols=CLASSIC,
)
