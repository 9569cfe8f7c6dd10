"""One fault after the other, drawn at random, for as long as one likes.

Why: what leaks, drifts or happens once in a hundred times shows in no run of a minute.
Watch: no record lost, no partition with two owners, and generations that count up by one, whatever
came before. Each fault waits until the group is well after the one before. `soak --for 1h` says
for how long, and Ctrl-C ends it earlier, with a verdict.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A group comes back from one fault after the other, however many there are.",
    group=Group(session_timeout_ms=10_000, max_poll_interval_ms=30_000),
    faults=(
        Fault(kind="kill-consumer", target="any member", at_s=5, jitter_s=20),
        Fault(kind="close-consumer", target="any member", at_s=5, jitter_s=20),
        Fault(kind="start-consumer", target="new member", at_s=5, jitter_s=20),
        # Longer than the session, which the heartbeat thread keeps, and no poll is overdue.
        Fault(kind="stall-consumer", target="any member", at_s=5, jitter_s=20, lasts_s=13),
        Fault(kind="kill-broker", target="coordinator", at_s=5, jitter_s=20, lasts_s=12),
        Fault(kind="kill-broker", target="any broker", at_s=5, jitter_s=20, lasts_s=12),
        Fault(kind="stop-broker", target="any broker", at_s=5, jitter_s=20, lasts_s=8),
        Fault(kind="pause-broker", target="any broker", at_s=5, jitter_s=20, lasts_s=4),
        Fault(kind="latency", target="any member", at_s=5, jitter_s=20, lasts_s=10, latency_ms=200),
        Fault(kind="isolate", target="any member", at_s=5, jitter_s=20, lasts_s=5),
    ),
    one_by_one=True,
    at_random=True,
    duration_s=600,
    rules=holds("R21", "R33", "X14", "X32a", "X32b", "X32c", "X32d"),
    long=True,
)
