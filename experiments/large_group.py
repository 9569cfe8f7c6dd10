"""A group of two hundred: one more consumer joins, one crashes, and a deploy replaces them all.

Why: a rebalance has as many messages as there are members, but its time is to follow from the
heartbeat interval. A group of three cannot show where the one outgrows the other.
Watch: the join in heartbeat intervals, and that the group rebalances for these three and nothing
else. `--set members=50 --set partitions=51 --set records_per_s=51` makes the group smaller.
"""

from harness.experiment import Experiment, Fault, Group, Load, holds

experiment = Experiment(
    claim="A group of two hundred rebalances only when something happens to its members.",
    # A record a second for each partition: what is asked here is what the group costs, and on two
    # cores two hundred consumers with more to do would leave no time to answer.
    load=Load(partitions=201, records_per_s=201),
    group=Group(
        members=200,
        # Two hundred processes that start take the processors for seconds.
        session_timeout_ms=10_000,
        # librdkafka's default: at 100 ms, which other groups have, these fetch 2,000 times a
        # second.
        settings={"fetch.wait.max.ms": "500"},
    ),
    faults=(
        Fault(kind="start-consumer", target="new member"),
        Fault(kind="kill-consumer", target="any member"),
        Fault(kind="deploy", target="group", how="at once"),
    ),
    clients=("librdkafka",),
    one_by_one=True,
    duration_s=30,
    long=True,
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("R12", "R20a", "R20b", "R20e", "R20f", "R21", "R21-delivery"),
        *holds("R33", "X14", "X32a", "X32b", "X32c", "X32d"),
    ),
)
