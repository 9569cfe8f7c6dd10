"""One broker after the other is restarted, each when the one before serves again.

Why: this is how clusters are upgraded. Each restart moves leaders, and one of them the coordinator.
Watch: the group keeps its generation through all three.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A rolling restart costs a pause per broker, and no rebalance.",
    cluster=Cluster(settings={"broker.session.timeout.ms": "5000"}),
    group=Group(session_timeout_ms=20_000),
    faults=tuple(
        Fault(
            kind="stop-broker",
            target=f"broker {number}",
            at_s=3 + 9 * (number - 1),
            jitter_s=0.5,
            lasts_s=3,
        )
        for number in (1, 2, 3)
    ),
    duration_s=28,
    rules=holds("R02", "R20d", "R21", "R33", "X32a", "X32b", "X32c"),
)
