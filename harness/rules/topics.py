"""What a group makes of a topic that changes under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rules.rule import Rule

if TYPE_CHECKING:
    from harness.engines.base import Frame
    from harness.tables.base import Tables

# The times at which partitions were added, and the numbers of those that came.
_GROWTH = """
    grown AS (
        SELECT fault, injected_at AS at FROM {fault_windows}
        WHERE kind = 'add-partitions' AND took_effect
    ),
    fresh AS (
        SELECT DISTINCT partition FROM {topology}
        WHERE what = 'partition' AND topic = :topic AND partition >= :partitions
    )
"""


def _new_partitions_are_assigned(t: Tables) -> Frame:
    """Added partitions, each until a member has it.

    In a classic group the leader has to ask for metadata first; in a KIP-848 group the broker
    knows, and has to hear from one member and then from the partition's new owner.
    """
    return t.sql(
        f"""
        WITH {_GROWTH},
        owned AS (
            SELECT g.at, f.partition, min(o.from_at) AS owned_at,
                   min_by(o.member, o.from_at) AS owner,
                   CASE WHEN :protocol = 'consumer' THEN 2 * :heartbeat_ms
                        ELSE :metadata_refresh_ms + :heartbeat_ms END + 1000 + :slack_ms AS high
            FROM grown g CROSS JOIN fresh f
            LEFT JOIN {{ownership}} o ON o.topic = :topic AND o.partition = f.partition
            GROUP BY g.at, f.partition
        ),
        timed AS (
            SELECT *, timestampdiff(MICROSECOND, at, owned_at) / 1e3 AS ms,
                   timestampadd(MILLISECOND, high, at) > :stopped_at AS early FROM owned
        )
        SELECT concat(:topic, '-', partition) AS subject, at,
               CASE WHEN ms IS NULL AND early THEN NULL ELSE coalesce(ms <= high, false) END AS ok,
               ms AS measured, CAST(NULL AS DOUBLE) AS bound_low, high AS bound_high,
               CASE WHEN ms IS NOT NULL THEN concat('given to ', owner)
                    WHEN early THEN 'the run ended before it was due'
                    ELSE 'no member ever had it' END AS why,
               CASE WHEN ms > high THEN timestampadd(MILLISECOND, -:guard_ms, at) END AS guard_from,
               owned_at AS guard_to
        FROM timed
        """
    )


def _only_grows(t: Tables) -> Frame:
    """Every partition that there was before has a leader at the end, and so has every new one."""
    return t.sql(
        f"""
        WITH {_GROWTH},
        seen AS (
            SELECT partition, max_by(leader, at) AS leader, min(at) AS since
            FROM {{topology}} WHERE what = 'partition' AND topic = :topic GROUP BY partition
        ),
        counted AS (
            SELECT count_if(partition < :partitions AND leader > 0) AS before,
                   count_if(partition >= :partitions AND leader > 0) AS added,
                   max(since) AS at
            FROM seen
        )
        SELECT concat(:topic, ' (', g.fault, ')') AS subject, g.at,
               c.before = :partitions AND c.added > 0 AS ok, c.before + c.added AS measured,
               :partitions + 1 AS bound_low,
               concat('had ', :partitions, ', and ', c.added, ' came') AS why
        FROM grown g CROSS JOIN counted c
        """
    )


def _noticed_alone(t: Tables) -> Frame:
    """Joins, after the topic grew, of members that no heartbeat had told to join."""
    return t.sql(
        f"""
        WITH {_GROWTH},
        moves AS (
            SELECT member_id, client_id AS member, api, arrived_at AS at, generation, evidence,
                   lag(api) OVER (PARTITION BY member_id ORDER BY arrived_at) AS api_before
            FROM {{requests}}
            WHERE `group` = :group AND (api = 'JOIN_GROUP' AND error_code = 0
                                        OR api = 'HEARTBEAT' AND error_code = 27)
        ),
        alone AS (
            SELECT m.* FROM moves m JOIN grown g
              ON m.at > g.at AND m.at <= timestampadd(
                     MILLISECOND, :metadata_refresh_ms + :heartbeat_ms + 1000, g.at)
            WHERE m.api = 'JOIN_GROUP' AND m.api_before = 'JOIN_GROUP'
        ),
        standing AS (
            SELECT a.member, a.member_id, a.at, a.generation, a.evidence,
                   max_by(g.generation, g.joined_at) AS found,
                   max_by(g.leader, g.joined_at) = a.member_id AS leads,
                   max_by(g.next_started_at, g.joined_at) AS next_started_at
            FROM alone a JOIN {{generations}} g ON g.joined_at <= a.at
            GROUP BY a.member, a.member_id, a.at, a.generation, a.evidence
        ),
        placed AS (
            SELECT *,
                   coalesce(next_started_at >= timestampadd(MILLISECOND, -:rounding_ms, at), true)
                       AS stable,
                   coalesce(next_started_at <= timestampadd(MILLISECOND, :slack_ms, at), false)
                       AS started
            FROM standing
        )
        SELECT concat(member, CASE WHEN leads THEN ' (leader)' ELSE '' END) AS subject, at,
               CASE WHEN NOT stable THEN true WHEN leads THEN started
                    ELSE generation = found END AS ok,
               generation - found AS measured,
               CASE WHEN NOT stable THEN 'noticed by itself while a rebalance was under way'
                    WHEN leads AND started THEN 'noticed by itself, and a rebalance started'
                    WHEN leads THEN 'its join started no rebalance'
                    WHEN generation = found
                    THEN 'gave its partitions up and got them back, without a rebalance'
                    ELSE 'started a rebalance though it does not lead the group' END AS why,
               evidence
        FROM placed
        """
    )


GROWTH = Rule(
    id="R20c",
    title="New partitions start a rebalance",
    statement=(
        "Partitions that are added to a subscribed topic are assigned within the clients' "
        "metadata refresh, one heartbeat and one second (KIP-848: two heartbeats and one second)."
    ),
    source="seed 002, rebalance conditions; metadata.max.age.ms",
    unit="ms",
    things="new partitions",
    measures="until a member had it",
    examine=_new_partitions_are_assigned,
)
ONLY_GROWS = Rule(
    id="R27-growth",
    title="A topic can get more partitions while it is consumed",
    statement="A topic's partitions can become more, and those that it had stay as they are.",
    source="seed 002, partition count",
    unit="partitions",
    things="topics that grew",
    measures="in all",
    examine=_only_grows,
)
NOTICED_ALONE = Rule(
    id="X16",
    title="Every librdkafka member notices new partitions by itself",
    statement=(
        "Each librdkafka member, not only the one that leads the group, joins again when it sees "
        "new partitions; one that does not lead and finds the group stable gets the same "
        "generation back."
    ),
    source="rdkafka_cgrp.c, rd_kafka_cgrp_metadata_update_check; GroupMetadataManager",
    unit="generations",
    things="joins that nobody asked for",
    measures="further",
    examine=_noticed_alone,
    clients=("librdkafka",),
    protocols=("eager",),
)
