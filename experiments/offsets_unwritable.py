"""A broker dies that the offsets topic cannot do without: it needs all three replicas in sync.

Why: a commit is a write like any other. Where it cannot be replicated it fails, although group and
coordinator are well: heartbeats need no write.
Watch: commits run into their time-out of 5 s, then, when the dead replica is out of the in-sync
set, fail at once; the position accepted last is told all the while.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A group that cannot commit keeps its members, its partitions and its old positions.",
    cluster=Cluster(
        settings={"min.insync.replicas": "3", "broker.session.timeout.ms": "6000"},
    ),
    # Heartbeats queue behind a commit on the same connection: up to 5 s each.
    group=Group(session_timeout_ms=20_000),
    faults=(
        Fault(
            kind="kill-broker",
            target="any broker",
            not_target="coordinator",
            at_s=2,
            jitter_s=1,
            lasts_s=14,
        ),
    ),
    rules=holds("X28", "X28-alive", "R31-append", "R21", "R33", "X32a", "X32b", "X32c"),
)
