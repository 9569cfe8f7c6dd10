"""A consumer stops dead (SIGSTOP) past its session timeout, then goes on as if nothing had been.

Why: a consumer that wakes up after its eviction still believes that it owns its partitions.
Watch: the overlap of two owners, the refused commit, and the records that come twice.
"""

from harness.experiment import Experiment, Fault, holds, violated

experiment = Experiment(
    claim="A frozen consumer is evicted, and what it does after waking up does not count.",
    faults=(Fault(kind="freeze-consumer", target="any member", lasts_s=12),),
    duration_s=16,
    rules=(
        violated(
            "R21-delivery",
            "the evicted member learns of it only when it wakes up; until then two "
            "applications believe that they own the partition",
            by="* {freeze-consumer} still held it",
            up_to=12_000,
        ),
        *holds("X20", "X23", protocols=("consumer",)),
        *holds("R01", "R35", "R02", "R12", "R20b", "R21", "R32", "R33", "X32a", "X32b", "X32c"),
    ),
)
