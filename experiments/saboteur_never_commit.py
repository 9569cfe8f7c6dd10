"""A consumer that promises to commit after each batch, and never does.

Why: proof that the judge holds redeliveries against the commit policy that the group declares.
Watch: everything since the start comes again at the first hand-over.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Without commits, a hand-over repeats far more than the declared policy allows.",
    group=Group(sabotage="never-commit"),
    faults=(Fault(kind="start-consumer", target="new member"),),
    duration_s=8,
    rules=(
        violated(
            "X32d", "this consumer never commits, so a whole history is open at each hand-over"
        ),
        *holds("R33"),
    ),
)
