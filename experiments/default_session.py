"""A consumer with default timers is killed.

Why: 45 s is what most groups really wait before they notice a crash (10 s before Kafka 3.0).
Watch: three quarters of a minute in which no live member owns its partitions.
"""

from harness.experiment import CLASSIC, UNSET, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="With default timers a crashed consumer is noticed after 42 to 45 seconds.",
    # What libraries have where nobody says anything: rules are judged by it, and nothing is set.
    group=Group(
        session_timeout_ms=45_000,
        heartbeat_interval_ms=3_000,
        max_poll_interval_ms=300_000,
        auto_commit_interval_ms=5_000,
        commit="auto",
        settings={
            "session.timeout.ms": UNSET,
            "heartbeat.interval.ms": UNSET,
            "max.poll.interval.ms": UNSET,
            "auto.commit.interval.ms": UNSET,
        },
    ),
    faults=(Fault(kind="kill-consumer", target="any member"),),
    rules=holds(
        *("X11", "R01", "R02", "R04", "R10", "R14", "R20b", "R26", "R33", "X32a", "X32b", "X32c")
    ),
    duration_s=55,
    protocols=CLASSIC,
    long=True,
)
