"""Every node gets a newer release of Kafka, one after the other, and then the cluster's features.

Why: this is how clusters are upgraded: for a while brokers of both releases serve one group, and it
goes from a coordinator of the one to a coordinator of the other.
Watch: an upgrade costs what a rolling restart costs. KAFKA= is the release to come to.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="An upgrade of the brokers costs a pause per broker, and no rebalance.",
    cluster=Cluster(upgraded_from="4.3.1", settings={"broker.session.timeout.ms": "5000"}),
    group=Group(session_timeout_ms=20_000),
    faults=(
        # The controller first: brokers register with it, and one before 3.9 would take in none of
        # their features that begin at level 0, so that these could not be finalized (KAFKA-17011).
        *(
            Fault(kind="upgrade-broker", target=node, at_s=2, jitter_s=0.5, lasts_s=3)
            for node in ("controller", "broker 1", "broker 2", "broker 3")
        ),
        Fault(kind="finalize-features", target="controller", at_s=2, jitter_s=0.5),
    ),
    one_by_one=True,
    duration_s=45,
    backends=("embedded",),
    long=True,  # the other release has to be fetched first
    rules=holds("R02", "R20d", "R21", "R30", "R33", "X12", "X32a", "X32b", "X32c"),
)
