"""A static member closes, and nobody comes back in its place.

Why: it sends no LeaveGroup, so that a restart causes no rebalance. Documents say that a member that
leaves starts a rebalance at once; a static one costs the others a session timeout first.
Watch: its partitions belong to nobody for as long.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="The close of a static member is noticed only when its session ends.",
    group=Group(static=True),
    faults=(Fault(kind="close-consumer", target="any member", at_s=1),),
    duration_s=8,
    protocols=("eager", "cooperative"),
    rules=(
        violated(
            "R20b",
            "a static member sends no LeaveGroup when it closes (KIP-345): the rebalance "
            "starts when its session ends",
            by="{close-consumer}",
            at_most=1,
        ),
        *holds("X03", "R01", "R02", "R12", "R21", "R33", "X32a", "X32b", "X32c"),
    ),
)
