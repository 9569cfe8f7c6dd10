"""A member joins and one leaves while all commit in the callback for revoked partitions only.

Why: that is the advice for repeating nothing. The coordinator takes commits while it waits for the
members to rejoin, so the last position is there before the next owner asks for it.
Watch: each partition that moves: given up, committed, given to the next, and no record twice.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A commit in the revocation callback hands partitions over without repeating a record.",
    group=Group(commit="revoke"),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=2),
        Fault(kind="close-consumer", target="member 1", at_s=8),
    ),
    duration_s=12,
    rules=(
        *holds("R15", "R15-commit", "R15-repeats", "R12", "R21", "R21-stop", "R33", "X14"),
        *holds("X32a", "X32b", "X32c", "X32d"),
    ),
)
