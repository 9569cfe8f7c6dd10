"""A member of the new protocol joins a classic group, and leaves it again (KIP-848 migration).

Why: groups are moved to the new protocol member by member, and may have to go back.
Watch: the group is converted with the join, works with both kinds of members, and is classic again
once the last new one is gone.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim=(
        "The first member of KIP-848 converts a group; when it leaves, the group is classic again."
    ),
    protocols=("eager",),
    group=Group(members=2, differing={3: {"protocol": "consumer"}}),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=2, jitter_s=1),
        Fault(kind="close-consumer", target="member 3", at_s=12, jitter_s=1),
    ),
    duration_s=15.5,
    rules=holds("X25", "R21", "X32a", "X32b", "X32c"),
)
