"""Every consumer is told to end at the same moment, and when all have ended new ones are started.

Why: this is the strategy Recreate of Kubernetes, and what stopping and starting everything does.
Watch: the group is empty in between, so nobody reads, and the first rebalance of the new processes
waits for group.initial.rebalance.delay.ms like that of a new group.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim=(
        "A deploy of all processes at once stops all partitions for one start, and loses nothing."
    ),
    faults=(Fault(kind="deploy", target="group", how="at once"),),
    duration_s=16,
    rules=holds("X14", "R02", "R12", "R21", "R21-delivery", "R33", "X32a", "X32b", "X32c", "X32d"),
)
