"""The only replica of a partition dies with its broker, and comes back with it.

Why: documents say that a partition without a leader sets off a rebalance and leaves its consumer
without work. The second is so, for as long as the broker is gone; no other member could do better.
Watch: one partition or two without a leader, their members idle, and no new generation.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A partition without a leader is not read, and its group does not rebalance.",
    cluster=Cluster(settings={"broker.session.timeout.ms": "6000"}),
    load=Load(replication=1, min_insync_replicas=1),
    # Commits wait for the dead replica of the offsets topic, and heartbeats queue behind them.
    group=Group(session_timeout_ms=20_000),
    faults=(
        Fault(
            kind="kill-broker",
            target="any leader",
            not_target="coordinator",
            at_s=2,
            jitter_s=1,
            lasts_s=11,
        ),
    ),
    duration_s=14,
    long=True,
    rules=holds("R11-idle", "R20d", "R21", "R33", "X32a", "X32b", "X32c"),
)
