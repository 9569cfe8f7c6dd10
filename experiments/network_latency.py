"""Every request of the group takes half a second longer, heartbeats too.

Why: late is not lost. A heartbeat that arrives re-arms the session, however long it was on its way.
Watch: no eviction and no rebalance while every gap stays below the session timeout.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="Latency below the session timeout evicts nobody.",
    faults=(Fault(kind="latency", target="any member", latency_ms=500, lasts_s=12),),
    rules=(
        Expect(rule="R02"),
        Expect(rule="R14"),
        Expect(rule="R21"),
        Expect(rule="R33"),
        Expect(rule="X32a"),
        Expect(rule="X32b"),
        Expect(rule="X32c"),
    ),
)
