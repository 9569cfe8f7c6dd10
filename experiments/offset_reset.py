"""Members come and go alone, each with another auto.offset.reset; positions and records vanish.

Why: many believe that this setting says where a consumer starts. It does so only if the group has
committed nothing, or a position that the log no longer has.
Watch: member-2 (latest) goes on at the committed positions of all partitions but the one whose
records were deleted; member-3 (none) gets nothing; member-4 (earliest) starts all over.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A member reads on from a committed position that the log still has, whatever "
    "auto.offset.reset says.",
    load=Load(records_per_s=60),
    group=Group(
        members=1,
        process_us=200,
        differing={
            2: {"settings": {"auto.offset.reset": "latest"}},
            3: {"settings": {"auto.offset.reset": "none"}},
        },
    ),
    faults=(
        Fault(kind="close-consumer", target="member 1", at_s=1, jitter_s=0),
        Fault(kind="delete-records", target="leader of t-0", at_s=3, jitter_s=0.5),
        Fault(kind="start-consumer", target="new member", at_s=4, jitter_s=0),
        Fault(kind="close-consumer", target="any member", at_s=8, jitter_s=0),
        Fault(kind="delete-offsets", target="coordinator", at_s=9, jitter_s=0),
        Fault(kind="start-consumer", target="new member", at_s=10, jitter_s=0),
        Fault(kind="close-consumer", target="any member", at_s=14, jitter_s=0),
        Fault(kind="start-consumer", target="new member", at_s=15.5, jitter_s=0),
    ),
    duration_s=17,
    clients=("librdkafka",),
    rules=holds("X18", "X14", "X32a", "X32b", "X32c"),
)
