"""The same join and leave; positions are kept outside Kafka, and members seek to them.

Why: an application that stores its positions with its results does not need Kafka's positions: it
seeks in its callback for assigned partitions.
Watch: the first record after each assignment is the one that the store names, after a crash too.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="Members that seek to their own stored positions on assignment continue exactly there.",
    group=Group(commit="external"),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=1),
        Fault(kind="kill-consumer", target="member 2", at_s=9),
    ),
    duration_s=17,
    rules=holds("R15", "R15-repeats", "R15-seek", "R01", "R21", "R33", "X32a", "X32d"),
)
