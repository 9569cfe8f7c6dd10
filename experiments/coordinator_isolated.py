"""One member loses its links to the group's coordinator, and to no other broker (KIP-848).

Why: a classic member gives its partitions up when its session ends. One of KIP-848 has no session
of its own: it goes on fetching what other brokers lead, and learns the truth at the next contact.
Watch: records that come to it after its eviction, and come again to their new owner.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds, violated

experiment = Experiment(
    claim="A member that is cut off from its coordinator works on, commits nothing, and is then "
    "fenced.",
    protocols=("consumer",),
    # Four for each member: neighbours share leaders, and two may both be led by the coordinator.
    load=Load(partitions=12),
    # A synchronous commit would keep the application waiting for the coordinator.
    group=Group(protocol="consumer", commit="auto", auto_commit_interval_ms=1_000),
    faults=(
        Fault(kind="isolate", target="any member", of_broker="coordinator", at_s=2, lasts_s=12),
    ),
    duration_s=16,
    rules=(
        violated(
            "R21-delivery",
            "the evicted member fetches on until it hears of its eviction",
            by="* {isolate} still held it",
            up_to=12_000,
        ),
        violated(
            "X41",
            "an automatic commit that was under way is sent once more with epoch -1 after "
            "its member has heard of its eviction, and is refused",
            by="{isolate}",
            sometimes=True,
            clients=("java",),
        ),
        *holds("X27", "R01", "X20", "X23", "R21", "X32a", "X32b"),
    ),
)
