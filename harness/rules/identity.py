"""That each request says whose it is, and that a generation agrees on its assignor."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

# What names a member id, and an instance id as its client likes.
FOR_THE_ID: Final = "'LEAVE_GROUP', 'TXN_OFFSET_COMMIT'"
# How late the observer may see a new partition. Over the kept runs it saw each before its members.
SEEN_LATE_MS: Final = 2_000


@Rule(
    "X52",
    title="A member says who it is",
    statement="A static member names its own instance id in each request by which it joins, stays "
    "or commits (in KIP-848: by which it joins), a dynamic one none, and no member names the "
    "member id of another.",
    source="KIP-345, Static Membership; KIP-848, ConsumerGroupHeartbeat",
    unit="requests",
    things="members",
    measures="in another's name, or without its own",
    too_high="did not say who it was",
    matters="Of two processes with one instance id the coordinator fences the older, by this "
    "name; a request without it comes from a member that cannot be fenced.",
    in_passing=True,
)
def says_who_it_is() -> str:
    """Each member's requests beside its settings; what a program is called is not known here."""
    return """
        WITH asked AS (
            SELECT r.member, r.member_id, r.api, r.arrived_at, r.generation, r.evidence,
                   r.instance_id AS named, m.instance_id AS own,
                   min(r.member) OVER (PARTITION BY r.member_id) AS first_member,
                   min(r.arrived_at) OVER (PARTITION BY r.member_id, r.member) AS since_at
            FROM {own_requests} r JOIN {members} m ON m.member = r.member
            WHERE m.role = 'consumer' AND :client <> 'app'
              AND r.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT', 'OFFSET_COMMIT',
                            'CONSUMER_GROUP_HEARTBEAT', {FOR_THE_ID})
        ), owners AS (
            SELECT member_id, min_by(member, since_at) AS owner FROM asked
            WHERE member_id IS NOT NULL GROUP BY member_id
        ), judged AS (
            SELECT a.*,
                   CASE WHEN o.owner <> a.member THEN concat('the member id of ', o.owner)
                        WHEN a.own IS NULL AND a.api IN ('JOIN_GROUP', 'SYNC_GROUP', 'HEARTBEAT')
                             AND a.member_id NOT LIKE concat(a.member, '-%')
                        THEN concat('the member id ', a.member_id)
                        WHEN a.api IN ({FOR_THE_ID}) THEN NULL
                        WHEN a.named <> a.own OR a.named IS NOT NULL AND a.own IS NULL
                        THEN concat('the instance id ', a.named)
                        WHEN a.own IS NOT NULL AND a.named IS NULL
                             AND (a.api <> 'CONSUMER_GROUP_HEARTBEAT' OR a.generation = 0)
                        THEN 'no instance id' END AS odd
            FROM asked a LEFT JOIN owners o ON o.member_id = a.member_id
        ), worst AS (
            SELECT member, max(own) AS own, min(arrived_at) AS at, count(*) AS requests,
                   count_if(odd IS NOT NULL) AS times,
                   min(struct(arrived_at, evidence, api, odd)) FILTER (WHERE odd IS NOT NULL)
                       AS first
            FROM judged GROUP BY member
        )
        SELECT concat(member, ' (identity)') AS subject, coalesce(first.arrived_at, at) AS at,
               times AS measured, 0 AS bound_high,
               IF(times > 0, clause('named ', first.odd, ' in a ', first.api), NULL) AS wrong,
               concat(requests, ' requests of ',
                      coalesce(concat('static ', own), 'a dynamic member')) AS note,
               first.evidence AS evidence
        FROM worst
    """


@Rule(
    "X53",
    title="The assignor is one that every member offers",
    statement="All members of a generation are told the same assignor, and it is one that each of "
    "them has offered.",
    source="ClassicGroup.selectProtocol; JoinGroup, protocols",
    unit="members",
    things="generations",
    measures="had not offered it",
    too_high="was assigned by an assignor that members had not offered",
    matters="A rolling change of the assignor works because the group keeps to one that the old "
    "and the new processes know.",
    protocols=CLASSIC,
    in_passing=True,
)
def offered_by_all() -> str:
    return """
        SELECT concat('generation ', generation) AS subject, min(processed_at) AS at,
               count_if(NOT array_contains(assignors, protocol_name)) AS measured, 0 AS bound_high,
               IF(min(protocol_name) <> max(protocol_name),
                  clause('told some members ', min(protocol_name), ' and others ',
                         max(protocol_name)), NULL) AS wrong,
               concat(max(protocol_name), ' for ', count(*), ' joins') AS note,
               min(evidence) AS evidence
        FROM {joins}
        WHERE generation > 0 AND protocol_name IS NOT NULL AND assignors IS NOT NULL
        GROUP BY broker, generation
    """


