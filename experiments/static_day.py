"""What static members meet: a restart, a twin, and work that takes longer than both their limits.

Why: an instance id is a promise to come back. Each of these ends differently for a static member
than for a dynamic one, and one run shows all of it for a client.
Watch: the restart causes no rebalance, the older twin is fenced, and the stalled member is evicted
only when it has not polled for max.poll.interval.ms and then been silent for a session.
"""

from harness.experiment import Experiment, Fault, Group, holds, late_commit_is_unnamed, violated

experiment = Experiment(
    claim="Static members are noticed late when they fail, return without a rebalance, and never "
    "work twice.",
    group=Group(static=True, max_poll_interval_ms=6_000),
    faults=(
        Fault(kind="bounce-consumer", target="member 2", how="close", lasts_s=2, at_s=1),
        Fault(kind="start-duplicate", target="member 3", at_s=5),
        Fault(kind="stall-consumer", target="member 1", at_s=6, lasts_s=14.5),
    ),
    duration_s=22,
    protocols=("eager", "cooperative"),
    rules=(
        violated(
            "R20b",
            "a static member sends no LeaveGroup when it closes (KIP-345): it is missed "
            "when its session ends, if it is not back by then",
            by="{bounce-consumer}",
            at_most=1,
        ),
        late_commit_is_unnamed("X41-asked"),
        *holds("X02", "X03", "X04", "X05", "R01", "R02", "R12", "R14", "R21"),
        *holds("X32a", "X32b", "X32c"),
    ),
)
