"""What the documents say of the heartbeat (000) and of the protocol of a rebalance (001)."""

from typing import Final

from harness.rules.statement import Statement

STATEMENTS: Final[tuple[Statement, ...]] = (
    Statement(
        id="000.1",
        says="A consumer that dies leaves its group; a rebalance gives its partitions to others.",
        rules=("R10", "R01"),
    ),
    Statement(
        id="000.2",
        says="A broker that dies and leaves a partition without a leader sets off a rebalance.",
        rules=(),
        instead=("R20d", "X12"),
        today="Members react to the number of partitions, not to their leaders: the partition "
        "waits for its next leader, and the assignment stays. Played with three replicas, so that "
        "there is a next leader, and with one.",
        since="0.9, when clients stopped to watch brokers through ZooKeeper",
    ),
    Statement(
        id="000.12",
        says="A consumer has no work while its partition has no leader.",
        rules=("R11-idle",),
        today="Only a long experiment plays it.",
    ),
    Statement(
        id="000.3",
        says="Heartbeats are sent only while the coordinator is known and well.",
        rules=("R05", "R05-lookup"),
        today="Judged for the classic protocol; in KIP-848 the heartbeat is another request, to "
        "the coordinator as well.",
    ),
    Statement(
        id="000.4",
        says="session.timeout.ms is a member's session at the coordinator, max.poll.interval.ms "
        "the time that a rebalance waits for the member.",
        rules=("R04", "R04-longest"),
        today="A rebalance waits for the longest of its members' limits. In KIP-848 the session "
        "is the broker's, and a member's limit counts for itself alone.",
    ),
    Statement(
        id="000.5",
        says="The coordinator removes a member whose heartbeat is overdue, and a rebalance starts.",
        rules=("R01",),
        today="In KIP-848 the broker sets the time.",
    ),
    Statement(
        id="000.6",
        says="The deadline is the last heartbeat plus a session timeout; each heartbeat moves it.",
        rules=("R02",),
        today="A timer of the coordinator has replaced the purgatory of delayed operations.",
        since="4.0",
    ),
    Statement(
        id="000.7",
        says="A member whose join or sync is still waiting at the coordinator stays alive.",
        rules=("R03-members", "R03-wire"),
        today="A new member is dropped after five minutes all the same (since 2.2). In KIP-848 no "
        "request waits.",
    ),
    Statement(
        id="000.8",
        says="A client that gets no heartbeat answer for a session takes its coordinator for lost.",
        rules=("R06",),
        instead=("R06-java", "R06-librdkafka"),
        today="Java does only that, and keeps its assignment; librdkafka gives its assignment up. "
        "Judged for the classic protocol: a KIP-848 client has no session of its own (X27).",
    ),
    Statement(
        id="000.9",
        says="A consumer that does not poll within max.poll.interval.ms leaves by itself, and a "
        "rebalance starts.",
        rules=("R07", "R20b"),
        instead=("X04",),
        today="A static member does not leave: it stops its heartbeats, and is evicted a session "
        "later.",
        since="2.3 (KIP-345)",
        apart=("static-day", "static-leave"),
    ),
    Statement(
        id="000.10",
        says="A heartbeat that is answered with a rebalance in progress counts as a sign of life.",
        rules=("R08-members", "R08-wire", "R08-client"),
        today="For the coordinator, and for the client. KIP-848 has no such answer.",
    ),
    Statement(
        id="000.11",
        says="A failed heartbeat is tried again after the retry backoff.",
        rules=("R09",),
        today="Java's backoff grows with each failure (since 3.7, KIP-580). Judged for its "
        "classic protocol, and as the most that it may take, unless its application waits for the "
        "answer to a commit: its heartbeats wait meanwhile. librdkafka waits for its next turn, "
        "by its source: brokers log when a heartbeat arrives, which behind a commit that waits is "
        "seconds after it was sent.",
    ),
    Statement(
        id="000.13",
        says="The interval between heartbeats counts from when the last was sent.",
        rules=(),
        today="Not judged: brokers log when a heartbeat arrives, and Java's log alone tells when "
        "one is sent.",
    ),
    Statement(
        id="001.1",
        says="Every member of the group sends the coordinator its request to join.",
        rules=("R12-all",),
        instead=("X20-alone",),
        today="In KIP-848 nobody joins again: a heartbeat brings each member its new partitions.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.2",
        says="The coordinator makes one of the members the leader.",
        rules=("R12", "R12-first"),
        instead=("X20-alone",),
        today="It is the first that came. KIP-848 has no group leader.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.3",
        says="The leader works out who gets which partition, and the coordinator hands it on.",
        rules=("R13", "R13-members"),
        instead=("X20-alone", "X24"),
        today="In KIP-848 the broker works it out.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.9",
        says="Three members get the first two, the next two and the last two of six partitions.",
        rules=("R22-assignor",),
        instead=("R22-sticky", "R22-moves"),
        today="This holds for range, the eager default of both clients. cooperative-sticky, and "
        "uniform in KIP-848, leave members as much of what they had as an even spread allows.",
        since="2.4 (KIP-429)",
    ),
    Statement(
        id="001.4",
        says="All members send heartbeats at a regular interval.",
        rules=("R14",),
        today="librdkafka looks at least every half second whether one is due, and is late by as "
        "much at the most; in KIP-848 the broker sets the interval.",
    ),
    Statement(
        id="001.5",
        says="Three timers decide: session, heartbeat interval, and the limit between two polls.",
        rules=("R16",),
        today="In KIP-848 the first two are the broker's (R01, X26).",
    ),
    Statement(
        id="001.6",
        says="A commit in onPartitionsRevoked counts.",
        rules=("R15-commit", "R15-repeats"),
        today="This is not so for lost partitions: they cannot be committed any more.",
        since="2.4 (KIP-429)",
        apart=("listener-none", "listener-seek"),
    ),
    Statement(
        id="001.11",
        says="onPartitionsRevoked comes before the rebalance.",
        rules=("R15",),
        today="It comes before the partition has its next owner. The coordinator's rebalance has "
        "begun by then: that is what the member is told.",
    ),
    Statement(
        id="001.7",
        says="onPartitionsAssigned comes after the rebalance, and a seek in it decides where "
        "reading goes on.",
        rules=("R15-assigned", "R15-seek"),
        today="After the coordinator has this member's part; others may still wait for theirs. "
        "Judged for the classic protocol, the seek for all.",
    ),
    Statement(
        id="001.8",
        says="A rebalance takes all partitions from every member.",
        rules=("R15-all",),
        instead=("X01", "X01-kept", "X20"),
        today="Cooperative groups and KIP-848 take only those that move.",
        since="2.4 (KIP-429)",
    ),
)
