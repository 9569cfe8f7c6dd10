"""One more consumer joins a working group.

Why: the others learn of it from the answer to their next heartbeat, so a join costs one interval.
Watch: every partition stands still until the last member has rejoined.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A new member starts one rebalance, and every member learns of it by its next heartbeat.",
    faults=(Fault(kind="start-consumer", target="new member"),),
    rules=holds(
        "R20a",
        "R02",
        "R12",
        "R21",
        "R21-delivery",
        "R21-stop",
        "R32",
        "R33",
        "X32a",
        "X32b",
        "X32c",
        "X32d",
        "X34",
    ),
)
