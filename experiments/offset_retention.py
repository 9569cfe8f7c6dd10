"""The only member leaves, and comes back when its group's positions have expired.

Why: positions are not kept for ever. A group that is empty for longer than the retention starts
where auto.offset.reset says, however it is set elsewhere.
Watch: a minute after the group was empty nobody is told a position any more.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="An empty group's positions are kept for the retention, and not much longer.",
    cluster=Cluster(
        settings={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    ),
    load=Load(records_per_s=60),
    group=Group(members=1),
    faults=(
        Fault(kind="close-consumer", target="member 1", at_s=1),
        Fault(kind="start-consumer", target="new member", at_s=68, jitter_s=0),
    ),
    duration_s=72,
    rules=holds("X17", "X18", "X14", "X32a"),
    long=True,
)
