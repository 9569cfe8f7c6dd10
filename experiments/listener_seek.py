"""The same join and leave; positions are kept outside Kafka, and members seek to them.

Why: who keeps positions with the results of the work has one truth, and Kafka's is not asked: the
callback for assigned partitions seeks.
Watch: the first record after each assignment is the one that the store names, after a crash too.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="Members that seek to positions of their own when assigned go on exactly there.",
    group=Group(commit="external"),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=1),
        Fault(kind="kill-consumer", target="member 2", at_s=6),
    ),
    duration_s=14,
    rules=holds("R15", "R15-repeats", "R15-seek", "R01", "R21", "R33", "X32a", "X32d"),
)
