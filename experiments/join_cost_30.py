"""One more consumer joins a group of thirty.

Why: members learn of a rebalance by their next heartbeat, so what it costs must not grow with the
group; and a group of thirty shows it where one of three might not.
Watch: the rebalance in heartbeat intervals, beside that of `consumer-join`.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A join costs a group of thirty as many heartbeat intervals as a group of three.",
    load=Load(partitions=31, records_per_s=620),
    group=Group(members=30),
    faults=(Fault(kind="start-consumer", target="new member"),),
    duration_s=9.0,
    rules=holds("R20a", "R12", "R21", "R32", "R33", "X32a", "X32b", "X32c", "X34"),
)
