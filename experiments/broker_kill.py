"""A broker that leads partitions, but does not coordinate the group, dies and comes back.

Why: documents say that a broker crash triggers a rebalance. It does not any more: members follow
the new leaders. What they feel is a standstill, until the dead replica is out of the in-sync set.
Watch: no new generation, no callback, and yet every partition stands still for seconds.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="Losing a partition leader stops the flow for a while, but the group does not rebalance.",
    # Commits wait for the dead replica too, and heartbeats queue behind them: 7 to 9 s here.
    group=Group(session_timeout_ms=15_000),
    faults=(
        # Late enough for a few steady heartbeats to be on record before it.
        Fault(
            kind="kill-broker", target="any leader", not_target="coordinator", at_s=8, lasts_s=12
        ),
    ),
    duration_s=21,
    rules=holds("R20d", "R02", "R14", "R21", "R33", "X32a", "X32b", "X32c"),
)
