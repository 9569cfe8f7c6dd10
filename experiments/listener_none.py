"""The same join and leave, but members commit every 2 s and listen to no rebalance.

Why: after the rebalance another member starts at the last commit, and repeats what was processed
since then. The difference to `listener-commit` is what a commit in the callback is worth.
Watch: how many records come twice: never more than those of one interval.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Commits by the clock alone repeat up to one interval of records at a hand-over.",
    group=Group(commit="interval", auto_commit_interval_ms=2_000),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=2),
        Fault(kind="close-consumer", target="member 1", at_s=8),
    ),
    duration_s=12,
    rules=(
        violated(
            "R15-repeats",
            "nothing is committed when partitions are revoked, so the next owner starts "
            "where the clock last committed",
        ),
        *holds("R15", "R21", "R33", "X32a", "X32b", "X32c", "X32d"),
    ),
)
