"""A consumer that commits a batch before it has processed it, and dies in between.

Why: proof that the judge sees loss. Nobody works on records that were committed and not processed.
Watch: acknowledged records that no member ever finished.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Committing before processing loses records when the consumer dies.",
    group=Group(sabotage="commit-before-processing"),
    faults=(
        # The stall holds a delivered batch in hand; the kill comes while it lasts.
        Fault(kind="stall-consumer", target="member 1", jitter_s=1, lasts_s=8),
        Fault(kind="kill-consumer", target="member 1", at_s=7, jitter_s=1),
    ),
    duration_s=15,
    rules=(
        # A batch, at most.
        violated("X32a", "this consumer commits what it has not processed", up_to=100),
        violated("X73", "this consumer commits what it has not processed", up_to=100),
        *holds("R33"),
    ),
)
