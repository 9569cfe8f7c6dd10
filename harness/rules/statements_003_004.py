"""What the documents say of the coordinator (003) and of the heartbeat thread (004)."""

from typing import Final

from harness.rules.statement import Statement

STATEMENTS: Final[tuple[Statement, ...]] = (
    Statement(
        id="003.1",
        says="DESCRIBE_GROUPS tells each member's id, instance id, client id, host, metadata and "
        "assignment.",
        rules=("R28",),
        instead=("R28-unknown", "R28-epoch"),
        today="A group that is not there is an error now, and not the state Dead; KIP-848 groups "
        "have a request of their own.",
        since="4.0 (DescribeGroups v6)",
    ),
    Statement(
        id="003.2",
        says="LEAVE_GROUP does nothing in a group that is Empty or Dead.",
        rules=("R29-wire",),
        today="KIP-848 members leave by a heartbeat with epoch -1 or -2; there is no LEAVE_GROUP.",
    ),
    Statement(
        id="003.3",
        says="LEAVE_GROUP in Stable or CompletingRebalance starts a rebalance.",
        rules=("R29-wire",),
        today="KIP-848 members leave by a heartbeat with epoch -1 or -2; there is no LEAVE_GROUP.",
    ),
    Statement(
        id="003.4",
        says="LEAVE_GROUP in PreparingRebalance may complete the join.",
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
        rules=("R31-append", "X28"),
        today="While it waits, the heartbeats behind it wait too, and fail with it.",
        since="4.0",
    ),
    Statement(
        id="003.15",
        says="A commit whose append fails is withdrawn.",
        rules=(),
        instead=("R31-made",),
        today="The coordinator of 3.9 does so. In Kafka 4 such a commit stays in the log, and "
        "takes effect when the replica is back.",
        since="4.0",
    ),
    Statement(
        id="003.9",
        says="The answer to a heartbeat tells a member of a rebalance, and the member joins again.",
        rules=("R32", "R32-rejoin"),
        today="In KIP-848 the answer brings the new partitions, and nobody joins again "
        "(X20-alone).",
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
        today="Or when those that are missing have been removed (X09). KIP-848 has no joins "
        "(X20-alone).",
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
        today="And the instance id of a static member (since 2.3, KIP-345). In KIP-848 it carries "
        "a member epoch, and at times what is owned and subscribed.",
    ),
    Statement(
        id="004.4",
        says="Between heartbeats the thread waits for the retry backoff, not for the interval.",
        rules=("R36",),
        today="So that it notices within a tenth of a second that nobody polls, that the "
        "coordinator is gone, or that a rebalance is on. librdkafka looks twice a second. Java's "
        "KIP-848 client has no such thread: it sleeps until the next heartbeat is due.",
    ),
)
