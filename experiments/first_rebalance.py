"""A group comes up with Kafka's default initial delay, and its members arrive one by one.

Why: without the delay each member that arrives alone would cost a rebalance.
Watch: how long the first generation takes to form, and that later ones do not wait.
"""

from harness.experiment import CLASSIC, UNSET, Cluster, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="The first rebalance waits for another initial delay as long as members keep arriving.",
    cluster=Cluster(settings={"group.initial.rebalance.delay.ms": UNSET}),
    group=Group(members=4, arrive_every_ms=1_200),
    faults=(Fault(kind="start-consumer", target="new member", at_s=1, jitter_s=1),),
    rules=holds("X07", "X08-members", "R12", "R33", "X32a"),
    duration_s=6,
    protocols=CLASSIC,
)
