"""Static members of KIP-848: a twin, a restart after a goodbye, a restart after a crash.

Why: in the new protocol an instance id is free again only when its owner said so, or its session
ended. A process that a supervisor restarts at once after a crash comes too early: its client gives
up for good, and nobody has its partitions until the session of the dead one ends.
Watch: error 111 for the twin and for the one that came too early, and no new group epoch at all
for the one whose predecessor said goodbye.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="In KIP-848 an instance id is free once its owner has left or its session has ended.",
    # Long enough for a Java member on a busy machine: it has to come back within its session, and
    # the twin before its elder closes (starts took 3.3 s).
    group=Group(static=True, protocol="consumer", session_timeout_ms=12_000),
    protocols=("consumer",),
    faults=(
        Fault(kind="start-duplicate", target="member 1", at_s=1, jitter_s=1),
        Fault(
            kind="bounce-consumer", target="member 2", how="close", lasts_s=1, at_s=2, jitter_s=1
        ),
        # Both are evicted a session after their last heartbeats.
        Fault(kind="close-consumer", target="member 1", at_s=6.5, jitter_s=0.5),
        Fault(
            kind="bounce-consumer",
            target="member 3",
            how="kill",
            lasts_s=0.5,
            at_s=9.5,  # when the first one is back: faults are healed one after the other
            jitter_s=0.5,
        ),
    ),
    duration_s=22.5,
    rules=holds(
        *("X02", "X03", "X05-unreleased", "R01", "X20", "R02", "R12", "R21"),
        *("X32a", "X32b", "X32c"),
    ),
)
