"""What a group makes of a topic that changes under it."""

from harness.rules.rule import THE_GROUP, Party, Rule

# The times at which partitions were added, and the numbers of those that came.
GROWTH = """
    grown AS (
        SELECT fault, injected_at AS at FROM {fault_windows}
        WHERE breaks = 'topic' AND took_effect
    ), fresh AS (
        SELECT DISTINCT partition FROM {topology}
        WHERE what = 'partition' AND topic = :topic AND partition >= :partitions
    )
"""


@Rule(
    "R20c",
    title="New partitions start a rebalance",
    statement="Partitions that are added to a subscribed topic are assigned within the clients' "
    "metadata refresh interval, one heartbeat interval and one second. In KIP-848 the brokers know "
    "of them, and two heartbeat intervals and one second are enough.",
    source="document 002, rebalance conditions; metadata.max.age.ms",
    unit="ms",
    things="new partitions",
    measures="until a member had it",
    too_high="was given to a member too late",
    matters="Until then nobody reads what producers already write to the new partitions.",
    delayed_by=(*THE_GROUP, Party.CONTROLLER),
)
def new_partitions_are_assigned() -> str:
    """Added partitions, each until a member has it.

    In a classic group the leader has to ask for metadata first; in a KIP-848 group the broker
    knows, and has to hear from one member and then from the partition's new owner.
    """
    return """
        WITH {GROWTH},
        owned AS (
            SELECT g.at, f.partition, min(o.from_at) AS owned_at,
                   min(struct(o.from_at, o.member)).member AS owner,
                   CASE WHEN :protocol = 'consumer' THEN 2 * :heartbeat_ms
                        ELSE :metadata_refresh_ms + :heartbeat_ms END + 1000 + :slack_ms AS high
            FROM grown g CROSS JOIN fresh f
            LEFT JOIN {ownership} o ON o.topic = :topic AND o.partition = f.partition
            GROUP BY g.at, f.partition
        ), timed AS (
            SELECT *, ms_between(at, owned_at) AS ms, after(high, at) > :stopped_at AS early
            FROM owned
        )
        SELECT concat(:topic, '-', partition) AS subject, at, ms AS measured, high AS bound_high,
               IF(ms IS NULL AND early, 'the run ended before it was due', NULL) AS unknown,
               IF(ms IS NULL AND NOT early, 'no member ever had it', NULL) AS wrong,
               concat('given to ', owner) AS note,
               IF(ms > high, after(-:guard_ms, at), NULL) AS guard_from, owned_at AS guard_to
        FROM timed
    """


@Rule(
    "R27-growth",
    title="A topic can get more partitions while it is consumed",
    statement="A topic can get more partitions, and its existing partitions stay as they are.",
    source="document 002, partition count",
    unit="partitions",
    things="topics that grew",
    measures="in total",
    too_low="has no more partitions than before",
    matters="A topic can be scaled while its consumers run.",
)
def only_grows() -> str:
    """Every partition that there was before has a leader at the end, and so has every new one."""
    return """
        WITH {GROWTH},
        seen AS (
            SELECT partition, max(struct(at, leader)).leader AS leader
            FROM {topology} WHERE what = 'partition' AND topic = :topic GROUP BY partition
        ), counted AS (
            SELECT count_if(partition < :partitions AND leader >= 0) AS before,
                   count_if(partition >= :partitions AND leader >= 0) AS added
            FROM seen
        )
        SELECT concat(:topic, ' (', g.fault, ')') AS subject, g.at,
               c.before + c.added AS measured, :partitions + 1 AS bound_low,
               CASE WHEN c.before <> :partitions
                    THEN clause('of the ', :partitions, ' partitions that it had, ', c.before,
                                ' have a leader') END AS wrong,
               concat('had ', :partitions, ', and ', c.added, ' were added') AS note
        FROM grown g CROSS JOIN counted c
    """


@Rule(
    "X16",
    title="Every librdkafka member notices new partitions by itself",
    statement="Each librdkafka member, not only the leader, joins again when it sees new "
    "partitions. A member that is not the leader gets the same generation back if the group is "
    "stable.",
    source="rdkafka_cgrp.c, rd_kafka_cgrp_metadata_update_check; GroupMetadataManager",
    unit="generations",
    things="joins that a member began by itself",
    measures="above the generation before",
    matters="The member's partitions stand still for a moment although the group does not "
    "rebalance.",
    clients=("librdkafka",),
    protocols=("eager",),
)
def noticed_alone() -> str:
    """Joins, after the topic grew, of members that no heartbeat had told to join.

    Several notice at the same time: who started a rebalance is named in the coordinator's reason,
    however late the line of its request or of the rebalance is stamped. Of several joins of one
    member the last before that line is meant. One that names it because it left, or was removed,
    tells nothing of a join.

    Law: a join that the coordinator names as the cause of a rebalance has started it.
    """
    return """
        WITH {GROWTH},
        moves AS (
            SELECT member_id, member, api, arrived_at AS at, generation, evidence,
                   lag(api) OVER w AS api_before, lead(arrived_at) OVER w AS next_at
            FROM {own_requests}
            WHERE api = 'JOIN_GROUP' AND error_code = :NONE
               OR api = 'HEARTBEAT' AND error_code = :REBALANCE_IN_PROGRESS
            WINDOW w AS (PARTITION BY member_id ORDER BY arrived_at, evidence)
        ), alone AS (
            SELECT m.* FROM moves m JOIN grown g
              ON m.at > g.at AND m.at <= after(:metadata_refresh_ms + :heartbeat_ms + 1000, g.at)
            WHERE m.api = 'JOIN_GROUP' AND m.api_before = 'JOIN_GROUP'
        ), standing AS (
            SELECT a.member, a.member_id, a.at, a.next_at, a.generation, a.evidence,
                   max(struct(g.joined_at, g.generation, g.leader, g.next_started_at)) AS last
            FROM alone a JOIN {generations} g ON after(:slack_ms, g.joined_at) <= a.at
            GROUP BY a.member, a.member_id, a.at, a.next_at, a.generation, a.evidence
        ), placed AS (
            SELECT s.member, s.at, s.generation, s.evidence, s.last.generation AS found,
                   s.last.leader = s.member_id AS leads,
                   coalesce(s.last.next_started_at >= after(-:rounding_ms, s.at), true) AS stable,
                   coalesce(s.last.next_started_at <= after(:slack_ms, s.at), false) AS started,
                   coalesce(e.reason LIKE concat('%', s.member_id, '%')
                            AND e.reason RLIKE '(?i)re-?join|updating metadata'
                            AND coalesce(e.at < s.next_at, true), false) AS named
            FROM standing s LEFT JOIN {coordinator_events} e
              ON e.`group` = :group AND e.event = 'rebalance_started'
             AND e.at = s.last.next_started_at
        )
        SELECT concat(member, IF(leads, ' (leader)', '')) AS subject, at,
               generation - found AS measured,
               CASE WHEN stable AND leads AND NOT (started OR named)
                    THEN 'its join started no rebalance'
                    WHEN stable AND NOT leads AND generation <> found AND named
                    THEN 'started a rebalance though it does not lead the group' END AS wrong,
               CASE WHEN NOT stable OR NOT leads AND generation <> found
                    THEN 'noticed by itself while a rebalance was under way'
                    WHEN leads THEN 'noticed by itself, and a rebalance started'
                    ELSE 'gave its partitions up and got them back, without a rebalance' END
                   AS note, evidence
        FROM placed
    """
