"""The coordinator loses its peers and keeps its members: two brokers may think they have the group.

Why: the isolated coordinator answers until its clients leave it. A commit needs in-sync replicas,
so it accepts none. But it returns committed positions from its memory, which are old as soon as
another broker has loaded the group.
Watch: no partition has two owners, no accepted commit is gone, and old positions are returned.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A coordinator without its peers accepts no commit, and returns old positions.",
    cluster=Cluster(backend="docker"),
    group=Group(session_timeout_ms=20_000),
    faults=(Fault(kind="isolate-broker", target="coordinator", how="peers", lasts_s=18),),
    backends=("docker",),
    rules=(
        *holds("R21", "R33", "X32a", "X32b", "X32c"),
        violated(
            "R30",
            "positions are asked for without asking other replicas, so a coordinator that "
            "does not know that it is replaced tells those that it knew",
            by="* {isolate-broker} answered",
        ),
    ),
)
