"""The coordinator loses its peers and keeps its members: two brokers may think they have the group.

Why: the isolated one still answers heartbeats until its clients leave it, and what it answers is
worth nothing: a commit needs the in-sync replicas, which it has not. Another one loads the group.
Watch: no partition with two owners, no commit that was accepted and is gone.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A coordinator without its peers can keep members waiting, and accept nothing.",
    cluster=Cluster(backend="docker"),
    group=Group(session_timeout_ms=20_000),
    faults=(Fault(kind="isolate-broker", target="coordinator", how="peers", lasts_s=18),),
    backends=("docker",),
    rules=holds("R21", "R30", "R33", "X32a", "X32b", "X32c"),
)
