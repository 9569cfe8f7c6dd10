"""One member processes for longer than its session while another one joins the group.

Why: a rebalance waits for everybody, up to max.poll.interval.ms; those who wait and the one who is
waited for must not be taken for dead meanwhile.
Watch: JoinGroups that are answered after the stall, and heartbeats answered REBALANCE_IN_PROGRESS.
"""

from harness.experiment import CLASSIC, Experiment, Fault, commit_waits_for_the_rebalance, holds

experiment = Experiment(
    claim="A rebalance waits until the slowest member polls again, without an eviction.",
    faults=(
        Fault(kind="stall-consumer", target="member 1", jitter_s=0.5, lasts_s=13),
        Fault(kind="start-consumer", target="new member", at_s=5, jitter_s=0.5),
    ),
    duration_s=18,
    rules=(
        *holds("R03-members", "R08-members", "R02", "R12", "R20a", "R21", "R32", "R32-rejoin"),
        *holds("R33", "R34", "X07", "X32a", "X32b", "X32c", "X32d"),
        # Two seconds more than the stall, as in callback-stall.
        commit_waits_for_the_rebalance("X01-kept", up_to=15_000),
    ),
    protocols=CLASSIC,
)
