"""Members copy batches in transactions with positions; one is away too long, one dies within one.

Why: positions and results that are committed together cannot disagree. A member that was removed
from the group meanwhile is refused, and its results are rolled back.
Watch: readers of committed records see nothing twice; the others see what was rolled back, too.
"""

from harness.experiment import (
    CLASSIC,
    Cluster,
    Experiment,
    Fault,
    Group,
    Load,
    handed_what_it_has_lost,
    holds,
    violated,
)

experiment = Experiment(
    claim="Reading, processing and writing in transactions gives each record one result, "
    "whichever process fails.",
    cluster=Cluster(
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
    ),
    load=Load(records_per_s=60),
    group=Group(commit="transaction", max_poll_interval_ms=7_500),
    faults=(
        Fault(kind="stall-consumer", target="member 1", at_s=2, jitter_s=1, lasts_s=10),
        Fault(kind="kill-consumer", target="member 2", how="in a transaction", at_s=4, jitter_s=1),
    ),
    duration_s=15,
    rules=(
        *holds("X29", "R21", "R33", "X32a"),
        *holds("R19", protocols=CLASSIC),
        # In KIP-848 librdkafka falls silent at the limit and is not evicted so soon.
        *holds("R19", clients=("java",), protocols=("consumer",)),
        # If the dead member is evicted before the stalled one is too slow.
        handed_what_it_has_lost("R15", by="* to {stall-consumer}", sometimes=True),
        handed_what_it_has_lost("X99", sometimes=True),
        violated(
            "X29-uncommitted",
            "what an aborted transaction has written stays in the log, and these readers "
            "are shown it",
            by="*copies too many",
        ),
    ),
)
