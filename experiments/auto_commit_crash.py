"""A consumer with automatic commits dies twice: once at a random moment, once with work in hand.

Why: an automatic commit is as late as its interval, so a crash repeats up to that. What it covers
differs: librdkafka counts a record as done when it is handed over and commits by a timer, so that
a crash loses the batch in hand; Java commits in the next poll, when the last one is done.
Watch: how many records come twice, and which ones nobody ever finishes.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Automatic commits repeat one interval at most; librdkafka's lose records that were in "
    "progress.",
    group=Group(
        commit="auto",
        auto_commit_interval_ms=2_000,
        # Every client's default; a Java client's fetches are recorded where it is declared.
        settings={"max.partition.fetch.bytes": "1048576"},
    ),
    faults=(
        Fault(kind="kill-consumer", target="member 1", at_s=1, jitter_s=1),
        # The interval passes while the batch is in hand; the kill comes before it is done.
        Fault(kind="stall-consumer", target="member 2", at_s=10, jitter_s=0.5, lasts_s=7),
        Fault(kind="kill-consumer", target="member 2", at_s=13.5, jitter_s=0.5),
    ),
    duration_s=18,
    rules=(
        *holds("R26", "X32d", "R01", "R21", "R33", "X32b", "X32c"),
        *holds("R23", "R24", "R25", clients=("java",)),
        # In KIP-848 it depends on a race, which auto-commit-race has often enough.
        *holds("R26-processed", "X32a", clients=("java",), protocols=CLASSIC),
        *(
            # A batch of 100 each time; the first is not done when the next is in hand.
            violated(
                rule,
                "librdkafka stores a position when it hands the record over, and its "
                "timer commits it while the work is still to be done",
                up_to=200,
                clients=("librdkafka",),
            )
            for rule in ("R26-processed", "X32a")
        ),
    ),
)
