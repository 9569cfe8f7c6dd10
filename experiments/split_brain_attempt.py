"""The coordinator loses its peers and keeps its members: two brokers may think they have the group.

Why: the isolated one still answers until its clients leave it. A commit needs the in-sync replicas,
which it has not, so it accepts none; but what had been committed it tells from its memory, which
is old as soon as another one has loaded the group.
Watch: no partition with two owners, no commit that was accepted and is gone, old positions told.
"""

from harness.experiment import Cluster, Expect, Experiment, Fault, Group, Verdict, holds

experiment = Experiment(
    claim="A coordinator without its peers accepts nothing, and tells positions that are old.",
    cluster=Cluster(backend="docker"),
    group=Group(session_timeout_ms=20_000),
    faults=(Fault(kind="isolate-broker", target="coordinator", how="peers", lasts_s=18),),
    backends=("docker",),
    rules=(
        *holds("R21", "R33", "X32a", "X32b", "X32c"),
        Expect(
            rule="R30",
            verdict=Verdict.VIOLATED,
            because="positions are asked for without asking other replicas, so a coordinator that "
            "does not know that it is replaced tells those that it knew",
        ),
    ),
)
