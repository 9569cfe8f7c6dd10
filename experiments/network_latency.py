"""Every request of the group takes half a second longer, heartbeats too.

Why: late is not lost. A heartbeat that arrives re-arms the session, however long it was on its way.
Watch: no eviction and no rebalance while every gap stays below the session timeout.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="Latency below the session timeout evicts nobody.",
    faults=(Fault(kind="latency", target="any member", latency_ms=500, lasts_s=12),),
    rules=holds("R02", "R14", "R21", "R33", "X32a", "X32b", "X32c"),
)
