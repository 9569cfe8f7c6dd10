"""Two partitions for three members, three for three, three for two: as `roundrobin` deals them.

Why: the assignor decides how partitions are spread, and a group can choose another one.
Watch: the same sizes as with `range` in `partition-mapping`.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="With roundrobin, too, partitions are spread evenly, and a surplus member is idle.",
    load=Load(partitions=2),
    protocols=("eager",),
    group=Group(assignor="roundrobin", metadata_refresh_ms=2_000),
    faults=(
        Fault(kind="add-partitions", target="topic", at_s=1, more_partitions=1),
        Fault(kind="close-consumer", target="member 1", at_s=9),
    ),
    duration_s=11.5,
    rules=holds("R22", "R22-assignor", "R12", "R20b", "R20c", "R21", "R33", "X32a", "X32b", "X32c"),
)
