"""A broker loses its clients and keeps its peers: the cluster sees nothing wrong with it.

Why: nobody takes its partitions over, for its session with the controller goes on; clients wait.
Watch: partitions that it leads stand still for as long as it lasts; the group does not rebalance.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="No other broker takes over from a broker that only its clients cannot reach.",
    cluster=Cluster(backend="docker"),
    group=Group(session_timeout_ms=20_000, commit="async"),
    faults=(
        Fault(
            kind="isolate-broker",
            target="any leader",
            not_target="coordinator",
            how="lanes",
            lasts_s=10,
        ),
    ),
    backends=("docker",),
    rules=holds("R20f", "R21", "R33", "X32a", "X32b", "X32c"),
)