@Rule(
    "X54",
    title="Only partitions that there are can be given",
    statement="An assignment, of a group leader or of the broker, has partitions of the "
    "subscribed topic only, and none that the topic has not got.",
    source="KIP-54; ConsumerPartitionAssignor.assign; KIP-848, target assignment",
    unit="partitions",
    things="assignments",
    measures="that there are not",
    too_high="has partitions that there are not",
    matters="Whoever is given a partition that does not exist has one of its share less to read, "
    "and looks for the partition's leader for ever.",
    in_passing=True,
    compares_clocks=True,
)
def partitions_that_there_are() -> str:
    """Each generation's assignment beside what the observer had seen of the topic by then."""
    return """
        WITH known AS (
            SELECT partition, min(at) AS seen_at
            FROM {topology} WHERE what = 'partition' AND topic = :topic GROUP BY partition
        ), given AS (
            SELECT a.broker, a.generation, a.topic, a.partition, a.at, a.member, a.evidence,
                   a.topic <> :topic
                   OR a.partition >= :partitions
                      AND coalesce(k.seen_at > after(:SEEN_LATE_MS, a.at), true) AS strange
            FROM {assignments} a LEFT JOIN known k ON k.partition = a.partition
            WHERE :client <> 'app'
        )
        SELECT concat('assignment of generation ', generation) AS subject, min(at) AS at,
               count_if(strange) AS measured, 0 AS bound_high,
               coalesce(concat('among them ', min(IF(strange, concat(topic, '-', partition), NULL)),
                               ' to ', min_by(member, IF(strange, 0, 1))),
                        concat(count(*), ' partitions')) AS note,
               min(evidence) AS evidence
        FROM given GROUP BY broker, generation
    """


@Rule(
    "X79",
    title="A member asks for what it was configured with",
    statement="The requests of a member name the client library and the version of its process, "
    "its group, the assignor that it was configured with, and in KIP-848 the topic that it is to "
    "read.",
    source="KIP-511; JoinGroup, protocols; ConsumerGroupHeartbeat, SubscribedTopicNames",
    unit="requests",
    things="members",
    measures="that name something else",
    too_high="named something else than it was configured with",
    matters="A verdict about a version says nothing if another version was under test.",
    in_passing=True,
)
def is_what_it_was_configured_to_be() -> str:
    """Our own members; a library of before KIP-511 does not name itself.

    Settings of the client library itself may name another assignor. Transactions have a
    coordinator too, which a member looks up by their id.
    """
    return """
        WITH said AS (
            SELECT r.member, r.arrived_at, r.evidence,
                   CASE WHEN r.client_software <> 'unknown'
                             AND concat(r.client_software, ' ', r.client_software_version) <> IF(
                                 m.client = 'java',
                                 concat('apache-kafka-java ',
                                        split_part(m.client_version, ' ', 2)),
                                 concat('confluent-kafka-python ',
                                        split_part(m.client_version, ' ', 2), '-rdkafka-',
                                        split_part(m.client_version, ' ', 4)))
                        THEN concat('named ', r.client_software, ' ', r.client_software_version,
                                    ', and runs ', m.client_version)
                        WHEN array_join(r.assignors, ',') <> coalesce(m.assignor, IF(
                                 m.protocol = 'eager', 'range', 'cooperative-sticky'))
                             AND r.api = 'JOIN_GROUP'
                             AND coalesce(m.settings, '') NOT LIKE '%assign%'
                        THEN concat('offered the assignor ', array_join(r.assignors, ','))
                        WHEN r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation >= 0
                             AND get_json_object(r.detail, '$.topics')
                                 <> concat('["', :topic, '"]')
                        THEN concat('subscribed to ', get_json_object(r.detail, '$.topics'))
                   END AS odd
            FROM {own_requests} r JOIN {members} m ON m.member = r.member
            WHERE m.role = 'consumer' AND :client <> 'app'
            UNION ALL
            SELECT r.client_id, r.arrived_at, r.evidence,
                   concat('sent a ', r.api, ' of the group ', r.`group`)
            FROM {requests} r LEFT SEMI JOIN {members} m ON m.member = r.client_id
            WHERE r.`group` <> :group AND r.api <> 'FIND_COORDINATOR' AND :client <> 'app'
        )
        SELECT concat(member, ' (configured)') AS subject,
               coalesce(min(IF(odd IS NULL, NULL, arrived_at)), min(arrived_at)) AS at,
               count(odd) AS measured, 0 AS bound_high,
               IF(count(odd) > 0, clause(min(struct(arrived_at, odd)) FILTER (
                   WHERE odd IS NOT NULL).odd), NULL) AS wrong,
               concat(count(*), ' requests') AS note,
               min_by(evidence, struct(arrived_at, evidence)) FILTER (WHERE odd IS NOT NULL)
                   AS evidence
        FROM said GROUP BY member
    """
