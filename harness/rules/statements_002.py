"""What the document on the consumer says: its load, its rebalances and its poll (002)."""

from typing import Final

from harness.rules.statement import Statement

STATEMENTS: Final[tuple[Statement, ...]] = (
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
        rules=(),
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
        rules=(),
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
        "Java, whose log tells what a fetch brought.",
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
        rules=(),
        instead=("X11",),
        today="The default is 45 s, and so is that of brokers for KIP-848. Only long experiments "
        "play it.",
        since="3.0 (KIP-735), librdkafka 1.7",
    ),
    Statement(
        id="002.7",
        says="A consumer that works on its records for longer than its session is dropped.",
        rules=(),
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
        instead=("X02", "X02-epoch"),
        today="Not a static member that comes back within its session.",
        since="2.3 (KIP-345)",
    ),
    Statement(
        id="002.10",
        says="A consumer that leaves, in good order or not, sets off a rebalance.",
        rules=("R20b",),
        instead=("X03", "X03-epoch"),
        today="A static member does not leave when it closes. Java's can be told to (KIP-1092), "
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
        rules=("R27-shrink", "R27-growth"),
    ),
    Statement(
        id="002.13",
        says="The death of a broker, after which ZooKeeper elects another coordinator, sets off a "
        "rebalance.",
        rules=(),
        instead=("X12", "X13"),
        today="ZooKeeper never elected coordinators of consumer groups since 0.9, and is gone "
        "since 4.0. A coordinator is the leader of a partition of __consumer_offsets; the next "
        "one loads the group and keeps its members.",
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
        says="Each of three members has one of three partitions.",
        rules=("R22",),
    ),
    Statement(
        id="002.17",
        says="Two members have two and one of three partitions.",
        rules=("R22",),
    ),
    Statement(
        id="002.18",
        says="One of three members is idle if there are two partitions.",
        rules=("R22",),
    ),
    Statement(
        id="002.23",
        says="No more consuming threads than partitions have work.",
        rules=("R22",),
        today="A thread is a member here: a consumer is used by one thread.",
    ),
    Statement(
        id="002.24",
        says="More threads than partitions have work if a pool of workers shares the records.",
        rules=(),
        today="Not judged: what an application does with records is its own affair, and none of "
        "ours has a pool.",
    ),
)
