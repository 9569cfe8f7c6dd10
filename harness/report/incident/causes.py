"""The reasons that coordinators log, what each means, and what to look at next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from harness.report.incident.faults import FAULTS, Cause


@dataclass(frozen=True)
class Program:
    """What is known by its members' client.ids, and has its own things to look at."""

    name: str
    client_ids: str  # a pattern
    next: tuple[str, ...]
    again: str = ""  # the cause if a member joins again without a reason


PROGRAMS: Final = (
    Program(
        "workers of Kafka Connect",
        r"connect-(\d+|.+:\d+)",
        (
            (
                "Workers share a group.id and its topics. Look for a second Connect cluster with "
                "this group.id, and for workers with another config.storage.topic, which has to "
                "have one partition and to be compacted."
            ),
            (
                "Each connector that is created, changed, restarted or deleted is a rebalance: "
                "look for who changes connectors all the time (Connect's REST log, an operator)."
            ),
        ),
        again="connect",
    ),
    Program(
        "instances of Schema Registry",
        r"sr-\d+",
        (
            (
                "Instances use the group to elect their leader, and take no writes meanwhile. "
                "Each needs a host.name of its own; a second cluster of them needs another "
                "schema.registry.group.id."
            ),
        ),
    ),
)

_DEPLOY: Final = (
    (
        "Is it a deploy or a restart? Each member that leaves and comes back costs the group two"
        " rebalances; a static member (group.instance.id) that is back within its session "
        "timeout costs none."
    ),
    (
        "If nobody deployed, look at why the processes ended: their exit codes, their "
        "supervisor's events."
    ),
)

