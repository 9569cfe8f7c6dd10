"""Two partitions for three members, three for three, three for two: as the broker's `range` does.

Why: in KIP-848 the assignors are the broker's, uniform unless a group asks for range.
Watch: the same sizes as with `uniform`.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="The broker's range, too, spreads partitions evenly, and leaves a surplus member idle.",
    load=Load(partitions=2),
    protocols=("consumer",),
    group=Group(protocol="consumer", assignor="range"),
    faults=(
        Fault(kind="add-partitions", target="topic", at_s=1, more_partitions=1),
        Fault(kind="close-consumer", target="member 1", at_s=9),
    ),
    duration_s=11.5,
    rules=holds("R22", "R20b", "R20c", "R21", "X20", "X32a", "X32b", "X32c"),
)
