"""A consumer closes in order: it commits, says LeaveGroup, and goes.

Why: a member that says goodbye must not cost the others a session timeout.
Watch: the rebalance starts with the LeaveGroup, and nothing comes twice.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A consumer that leaves in order hands over at once, and nothing is consumed twice.",
    faults=(Fault(kind="close-consumer", target="any member"),),
    duration_s=8,
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("X14", "R02", "R12", "R20b", "R21", "R21-delivery", "R21-stop", "R32", "R33"),
        *holds("X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)
