"""The reasons that mean that something is wrong, what each means, and what to look at next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Cause:
    """One reason why a group rebalances, or a member is put out."""

    name: str
    title: str  # of a column
    told: str  # what happened to whom: "{who} … {times}", {it} {be}: it is, they are, {why} as said
    next: tuple[str, ...]  # what to look at, a sentence each
    # fault: something is wrong | change: somebody or something was changed | follows: comes of
    # another rebalance, and explains nothing by itself
    sort: str = "change"
    experiment: str = ""  # that plays it, of a group whose members do this


_WHICH_BROKER: Final = (
    "Which broker stopped or lost its leadership of __consumer_offsets? Look at the brokers' own "
    "restarts and at the controller's log at these times."
)
FAULTS: Final = (
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
            _WHICH_BROKER,
            (
                "Members keep their sessions, and the new coordinator gives each a full one: a "
                "session that expires that much later is of a member that did not find it in time."
            ),
        ),
        sort="fault",
        experiment="coordinator-kill",
    ),
    Cause(
        "not_found",
        "not back after a move",
        "the group moved to another coordinator, and the sessions of {who} expired after that, "
        "{times}",
        (
            (
                "The new coordinator gave each member a full session, in which it got no "
                "heartbeat. Look at the members' own logs at these times: could they reach that "
                "broker, and how often did they look for the coordinator?"
            ),
            _WHICH_BROKER,
        ),
        sort="fault",
        experiment="coordinator-kill",
    ),
    Cause(
        "coordinator_lost",
        "coordinator lost",
        "{who} lost the coordinator {times}{why}",
        (
            (
                "Did that broker restart or lose the group, or did the network? A client finds the "
                "new coordinator by itself; look at its broker if it happens often."
            ),
        ),
        sort="follows",
        experiment="coordinator-kill",
    ),
    Cause(
        "many_at_once",
        "many sessions expired at once",
        "{who}: that many heartbeats do not end by chance in one moment",
        (
            (
                "Look at that broker first: its disk, its garbage collection, its request "
                "queue and its network. Heartbeats may have reached it in time and waited."
            ),
            (
                "If the broker was well, look at what these members share: a node, a network,"
                " a database that stops them all, or a deploy that ends them without closing."
            ),
        ),
        sort="fault",
        experiment="coordinator-pause",
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
        "put_out",
        "no longer a member",
        "the coordinator told {who} {times} that {it} {be} no longer a member",
        (
            (
                "Its session had expired, or others had joined without it: look for pauses of the "
                "process before these times (garbage collection, CPU limits, a frozen host), and "
                "for polls that were too far apart."
            ),
            (
                "The log of the broker that coordinates the group says which it was and when; "
                "explain reads it beside this one."
            ),
        ),
        sort="fault",
        experiment="consumer-freeze",
    ),
    Cause(
        "put_out_after_loss",
        "no longer a member after it lost the coordinator",
        "the coordinator told {who} {times} that {it} {be} no longer a member, within a "
        "minute after {it} had lost the coordinator",
        (
            (
                "Look at the broker that coordinated the group before: did it restart, or was it "
                "cut off? The session may have expired while the client looked for the next one."
            ),
        ),
        sort="fault",
        experiment="coordinator-kill",
    ),
    Cause(
        "coordinator_silent",
        "no answer from the coordinator",
        "{who} had no answer to its heartbeats for session.timeout.ms, {times}",
        (
            (
                "Look at the broker that coordinates the group, and at the network between: what "
                "it did at these times, and whether other clients lost it too."
            ),
            "If the process itself stood still, it could not read the answers either.",
        ),
        sort="fault",
        experiment="coordinator-pause",
    ),
    Cause(
        "crashed",
        "consumer ended by an error",
        "the consumer of {who} ended by an error {times}{why}",
        (
            (
                "Look at the error and at what the application does then: KafkaJS starts the "
                "consumer again only after errors that it takes for passing."
            ),
        ),
        sort="fault",
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
        "not_closed",
        "replaced, and not closed",
        "{who} ended without closing, {times}: each was put out a session after its successor "
        "had joined, as pods are that a deploy replaces",
        (
            (
                "Let a process close its consumer on SIGTERM, and give it the time "
                "(terminationGracePeriodSeconds): its partitions stood still for a session "
                "timeout, and each change cost two rebalances."
            ),
            (
                "If nobody deployed, they crashed or were killed, and started again: look at "
                "exit codes, memory limits and the supervisor's events."
            ),
        ),
        sort="fault",
        experiment="consumer-crash",
    ),
    Cause(
        "never_synced",
        "no assignment",
        "{who} joined and {was} put out {times} before an assignment came: the leader of the "
        "generation never sent SyncGroup",
        (
            (
                "Look at that process between JoinGroup and SyncGroup: an assignor that fails "
                "or takes too long, a crash, or an answer to JoinGroup that it did not get or "
                "could not read (a lost connection, a large group's metadata)."
            ),
        ),
        sort="fault",
    ),
    Cause(
        "pending_expired",
        "member id never used",
        "{who} asked for a member id and did not join with it, {times}",
        (
            (
                "It ended, hung or lost its connection right after it had asked: look at its "
                "exit code, and at a supervisor that starts it again and again."
            ),
        ),
        sort="fault",
    ),
    Cause(
        "joins_on",
        "joined anew as a member",
        "{who} joined anew {times}, and had neither left nor been put out",
        (
            (
                "Its client library does not wait for a rebalance that another member begins "
                "(REBALANCE_IN_PROGRESS), or gives up its JoinGroup too soon: look for known "
                "defects of its version, and at its time-outs."
            ),
        ),
        sort="fault",
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
        "{who} joined and did not fetch {its} assignment, {times}",
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
        "shutdown_asked",
        "shutdown requested",
        "{who} asked all instances of the Streams application to shut down, {times}",
        (
            (
                "A thread of that instance had an exception that nobody caught, and its handler "
                "answered SHUTDOWN_APPLICATION: read its log at this time."
            ),
        ),
        sort="fault",
    ),
    Cause(
        "over_capacity",
        "group over capacity",
        "the group had more members than group.max.size allows, and {who} had to go",
        (
            (
                "Run fewer members, or raise group.max.size on the brokers. The members that join "
                "last have to go."
            ),
        ),
        sort="fault",
    ),
    Cause(
        "offsets_expired",
        "group deleted",
        "the group was empty, and was deleted with the offsets it had, {times}",
        (
            (
                "A group that is empty for offsets.retention.minutes loses its offsets, unless "
                "somebody deletes it before. When it is back, auto.offset.reset decides: "
                "earliest reads everything again, latest skips what came meanwhile."
            ),
        ),
        sort="fault",
        experiment="offset-retention",
    ),
    Cause(
        "two_programs",
        "two programs in one group",
        "{who} changed by turns what the group subscribes to, {times}: these look like "
        "programs of their own in one group",
        (
            (
                "Give each program a group.id of its own: members of one group have to "
                "subscribe to the same topics, and each change of one is a rebalance for all."
            ),
        ),
        sort="fault",
    ),
    Cause(
        "connect",
        "asked for by Connect",
        "{who} asked for a rebalance {times}{why}",
        ("Workers do so when they do not agree on the configuration, or when it changed.",),
        sort="fault",
    ),
)
