"""A member does not come back from its revocation callback while the group rebalances.

Why: this is where applications commit and clean up, and no limit of the client applies to it. What
ends it is the coordinator's patience: the largest max.poll.interval.ms in the group, not its own.
Watch: heartbeats go on, everybody waits, and then the rebalance goes on without the member.
"""

from harness.experiment import CLASSIC, Expect, Experiment, Fault, Group, Load, holds, violated

experiment = Experiment(
    claim=(
        "A callback that does not return holds up all members for the longest limit in the group."
    ),
    # In a cooperative group only a member that loses something is called back: here each does.
    load=Load(partitions=12),
    # librdkafka waits for the answer to its JoinGroup for 3 s longer than max.poll.interval.ms: the
    # longest limit stays below that, or who is waiting would begin anew.
    group=Group(max_poll_interval_ms=6_000, differing={3: {"max_poll_interval_ms": 8_000}}),
    faults=(
        Fault(kind="stall-callback", target="member 1", at_s=1, jitter_s=0, lasts_s=13),
        Fault(kind="start-consumer", target="new member", at_s=2),
    ),
    clients=("librdkafka",),
    protocols=CLASSIC,
    duration_s=15,
    rules=(
        *holds("R04", "R04-longest", "R02", "R15-all", "R20a", "R21"),
        violated(
            "R15-all",
            "members of a cooperative group keep what does not move (KIP-429)",
            protocols=("cooperative",),
        ),
        *holds("R21-delivery"),
        violated(
            "R21-delivery",
            "it was called back for what it loses, and holds the rest until it hears that "
            "it was removed",
            by="* {stall-callback} still held it",
            up_to=13_000,
            protocols=("cooperative",),
        ),
        *holds("R16", protocols=("eager",)),
        violated(
            "R16",
            "a synchronous commit waits on the connection behind its own JoinGroup, for "
            "longer than max.poll.interval.ms, and its member leaves (open in 2.16.0)",
            by="* (left)",
            protocols=("cooperative",),
            sometimes=True,
        ),
        # As long as the rebalance lasts for longer than a session.
        Expect(rule="R08-client", if_seen=True),
        # Two seconds more than the stall: a batch before it, and joins after it.
        violated(
            "X01-kept",
            "a synchronous commit that waits behind a JoinGroup makes partitions stand "
            "still that their member keeps, where the leader's assignment comes before the next "
            "rebalance",
            up_to=15_000,
            protocols=("cooperative",),
            sometimes=True,
            if_seen=True,
        ),
        *holds("R33", "R34-silent", "X32a", "X32b", "X32c"),
    ),
)
