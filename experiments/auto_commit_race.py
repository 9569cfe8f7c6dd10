"""Automatic commits come often, while one batch after the other is handed over; nobody fails.

Why: the Java client of KIP-848 commits from a thread of its own. If its timer is up while poll
hands over a batch, the position behind that batch is committed before anything of it is processed.
Watch: positions committed ahead of what was processed; a crash just then would lose those records.
"""

from harness.experiment import Experiment, Group, Load, holds, violated

experiment = Experiment(
    claim="In KIP-848 Java's automatic commits sometimes cover records that are not processed yet.",
    load=Load(records_per_s=1_000),
    group=Group(
        client="java",
        protocol="consumer",
        members=2,
        commit="auto",
        auto_commit_interval_ms=100,
        process_us=500,
    ),
    duration_s=10,
    clients=("java",),
    protocols=("consumer",),
    rules=(
        # What a poll hands over, at most.
        violated(
            "R26-processed",
            "Java's network thread commits the position of what poll is just handing "
            "over, if its timer is up at that moment",
            up_to=100,
        ),
        *holds("R21", "R33", "X32a", "X32b", "X32c"),
    ),
)
