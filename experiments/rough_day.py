"""What rougher days bring: a process that is frozen past its session, a broker that dies.

Why: a pause of a virtual machine or of garbage collection makes a zombie of a process, and a broker
that dies takes the leaders of partitions along.
Watch: whether the zombie comes back to its group, and how long partitions stand still without any
rebalance. One fault waits until the group is well after the one before.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A frozen process comes back as a member, and a dead broker costs a pause.",
    # As in broker-kill: a commit waits for the dead replica, and the heartbeat behind it as well.
    group=Group(session_timeout_ms=15_000),
    faults=(
        # Longer than the session of any library in consumers/apps, 45 s being the longest.
        Fault(kind="freeze-consumer", target="member 1", lasts_s=60),
        Fault(kind="kill-broker", target="any leader", not_target="coordinator", lasts_s=12),
    ),
    one_by_one=True,
    duration_s=0,
    rules=holds("R33", "X14"),
    long=True,
)
