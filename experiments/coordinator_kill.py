"""The broker that coordinates the group dies; another one takes the group over.

Why: the new coordinator reloads the group and gives every member a whole new session. If the
session timeout is longer than the failover, nobody notices more than a pause.
Watch: the generation stays, no callback is called, and heartbeats go on with another broker.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A group whose session timeout outlasts the failover keeps its members and partitions.",
    # The failover takes broker.session.timeout.ms, an election and a load: 14 s outlast it.
    cluster=Cluster(settings={"broker.session.timeout.ms": "5000"}),
    group=Group(session_timeout_ms=14_000),
    faults=(Fault(kind="kill-broker", target="coordinator", at_s=2, lasts_s=9),),
    duration_s=13,
    rules=holds(
        "X12", "R05", "R05-lookup", "R35", "R20d", "R02", "R21", "R33", "X32a", "X32b", "X32c"
    ),
)
