"""One member's requests take four seconds longer, its heartbeats too, for many of them.

Why: late is not lost. A heartbeat that arrives re-arms the session, however long it was on its way.
Watch: silences of four seconds and more, and no eviction while each is below the session timeout.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="Latency below the session timeout evicts nobody.",
    # Committing only at a revocation, so that heartbeats alone keep the session.
    group=Group(commit="revoke"),
    faults=(Fault(kind="latency", target="any member", latency_ms=4_000, lasts_s=22),),
    rules=holds("R02", "R14", "R21", "R33", "X32a", "X32b", "X32c"),
)
