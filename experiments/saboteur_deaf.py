"""A member's process stops itself in the midst of a long batch, while another member joins.

Why: proof that the judge sees heartbeats that depend on what the process does otherwise.
Watch: a gap of eight seconds in the heartbeats, and a member that learns of the rebalance last.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A member that cannot send heartbeats while it works learns of a rebalance late.",
    group=Group(session_timeout_ms=12_000, differing={1: {"sabotage": "stop-in-stall"}}),
    faults=(
        Fault(kind="stall-consumer", target="member 1", jitter_s=0, lasts_s=16),
        Fault(kind="start-consumer", target="new member", at_s=5.5, jitter_s=0),
    ),
    duration_s=18,
    rules=(
        violated(
            "R34",
            "nothing of a stopped process runs, its heartbeats neither",
            by="{stall-consumer}",
            at_most=1,
        ),
        violated(
            "R32",
            "a member that sends no heartbeat is told nothing",
            by="{stall-consumer}",
            at_most=1,
        ),
        *holds("R02", "R20a", "R21", "R33", "X32a"),
    ),
    protocols=CLASSIC,
)
