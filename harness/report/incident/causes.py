"""The reasons that coordinators log, what each means, and what to look at next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Cause:
    """One reason why a group rebalances, or a member is put out."""

    name: str
    title: str  # of a column
    told: str  # what happened to whom: "{who} … {times}", {it} for it or they
    next: tuple[str, ...]  # what to look at, a sentence each
    # fault: something is wrong | change: somebody or something was changed | follows: comes of
    # another rebalance, and explains nothing by itself
    sort: str = "change"
    experiment: str = ""  # that plays it, of a group whose members do this


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
        Cause(
            "instance_fenced",
            "fenced static member",
            "two processes use the instance id of {who}: each fenced the other, {times}",
            (
                (
                    "Find the second process with this group.instance.id: a second replica, an "
                    "old pod that still runs, or an id that is not made from the pod's own name."
                ),
                (
                    "A fenced process gets FENCED_INSTANCE_ID, which is fatal: let it end, and "
                    "do not let a supervisor start it again under the same id while the other "
                    "one runs."
                ),
            ),
            sort="fault",
            experiment="static-duplicate",
        ),
        Cause(
            "instance_taken",
            "instance id in use",
            "a process of {who} could not join, {times}: the instance id belongs to a member "
            "that has not left",
            (
                (
                    "It came back before the session of the process before it was over (KIP-848 "
                    "refuses it with UNRELEASED_INSTANCE_ID, and both Java's client and "
                    "librdkafka give up then). Let a process close its consumer when it ends, or"
                    " let its supervisor start it again until it gets in."
                ),
            ),
            sort="fault",
            experiment="static-epochs",
        ),
        Cause(
            "coordinator_moved",
            "coordinator moved",
            "the group moved to another coordinator {times} ({who})",
            (
                (
                    "Which broker stopped or lost its leadership of __consumer_offsets? Look at "
                    "the brokers' own restarts and at the controller's log at these times."
                ),
                (
                    "Members keep their sessions, and each is given a full one by the new "
                    "coordinator: sessions that expired just before are of members that did not "
                    "find it in time."
                ),
            ),
            sort="fault",
            experiment="coordinator-kill",
        ),
        Cause(
            "max_poll",
            "max.poll.interval.ms exceeded",
            "{who} left {times} because {it} exceeded max.poll.interval.ms, the "
            "limit between two polls",
            (
                (
                    "Look at what it did at these times: a slow record, a database or a call "
                    "that it waited for. max.poll.records times the slowest record has to fit "
                    "into max.poll.interval.ms."
                ),
                (
                    "Lower max.poll.records, or hand long work to another thread and pause the "
                    "partition. A longer max.poll.interval.ms helps too, and makes every "
                    "rebalance wait longer for a busy member."
                ),
            ),
            sort="fault",
            experiment="processing-stall",
        ),
        Cause(
            "session_expired",
            "session expired",
            "the session of {who} expired {times}: no heartbeat came for session.timeout.ms",
            (
                (
                    "Look at the process at these times: was it killed (memory, node), frozen (a"
                    " long garbage collection, CPU limits), or cut off from its coordinator?"
                ),
                (
                    "If it came back by itself, its pauses are longer than session.timeout.ms: "
                    "compare the longest pause in its GC log and its CPU throttling with that "
                    "setting."
                ),
                (
                    "If a deploy or a scale-down ended it, it did not close its consumer: let it"
                    " do so on SIGTERM, and give it the time."
                ),
            ),
            sort="fault",
            experiment="consumer-freeze",
        ),
        Cause(
            "rebalance_timeout",
            "rebalance timeout",
            "{who} did not follow a rebalance in time and had to go, {times}",
            (
                (
                    "A member joins, or gives up its partitions, within poll: processing, or a "
                    "rebalance callback, took longer than max.poll.interval.ms, which is the "
                    "limit for that."
                ),
                "Look at what it processed then, and at how long onPartitionsRevoked takes.",
            ),
            sort="fault",
            experiment="callback-stall",
        ),
        Cause(
            "sync_expired",
            "no SyncGroup",
            "{who} joined and did not fetch its assignment, {times}",
            (
                (
                    "It died, stalled or lost its connection between JoinGroup and SyncGroup; of"
                    " a group leader it may be an assignor that takes too long. Look at that "
                    "process."
                ),
            ),
            sort="fault",
        ),
        Cause(
            "slow",
            "slow rebalance",
            "rebalances took long until every member had joined, {times}, the longest {who}",
            (
                (
                    "The coordinator waits for each member to join, up to max.poll.interval.ms, "
                    "and a member joins only from within poll: look for long processing when "
                    "they began."
                ),
            ),
            sort="fault",
            experiment="join-blocked",
        ),
        Cause(
            "unfinished",
            "rebalance not over",
            "a rebalance has no end in these logs ({who})",
            (
                (
                    "A member did not join, or the coordinator changed and its successor's log "
                    "is not among these: add the logs of the other brokers, and look at members "
                    "that process for long."
                ),
            ),
            sort="fault",
        ),
        Cause(
            "store_failed",
            "group could not be stored",
            "the coordinator could not write the group's assignment {times} (named: {who})",
            (
                (
                    "Look at __consumer_offsets: under-replicated partitions, "
                    "min.insync.replicas, and brokers that are down."
                ),
            ),
            sort="fault",
            experiment="offsets-unwritable",
        ),
        Cause(
            "over_capacity",
            "group over capacity",
            "the group has more members than group.max.size allows ({times})",
            ("Have fewer members, or raise group.max.size on the brokers.",),
            sort="fault",
        ),
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
            "{who} was removed by an administrator's call, {times}",
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
            "the group changed between the classic protocol and KIP-848, {times}",
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
            "deploy or restart",
            "members left and others joined, one after the other: {who}. It looks like a deploy "
            "or a rolling restart",
            _DEPLOY,
            experiment="rolling-deploy",
        ),
        Cause(
            "instance_replaced",
            "static member replaced",
            "a new process took over the instance id of {who} from one that had not left, {times}",
            (
                (
                    "The process before ended without closing its consumer, and was started "
                    "again within its session: look at how it ended."
                ),
                "If no process was started again, two of them share this group.instance.id.",
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
            "{who} left {times}, and did not say why",
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
            "{who} joined again {times}, and did not say why",
            (
                (
                    "Clients other than Java's do so when topics or partitions changed, in the "
                    "second step of a cooperative rebalance, and after an error: their own logs "
                    "say which."
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
            "unknown",
            "other",
            "a rebalance has a reason that is not known here, {times} (named: {who})",
            ("Read the reason in the table of rebalances.",),
            sort="follows",
        ),
    )
}
