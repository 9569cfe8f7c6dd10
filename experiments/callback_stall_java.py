"""A Java member does not come back from its revocation callback while the group rebalances.

Why: the Java client counts the time in a callback against max.poll.interval.ms, and librdkafka does
not (callback-stall). So here the member leaves by itself, and the others wait for it no longer.
Watch: LeaveGroup at its own limit, in the middle of the callback.
"""

from harness.experiment import CLASSIC, Expect, Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A Java member whose callback does not return leaves at its own max.poll.interval.ms.",
    # In a cooperative group only a member that loses something is called back: here each does.
    load=Load(partitions=12),
    # The coordinator would wait for the longest limit: long enough to tell it from member-1's own.
    group=Group(
        client="java", max_poll_interval_ms=6_000, differing={3: {"max_poll_interval_ms": 9_000}}
    ),
    faults=(
        Fault(kind="stall-callback", target="member 1", at_s=0.5, jitter_s=0, lasts_s=7.5),
        Fault(kind="start-consumer", target="new member", at_s=1, jitter_s=1),
    ),
    clients=("java",),
    protocols=CLASSIC,
    duration_s=11,
    rules=(
        Expect(rule="R08-client", if_seen=True),
        *holds("R07", "R02", "R20a", "R21", "R33", "R34-silent", "X32a", "X32b", "X32c"),
    ),
)
