"""A consumer that commits a batch before it has processed it, and dies in between.

Why: proof that the judge sees loss. Nobody works on records that were committed and not processed.
Watch: acknowledged records that no member ever finished.
"""

from harness.experiment import Expect, Experiment, Fault, Group, Verdict, holds

experiment = Experiment(
    claim="Committing before processing loses records when the consumer dies.",
    group=Group(sabotage="commit-before-processing"),
    faults=(
        # The stall holds a delivered batch in hand; the kill comes while it lasts.
        Fault(kind="stall-consumer", target="member 1", at_s=3, jitter_s=1, lasts_s=8),
        Fault(kind="kill-consumer", target="member 1", at_s=7, jitter_s=1),
    ),
    duration_s=15,
    rules=(
        Expect(
            rule="X32a",
            verdict=Verdict.VIOLATED,
            up_to=100,  # a batch
            because="this consumer commits what it has not processed",
        ),
        Expect(
            rule="X73",
            verdict=Verdict.VIOLATED,
            up_to=100,
            because="this consumer commits what it has not processed",
        ),
        *holds("R33"),
    ),
)
