"""One more consumer joins a working group.

Why: the others learn of it from the answer to their next heartbeat, so a join costs one interval.
Watch: every partition stands still until the last member has rejoined.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="A new member starts one rebalance, and every member learns of it by its next heartbeat.",
    faults=(Fault(kind="start-consumer", target="new member"),),
    rules=(
        Expect(rule="R20a"),
        Expect(rule="R02"),
        Expect(rule="R12"),
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
