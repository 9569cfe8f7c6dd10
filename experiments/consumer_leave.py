"""A consumer closes in order: it commits, says LeaveGroup, and goes.

Why: a member that says goodbye must not cost the others a session timeout.
Watch: the rebalance starts with the LeaveGroup, and nothing comes twice.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="A consumer that leaves in order hands over at once, and nothing is consumed twice.",
    faults=(Fault(kind="close-consumer", target="any member"),),
    rules=(
        Expect(rule="X14"),
        Expect(rule="R02"),
        Expect(rule="R12"),
        Expect(rule="R20b"),
        Expect(rule="R21"),
        Expect(rule="R21-delivery"),
        Expect(rule="R21-stop"),
        Expect(rule="R32"),
        Expect(rule="R33"),
        Expect(rule="X32a"),
        Expect(rule="X32b"),
        Expect(rule="X32c"),
        Expect(rule="X32d"),
    ),
)
