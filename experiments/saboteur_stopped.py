"""One of two consumers crashes while the other's process has stopped itself in a long batch.

Why: proof that the judge sees a member that cannot even leave, and partitions that nobody takes.
Watch: a group that becomes empty, and a member that finds out when it wakes up.
"""

from harness.experiment import (
    CLASSIC,
    Experiment,
    Fault,
    Group,
    holds,
    late_commit_is_unnamed,
    violated,
)

experiment = Experiment(
    claim="A stopped process can neither leave at its limit nor take over from a crashed one.",
    group=Group(
        members=2, max_poll_interval_ms=8_000, differing={1: {"sabotage": "stop-in-stall"}}
    ),
    faults=(
        Fault(kind="stall-consumer", target="member 1", jitter_s=0, lasts_s=15),
        Fault(kind="kill-consumer", target="member 2", at_s=4.2, jitter_s=0),
    ),
    duration_s=18,
    rules=(
        violated(
            "R07",
            "nothing of a stopped process runs, so it is evicted before it can leave",
            by="{stall-consumer}",
            at_most=1,
        ),
        violated("R10", "the only other member is stopped"),
        late_commit_is_unnamed("X41-asked"),
        *holds("R01", "R02", "R20e", "R33", "X07", "X32a"),
    ),
    protocols=CLASSIC,
)
