"""What the five documents say, statement by statement, and the rules that each is held against."""

from typing import Final

from harness.rules.documents import Statement

STATEMENTS: Final[tuple[Statement, ...]] = (
    Statement(
        id="000.1",
        says="A consumer that dies leaves its group; a rebalance gives its partitions to others.",
        rules=("R10", "R01"),
    ),
    Statement(
        id="000.2",
        says="A broker that dies and leaves a partition without a leader sets off a rebalance.",
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
        rules=("R03-members",),
        today="A new member is dropped after five minutes all the same (since 2.2). In KIP-848 no "
        "request waits.",
    ),
    Statement(
        id="000.8",
        says="A client that gets no heartbeat answer for a session takes its coordinator for lost.",
        rules=("R06",),
        instead=("R06-client",),
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
        rules=("R08-members", "R08-client"),
        today="It does for coordinator and client. KIP-848 has no such answer.",
    ),
    Statement(
        id="000.11",
        says="A failed heartbeat is tried again after the retry backoff.",
        rules=("R09",),
        today="Java's backoff grows with each failure (since 3.7, KIP-580). Judged for its "
        "classic protocol, by the most that it may take; not while its application waits for a "
        "commit, behind which heartbeats wait. librdkafka, by its source, waits for its next turn; "
        "not judged, since brokers log a heartbeat when it arrives, which may be seconds later.",
    ),
    Statement(
        id="000.13",
        says="The interval between heartbeats counts from when the last was sent.",
        today="Not judged: brokers log when a heartbeat arrives, and only Java when it is sent.",
    ),
    Statement(
        id="001.1",
        says="Every member of the group sends the coordinator its request to join.",
        rules=("R12-all",),
        instead=("X20-alone",),
        today="In KIP-848 no member joins again: a heartbeat brings each its new partitions.",
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
        "begun by then: the member learns of that.",
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
    Statement(
        id="002.1",
        says="enable.auto.commit commits every auto.commit.interval.ms.",
        rules=("R26", "R26-processed"),
    ),
    Statement(
        id="002.2",
        says="poll hands out buffered records first.",
        rules=("R25",),
        today="Java only; librdkafka fetches in a thread of its own.",
    ),
    Statement(
        id="002.20",
        says="poll requests more records before it returns those that it has.",
        today="Not judged: of a request for records only the answer is on record.",
    ),
    Statement(
        id="002.21",
        says="poll refuses a negative time-out, no subscription and a second thread, and returns "
        "by its time-out.",
        rules=("R25-arguments",),
        today="Java only, in both protocols.",
    ),
    Statement(
        id="002.3",
        says="poll returns nothing while a rebalance is pending.",
        instead=("X01-kept",),
        today="Java only. A cooperative or KIP-848 member goes on handing out records of the "
        "partitions that it keeps; an eager one has nothing to hand out.",
        since="2.5 (KAFKA-8421)",
    ),
    Statement(
        id="002.4",
        says="One poll returns at most max.poll.records, over all partitions together.",
        rules=("R23",),
        today="Java only; librdkafka's caller says how many it wants.",
    ),
    Statement(
        id="002.25",
        says="The default of max.poll.records is 500, that of max.partition.fetch.bytes 1 MB.",
        rules=("R23", "R24"),
        today="Java only: 1 MB is 1,048,576 bytes, and librdkafka has no max.poll.records.",
    ),
    Statement(
        id="002.5",
        says="max.partition.fetch.bytes bounds one fetch of a partition: 5,000 records of a fetch "
        "need ten polls of 500.",
        rules=("R24",),
        today="A batch that is larger is fetched all the same (since 0.10.1, KIP-74). Judged for "
        "Java, whose log says what a fetch brought.",
    ),
    Statement(
        id="002.6",
        says="session.timeout.ms may be 6 s to 30 min.",
        rules=("R17",),
        today="Brokers can be given another range. KIP-848 has one of its own, 45 s to 60 s "
        "unless set, for what the broker sets.",
    ),
    Statement(
        id="002.19",
        says="The default of session.timeout.ms is 10 s.",
        instead=("X11",),
        today="The default is 45 s, and so is that of brokers for KIP-848. Only long experiments "
        "play it.",
        since="3.0 (KIP-735), librdkafka 1.7",
    ),
    Statement(
        id="002.7",
        says="A consumer that works on its records for longer than its session is dropped.",
        instead=("R34", "R07"),
        today="Heartbeats go on while the application works; the limit is max.poll.interval.ms.",
        since="0.10.1 (KIP-62)",
    ),
    Statement(
        id="002.8",
        says="What a dropped consumer commits is refused, and its work is done again by others.",
        rules=("R19",),
        today="Judged where the application commits.",
    ),
    Statement(
        id="002.22",
        says="The work of a dropped consumer is done again with automatic commits too, whatever "
        "auto.offset.reset says.",
        rules=("R19",),
        today="Java only, in the classic protocol: librdkafka has committed by then what it "
        "handed out, done or not (R26-processed).",
    ),
    Statement(
        id="002.9",
        says="A new consumer sets off a rebalance.",
        rules=("R20a",),
        instead=("X02",),
        today="A static member that comes back within its session does not.",
        since="2.3 (KIP-345)",
    ),
    Statement(
        id="002.10",
        says="A consumer that leaves, in good order or not, sets off a rebalance.",
        rules=("R20b",),
        instead=("X03",),
        today="A static member does not leave when it closes. Java's can be made to (KIP-1092), "
        "and librdkafka's does where it only unsubscribes; neither is played.",
        since="2.3 (KIP-345)",
    ),
    Statement(
        id="002.11",
        says="Partitions added to a topic set off a rebalance.",
        rules=("R20c",),
        today="Once clients have refreshed their metadata, which takes up to five minutes unless "
        "set; in KIP-848 with the next heartbeat.",
    ),
    Statement(
        id="002.12",
        says="A topic can get more partitions, never fewer.",
        rules=("R27-growth",),
    ),
    Statement(
        id="002.13",
        says="The death of a broker, after which ZooKeeper elects another coordinator, sets off a "
        "rebalance.",
        instead=("X12", "X13"),
        today="ZooKeeper elects none, and is gone since 4.0. A coordinator is the leader of a "
        "partition of __consumer_offsets; the next one loads the group and keeps its members.",
        since="0.9",
    ),
    Statement(
        id="002.14",
        says="A consumer without a heartbeat for its session timeout is considered gone.",
        rules=("R01", "R20e"),
        today="In KIP-848 the broker sets the time.",
    ),
    Statement(
        id="002.15",
        says="A partition is read by one member of the group at a time.",
        rules=("R21", "R21-delivery"),
        today="As an assignment. A member that has not noticed its eviction hands out what it had "
        "fetched, while the new owner reads the same.",
    ),
    Statement(
        id="002.16",
        says="Each of three members has one of three partitions, two members have two and one, "
        "and one of three is idle if there are two: no more threads consume than partitions.",
        rules=("R22",),
        today="A thread is a member here: a consumer is used by one thread.",
    ),
    Statement(
        id="002.24",
        says="More threads than partitions have work if a pool of workers shares the records.",
        today="Not judged: what an application does with records is its own affair.",
    ),
    Statement(
        id="003.1",
        says="DESCRIBE_GROUPS gives each member's id, instance id, client id, host, metadata and "
        "assignment.",
        rules=("R28",),
        instead=("R28-unknown", "R28-epoch"),
        today="A group that is not there is an error now, and not the state Dead; KIP-848 groups "
        "have a request of their own.",
        since="4.0 (DescribeGroups v6)",
    ),
    Statement(
        id="003.2",
        says="LEAVE_GROUP does nothing in a group that is Empty or Dead, starts a rebalance in "
        "Stable or CompletingRebalance, and may complete the join in PreparingRebalance.",
        rules=("R29-wire",),
        today="KIP-848 members leave by a heartbeat with epoch -1 or -2; there is no LEAVE_GROUP.",
    ),
    Statement(
        id="003.5",
        says="OFFSET_FETCH answers for all partitions or for those that are named.",
        rules=("R30", "R30-wire"),
    ),
    Statement(
        id="003.6",
        says="OFFSET_FETCH does not see half of an update.",
        rules=("R30-whole",),
        today="Probed in a classic group. The coordinator uses a snapshot of the committed "
        "positions, not a lock.",
        since="4.0",
    ),
    Statement(
        id="003.7",
        says="OFFSET_COMMIT leaves out positions whose metadata are too long.",
        rules=("R31",),
        today="Probed in classic groups. The limit, offset.metadata.max.bytes, counts characters.",
    ),
    Statement(
        id="003.8",
        says="A position is served once it has been appended to the log, and not before.",
        rules=("R30", "X28"),
        today="While it waits, the heartbeats behind it wait too, and fail with it.",
        since="4.0",
    ),
    Statement(
        id="003.15",
        says="A commit whose append fails is withdrawn.",
        instead=("R31-made",),
        today="The coordinator of 3.9 does so. In Kafka 4 such a commit stays in the log, and "
        "takes effect when the replica is back.",
        since="4.0",
    ),
    Statement(
        id="003.9",
        says="The answer to a heartbeat announces a rebalance, and the member joins again.",
        rules=("R32", "R32-rejoin"),
        today="In KIP-848 the answer brings the new partitions, without a join (X20-alone).",
    ),
    Statement(
        id="003.10",
        says="A member without a heartbeat in the given time is removed, and a rebalance starts.",
        rules=("R01",),
    ),
    Statement(
        id="003.11",
        says="A group goes from Stable through PreparingRebalance and CompletingRebalance to "
        "Stable.",
        rules=("R33",),
        instead=("R33-epochs",),
        today="KIP-848 groups are Empty, Assigning, Reconciling, Stable or Dead.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="003.12",
        says="Once all members have joined, all their joins are answered.",
        rules=("R33-answered",),
        today="They are also answered once those that are missing have been removed (R04-longest). "
        "KIP-848 has no joins (X20-alone).",
    ),
    Statement(
        id="003.13",
        says="The leader's SYNC_GROUP carries the assignment; those of the others are empty.",
        rules=("R13-members",),
        today="KIP-848 has no SYNC_GROUP (X20-alone).",
    ),
    Statement(
        id="003.14",
        says="Groups can be listed and deleted, and positions deleted and looked up by leader "
        "epoch.",
        rules=("R28-list", "X30", "X33"),
        today="Groups and positions in use cannot be deleted, in groups of both kinds. ListGroups "
        "is probed in classic groups.",
    ),
    Statement(
        id="004.1",
        says="Heartbeats have a thread of their own beside the one that polls.",
        rules=("R34",),
    ),
    Statement(
        id="004.2",
        says="The heartbeat thread starts when the group becomes active, goes on until it is "
        "ended, and follows the coordinator.",
        rules=("R34-silent", "R34", "R05"),
        today="Heartbeats begin once a member has joined, and rest while its join waits. "
        "R34-silent and R05 are about the classic protocol.",
    ),
    Statement(
        id="004.3",
        says="A heartbeat carries group, generation and member id, and goes to the coordinator.",
        rules=("R35", "X06"),
        today="Also the instance id of a static member (since 2.3, KIP-345). In KIP-848 it carries "
        "a member epoch, and at times what is owned and subscribed.",
    ),
    Statement(
        id="004.4",
        says="Between heartbeats the thread waits for the retry backoff, not for the interval.",
        rules=("R36",),
        today="It notices within a tenth of a second that the polls have ended, that the "
        "coordinator is gone, or that a rebalance is on. librdkafka looks twice a second. Java's "
        "KIP-848 client has no such thread: it sleeps until the next heartbeat is due.",
    ),
)