CAUSES: Final = {
    cause.name: cause
    for cause in (
        *FAULTS,
        Cause(
            "metadata",
            "partitions or topics changed",
            "the topics of the group changed {times} (noticed by {who})",
            (
                (
                    "Were partitions added, or topics created or deleted that a pattern "
                    "subscribes to? Who does that, and how often? A wide pattern rebalances the "
                    "group for each new topic."
                ),
            ),
            experiment="add-partitions",
        ),
        Cause(
            "subscription",
            "subscription changed",
            "{who} changed the subscription, {times}",
            (
                (
                    "Members of one group should subscribe to the same topics. Look for a "
                    "program that calls subscribe again and again, or for two versions or two "
                    "programs in one group."
                ),
            ),
        ),
        Cause(
            "assignor",
            "protocol changed",
            "{who} came with another assignor or other settings, {times}",
            (
                (
                    "A deploy changed partition.assignment.strategy or the subscription of a "
                    "static member. It stops when all members run the same version."
                ),
            ),
        ),
        Cause(
            "enforced",
            "asked for by the application",
            "{who} asked for a rebalance {times}",
            (
                (
                    "The application calls enforceRebalance. Kafka Streams does so in probing "
                    "rebalances (probing.rebalance.interval.ms) until its tasks are where it "
                    "wants them."
                ),
            ),
        ),
        Cause(
            "removed_by_admin",
            "removed by an administrator",
            "{who} {was} removed by an administrator's call, {times}",
            (
                (
                    "Look for who calls removeMembersFromConsumerGroup, such as an operator or a"
                    " script."
                ),
            ),
        ),
        Cause(
            "converted",
            "protocol of the group changed",
            "the protocol of the group changed {times}: {who}",
            (
                (
                    "Members of both protocols are in one group: finish the move, or turn it "
                    "back for all (group.protocol; group.consumer.migration.policy on the "
                    "brokers)."
                ),
            ),
            experiment="protocol-upgrade",
        ),
        Cause(
            "deploy",
            "replaced in a deploy",
            "members left and others joined, one after the other: {who}. It looks like a deploy "
            "or a rolling restart",
            _DEPLOY,
            experiment="rolling-deploy",
        ),
        Cause(
            "come_and_go",
            "members come and go",
            "members joined and left again all the time, {times}: {who}",
            (
                (
                    "Look at what starts and ends these processes: an autoscaler, a scheduled job "
                    "or a restart loop. Each join and each departure costs the group a rebalance."
                ),
                (
                    "A member that gives no reason may have exceeded max.poll.interval.ms as well: "
                    "its own log says so."
                ),
            ),
            experiment="consumer-join",
        ),
        Cause(
            "instance_replaced",
            "static member replaced",
            "the processes of {who} were started again under the same instance id, {times}",
            (
                (
                    "This costs no rebalance, and may be an ordinary restart: a static member of "
                    "the classic protocol does not leave when it closes. It has to be back within "
                    "its session timeout."
                ),
                "If nobody started a process again, two of them share this group.instance.id.",
            ),
            experiment="static-bounce",
        ),
        Cause(
            "closed",
            "member closed",
            "{who} closed and left, {times}",
            _DEPLOY,
        ),
        Cause(
            "unsubscribed",
            "member unsubscribed",
            "{who} unsubscribed from all topics and left, {times}",
            ("The application calls unsubscribe: look at why it does so while it runs.",),
        ),
        Cause(
            "left",
            "member left",
            "{who} left {times}{why}",
            (
                (
                    "Only some clients say why they leave. It was closed, or it exceeded "
                    "max.poll.interval.ms: its own log says which (librdkafka: “Application "
                    "maximum poll interval exceeded”)."
                ),
                *_DEPLOY,
            ),
        ),
        Cause(
            "static_away",
            "static member away",
            "{who} left for now, {times}: {it} may come back within the session without a "
            "rebalance",
            ("A restart of a static member: see that it is back before its session is over.",),
            experiment="static-bounce",
        ),
        Cause(
            "joined",
            "member joined",
            "{who} joined, {times}",
            (
                (
                    "New members are a start, a deploy or a scale-up. If they come all the time,"
                    " something starts processes that end again: look at its restarts."
                ),
            ),
            experiment="consumer-join",
        ),
        Cause(
            "static_changed",
            "static member came back changed",
            "{who} came back with other settings, {times}",
            (
                (
                    "A static member that comes back unchanged costs no rebalance: compare its "
                    "settings."
                ),
            ),
        ),
        Cause(
            "cooperative",
            "second step of a cooperative rebalance",
            "{who} gave up partitions and joined again, {times}: the second step of a "
            "cooperative rebalance",
            (
                (
                    "The cooperative protocol moves partitions in two rebalances. It doubles "
                    "whatever starts the first ones: look for that."
                ),
            ),
            sort="follows",
            experiment="cooperative-join",
        ),
        Cause(
            "rejoined",
            "member joined again",
            "{who} joined again {times}{why}",
            (
                (
                    "Clients do so when topics or partitions changed, in the second step of a "
                    "cooperative rebalance, and after an error. Java's say which since 3.2, if the "
                    "broker is of 3.2 too; of others only their own logs do."
                ),
            ),
            sort="follows",
        ),
        Cause(
            "elsewhere",
            "begun by another member",
            "{who} heard {times} that the group rebalances, and not why",
            (
                (
                    "Another member began it, whose log is not here, or the coordinator. The log "
                    "of the broker that coordinates the group says who and why."
                ),
            ),
            sort="follows",
        ),
        Cause(
            "interrupted",
            "rebalance begun anew",
            "{who} joined anew {times}, since the rebalance before was not over or failed",
            (
                (
                    "One rebalance interrupts the next: look for what starts them. Members that "
                    "commit while the group rebalances are sent back to join too."
                ),
            ),
            sort="follows",
        ),
        Cause(
            "unlogged",
            "no reason logged",
            "the group rebalanced {times}, and the coordinator did not log why",
            ("Kafka 2.0 logs no reasons. Members that join and leave cause a rebalance each.",),
            sort="follows",
        ),
        Cause(
            "unknown",
            "other",
            "a rebalance has a reason that is not known here, {times} (named: {who}){why}",
            ("Read the reason in the table of rebalances.",),
            sort="follows",
        ),
    )
}
