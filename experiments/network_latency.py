"""One member's requests take three seconds longer, its heartbeats too, for many of them.

Why: late is not lost. A heartbeat that arrives re-arms the session, however long it was on its way.
Watch: silences twice as long as the heartbeat interval, and no eviction: all are below the session.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="Latency below the session timeout evicts no member.",
    # Committing only at a revocation, so that heartbeats alone keep the session.
    group=Group(commit="revoke"),
    faults=(Fault(kind="latency", target="any member", latency_ms=3_000, lasts_s=14),),
    duration_s=19,
    rules=holds("R02", "R14", "R20f", "R21", "R33", "X32a", "X32b", "X32c"),
)
