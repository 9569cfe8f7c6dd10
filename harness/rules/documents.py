"""What the five documents say, statement by statement, and the rules that each is held against.

The documents are those that the catalogue of rules began with: texts on the heartbeat (000, 004),
on the protocol of a rebalance (001), on the consumer and its poll (002), on the coordinator (003).
They tell of Kafka 0.11 to 2.x. `says` is in our words. Whether a statement still holds is measured:
nothing here says so; `today` only tells what a reader needs where it does not, or not for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DOCUMENTS: Final[dict[str, str]] = {
    "000": "The heartbeat of a consumer group",
    "001": "The rebalance protocol",
    "002": "How consumers share the load, rebalance and poll",
    "003": "The coordinator's commands for groups, offsets and heartbeats",
    "004": "The heartbeat thread of KafkaConsumer",
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a document.

    `rules` are the ids that hold it against a run as it stands; `instead` are those of what
    replaced it, where it does not hold any more, and `since` the version in which that began. A
    statement without `rules` is refuted where what replaced it holds. `apart` are experiments whose
    application does not do what the statement is about: their runs say nothing of it.
    """

    id: str
    says: str
    rules: tuple[str, ...]
    instead: tuple[str, ...] = ()
    today: str = ""
    since: str = ""
    apart: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The number of the document that it is from."""
        return self.id.partition(".")[0]


STATEMENTS: Final[tuple[Statement, ...]] = (
    Statement(
        id="000.1",
        says="A consumer that dies leaves its group; a rebalance gives its partitions to others.",
        rules=("R10", "R01"),
    ),
    Statement(
        id="000.2",
        says="A broker that dies and leaves a partition without a leader sets off a rebalance, "
        "and a consumer may be left without partitions.",
        rules=("R11",),
        instead=("R20d", "X12"),
        today="Members react to the number of partitions, not to their leaders: the partition "
        "waits for its next leader, and the assignment stays.",
        since="0.9, when clients stopped to watch brokers through ZooKeeper",
    ),
    Statement(
        id="000.3",
        says="Heartbeats are sent only while the coordinator is known and well.",
        rules=("R05", "R05-lookup"),
    ),
    Statement(
        id="000.4",
        says="session.timeout.ms is the member's session at the coordinator, max.poll.interval.ms "
        "the time that a rebalance waits for it.",
        rules=("R04", "R04-longest"),
        today="A rebalance waits for the longest of its members' limits.",
    ),
    Statement(
        id="000.5",
        says="The coordinator removes a member whose heartbeat is overdue, and a rebalance starts.",
        rules=("R01", "X19"),
        today="In KIP-848 the time is the broker's.",
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
        today="A new member is dropped after five minutes all the same.",
        since="2.2",
    ),
    Statement(
        id="000.8",
        says="A client without an answered heartbeat for a session takes its coordinator for lost.",
        rules=("R06",),
        instead=("R06-java", "R06-librdkafka"),
        today="Java does only that, and keeps its assignment; librdkafka gives its assignment up.",
    ),
    Statement(
        id="000.9",
        says="A consumer that does not poll within max.poll.interval.ms leaves by itself, and a "
        "rebalance starts.",
        rules=("R07",),
        instead=("X04",),
        today="A static member does not leave: it stops its heartbeats, and is evicted a session "
        "later.",
        since="2.3 (KIP-345)",
    ),
    Statement(
        id="000.10",
        says="A heartbeat that is answered with a rebalance in progress counts as a sign of life.",
        rules=("R08-members", "R08-wire"),
    ),
    Statement(
        id="000.11",
        says="A failed heartbeat is tried again after the retry backoff.",
        rules=("R09",),
        today="Java's backoff grows with each failure; librdkafka waits for its next turn.",
        since="3.7 (KIP-580)",
    ),
    Statement(
        id="001.1",
        says="Every member of the group sends the coordinator its request to join.",
        rules=("R12",),
        instead=("X20",),
        today="In KIP-848 nobody joins again: a heartbeat brings each member its new partitions.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.2",
        says="The coordinator makes one of the members the leader.",
        rules=("R12",),
        instead=("X20",),
        today="KIP-848 has no group leader.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.3",
        says="The leader works out who gets which partition, and the coordinator hands it on.",
        rules=("R13",),
        instead=("X24",),
        today="In KIP-848 the broker works it out.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="001.4",
        says="All members send heartbeats at a regular interval.",
        rules=("R14",),
        today="librdkafka rounds the interval up to half a second; in KIP-848 the broker sets it.",
    ),
    Statement(
        id="001.5",
        says="Three timers decide: session, heartbeat interval, and the limit between two polls.",
        rules=("R16",),
    ),
    Statement(
        id="001.6",
        says="onPartitionsRevoked comes before the rebalance, and what is committed in it counts.",
        rules=("R15", "R15-repeats"),
        today="Not for partitions that are lost: those can be committed no more.",
        since="2.4 (KIP-429)",
        apart=("listener-none",),
    ),
    Statement(
        id="001.7",
        says="onPartitionsAssigned comes after it, and a seek in it decides where reading goes on.",
        rules=("R15-seek",),
    ),
    Statement(
        id="001.8",
        says="A rebalance takes all its partitions from every member.",
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
        says="poll hands out what is buffered first, and asks for more before it returns.",
        rules=("R25",),
        today="Java only; librdkafka fetches in a thread of its own.",
    ),
    Statement(
        id="002.3",
        says="poll returns nothing while a rebalance is pending.",
        rules=("R25-rebalance",),
        today="Java only.",
    ),
    Statement(
        id="002.4",
        says="One poll returns at most max.poll.records, over all partitions together.",
        rules=("R23",),
        today="Java only; librdkafka's caller says how many it wants.",
    ),
    Statement(
        id="002.5",
        says="max.partition.fetch.bytes bounds one fetch of a partition: 5,000 records of a fetch "
        "need ten polls of 500.",
        rules=("R24",),
    ),
    Statement(
        id="002.6",
        says="session.timeout.ms may be 6 s to 30 min.",
        rules=("R17",),
    ),
    Statement(
        id="002.19",
        says="session.timeout.ms is 10 s unless set.",
        rules=(),
        instead=("X11",),
        today="The default is 45 s. Only the long set plays it.",
        since="3.0 (KIP-735), librdkafka 1.7",
    ),
    Statement(
        id="002.7",
        says="A consumer that works on its records for longer than its session is dropped.",
        rules=("R18",),
        instead=("R34", "R07"),
        today="Heartbeats go on while the application works; the limit is max.poll.interval.ms.",
        since="0.10.1 (KIP-62)",
    ),
    Statement(
        id="002.8",
        says="What a dropped consumer commits is refused, and its work is done again by others.",
        rules=("R19",),
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
        today="A static member does not leave when it closes.",
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
        says="A broker that dies, so that ZooKeeper elects another coordinator, sets off a "
        "rebalance.",
        rules=("R11",),
        instead=("X12", "X13"),
        today="ZooKeeper never elected coordinators of consumer groups since 0.9, and is gone "
        "since 4.0. A coordinator is the leader of a partition of __consumer_offsets; the next one "
        "loads the group and keeps its members.",
        since="0.9",
    ),
    Statement(
        id="002.14",
        says="A consumer without a heartbeat for its session timeout is taken for gone.",
        rules=("R20e",),
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
        says="Three partitions and three members: one each.",
        rules=("R22",),
    ),
    Statement(
        id="002.17",
        says="Three partitions and two members: two and one.",
        rules=("R22",),
    ),
    Statement(
        id="002.18",
        says="Two partitions and three members: one of them idles.",
        rules=("R22",),
    ),
    Statement(
        id="003.1",
        says="DESCRIBE_GROUPS tells each member's id, instance id, client id, host, metadata and "
        "assignment.",
        rules=("R28", "R28-dead"),
        instead=("R28-unknown", "R28-epoch"),
        today="A group that is not there is an error now, and not the state Dead; KIP-848 groups "
        "have a request of their own.",
        since="4.0 (DescribeGroups v6)",
    ),
    Statement(
        id="003.2",
        says="LEAVE_GROUP does nothing in a group that is Empty or Dead.",
        rules=("R29-wire",),
    ),
    Statement(
        id="003.3",
        says="LEAVE_GROUP in Stable or CompletingRebalance starts a rebalance.",
        rules=("R29-wire",),
    ),
    Statement(
        id="003.4",
        says="LEAVE_GROUP in PreparingRebalance may complete the join.",
        rules=("R29-wire",),
    ),
    Statement(
        id="003.5",
        says="OFFSET_FETCH answers for all partitions or for those that are named.",
        rules=("R30", "R30-wire"),
    ),
    Statement(
        id="003.6",
        says="OFFSET_FETCH does not see half of an update.",
        rules=("R30", "R30-wire"),
        today="By a snapshot of what is committed, and not by a lock.",
        since="4.0",
    ),
    Statement(
        id="003.7",
        says="OFFSET_COMMIT leaves out positions whose metadata are too long.",
        rules=("R31", "R31-bytes"),
    ),
    Statement(
        id="003.8",
        says="A position is served once it has been appended to the log, and not before.",
        rules=("R31-append", "X28"),
        instead=("X28-waits",),
        today="While it waits, the heartbeats behind it wait too, and fail with it.",
        since="4.0",
    ),
    Statement(
        id="003.9",
        says="The answer to a heartbeat tells a member that a rebalance is on, and it joins again.",
        rules=("R32", "R32-rejoin"),
    ),
    Statement(
        id="003.10",
        says="A member without a heartbeat in the given time is removed, and a rebalance starts.",
        rules=("R01", "X19"),
    ),
    Statement(
        id="003.11",
        says="A group goes from Stable through PreparingRebalance and CompletingRebalance to "
        "Stable.",
        rules=("R33",),
        instead=("X24",),
        today="KIP-848 groups are Empty, Assigning, Reconciling, Stable or Dead.",
        since="4.0 (KIP-848)",
    ),
    Statement(
        id="003.12",
        says="Once all members have joined, all their joins are answered.",
        rules=("R33", "X09"),
    ),
    Statement(
        id="003.13",
        says="The leader's SYNC_GROUP carries the assignment, that of the others is empty.",
        rules=("R13",),
    ),
    Statement(
        id="003.14",
        says="Groups can be listed and deleted, positions deleted and looked up by leader epoch.",
        rules=("R28-list", "X30", "X33"),
        today="Not while members use them.",
    ),
    Statement(
        id="004.1",
        says="Heartbeats have a thread of their own beside the one that polls.",
        rules=("R34",),
    ),
    Statement(
        id="004.2",
        says="It starts when the group becomes active and goes on until it is ended; it follows "
        "the coordinator.",
        rules=("R34", "R05"),
    ),
    Statement(
        id="004.3",
        says="A heartbeat carries group, generation and member id, and goes to the coordinator.",
        rules=("R35", "R35-wire"),
        today="And the instance id of a static member.",
        since="2.3 (KIP-345)",
    ),
    Statement(
        id="004.4",
        says="Between heartbeats the thread waits for the retry backoff, not for the interval.",
        rules=("R36",),
        today="So that it notices within a tenth of a second that nobody polls, that the "
        "coordinator is gone, or that a rebalance is on. librdkafka looks twice a second.",
    ),
)
