"""A record takes a static member longer than max.poll.interval.ms, and its session after that.

Why: a dynamic member leaves at that limit. A static one only falls silent, so that a session
timeout comes on top until somebody else gets its partitions.
Watch: no LeaveGroup; the eviction comes at the sum of both limits, less the last heartbeat's age.
"""

from harness.experiment import Experiment, Fault, Group, holds, late_commit_is_unnamed

experiment = Experiment(
    claim="A static member that does not poll is evicted only after both its limits together.",
    group=Group(static=True, max_poll_interval_ms=6_000),
    faults=(Fault(kind="stall-consumer", target="any member", at_s=1, lasts_s=14.5),),
    duration_s=18,
    protocols=("eager", "cooperative"),
    rules=(
        late_commit_is_unnamed("X41-asked"),
        *holds("X04", "R01", "R02", "R12", "R20b", "R21", "R33", "X32a", "X32b", "X32c"),
    ),
)
