"""One process waits for its sink for 80 s, and meanwhile another process starts.

Why: a listener that delivers inline hears of no rebalance while it waits, so that everybody else
waits for it, for as long as its rebalance timeout is.
Watch: whether the others wait that long too, or give their JoinGroups up and send new ones; how
long partitions stand still, who is put out, and what comes twice.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A process that is stuck in a delivery is put out after its rebalance timeout.",
    faults=(
        Fault(kind="slow-sink", target="member 2", latency_ms=80_000, lasts_s=80),
        Fault(kind="start-consumer", target="new member", at_s=10),
    ),
    duration_s=130,
    long=True,
    rules=holds("R33", "X14"),
)
