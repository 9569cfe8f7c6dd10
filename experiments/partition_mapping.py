"""Three partitions for three members, then for four, then for two.

Why: documents count it out: one each, two and one, and one member too many that has nothing to do.
Watch: nobody ever has two more than another.
"""

from harness.experiment import Experiment, Fault, Load, holds

experiment = Experiment(
    claim="Partitions are spread evenly, and a member too many is idle.",
    load=Load(partitions=3),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=1),
        Fault(kind="close-consumer", target="member 1", at_s=7),
        Fault(kind="close-consumer", target="member 2", at_s=11),
    ),
    duration_s=15,
    rules=holds("R22", "R12", "R20a", "R20b", "R21", "R33", "X14", "X32a", "X32b", "X32c"),
)
