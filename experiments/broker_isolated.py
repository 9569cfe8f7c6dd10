"""A broker loses its peers and keeps its clients: alive for whoever asks it, dead for the cluster.

Why: it cannot renew its session with the controller, so the others go on without it; clients that
still reach it are told to go elsewhere only when they hear of new metadata from another one.
Watch: the group keeps its members; nothing that was acknowledged is lost.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A broker that loses its peers and keeps its clients costs time, and no records.",
    cluster=Cluster(backend="docker"),
    group=Group(session_timeout_ms=20_000),
    faults=(
        Fault(
            kind="isolate-broker",
            target="any leader",
            not_target="coordinator",
            how="peers",
            lasts_s=16,
        ),
    ),
    backends=("docker",),
    rules=holds("R21", "R33", "X32a", "X32b", "X32c"),
)
