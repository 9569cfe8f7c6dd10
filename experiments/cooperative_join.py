"""One more consumer joins a cooperative group whose members commit in the background.

Why: a cooperative rebalance is to go unnoticed where nothing moves. It does, unless the application
waits for its commits: those wait behind the JoinGroup, on the same connection (`bad-day`).
Watch: one partition moves, in two generations; the others are read as if nothing was.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A partition that does not move in a cooperative rebalance is not interrupted.",
    group=Group(protocol="cooperative", commit="auto"),
    faults=(Fault(kind="start-consumer", target="new member", at_s=4),),
    protocols=("cooperative",),
    duration_s=10,
    rules=(
        violated("R15-all", "members of a cooperative group keep what does not move (KIP-429)"),
        *holds("X01", "X01-kept", "R02", "R12", "R20a", "R21", "R33"),
        *holds("X32a", "X32b", "X32c", "X32d"),
    ),
)
