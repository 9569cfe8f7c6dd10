"""A consumer of KIP-848 is killed, and the brokers have default timers.

Why: a group that has moved to KIP-848 waits for 45 s, whatever its members had set before.
Watch: the interval that the coordinator tells each member, and three quarters of a minute in which
no live member owns the partitions.
"""

from harness.experiment import UNSET, Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="With the brokers' default timers a crash is noticed after 40 to 45 seconds in KIP-848.",
    cluster=Cluster(
        settings={
            f"group.consumer.{which}{timer}.ms": UNSET
            for which in ("", "min.", "max.")
            for timer in ("session.timeout", "heartbeat.interval")
        }
    ),
    # What Kafka has where nobody says anything: rules are judged by it, and nothing is set.
    group=Group(protocol="consumer", session_timeout_ms=45_000, heartbeat_interval_ms=5_000),
    faults=(Fault(kind="kill-consumer", target="any member"),),
    duration_s=55,
    rules=holds("X11", "R01", "X20", "R02", "R20b", "R20e", "R33", "X32a", "X32b", "X32c"),
    protocols=("consumer",),
    long=True,
)
