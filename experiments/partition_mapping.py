"""Two partitions for three members, then three for three, then three for two.

Why: documents describe these cases: one member without a partition, one each, two and one.
Watch: nobody ever has two more than another.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="Partitions are spread evenly, and a surplus member is idle.",
    load=Load(partitions=2),
    group=Group(metadata_refresh_ms=2_000),
    faults=(
        Fault(kind="add-partitions", target="topic", at_s=1, more_partitions=1),
        Fault(kind="close-consumer", target="member 1", at_s=9),
    ),
    duration_s=11.5,
    rules=holds("R22", "R12", "R20b", "R20c", "R21", "R33", "X14", "X32a", "X32b", "X32c"),
)
