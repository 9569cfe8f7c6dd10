"""The store of a program refuses for 25 s, and meanwhile one more process joins.

Why: a store that is down fills a group with batches that are tried again, and that is when somebody
starts one process more. The rebalance takes partitions from under a batch that is in work.
Watch: whether each record comes to the store in the end, and whether a member commits partitions
that it has given up in between. A process that takes more than 20 s to join comes when the store is
back, and then the run shows nothing of this.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A process that joins while the store is down costs a rebalance, and no record.",
    faults=(
        Fault(kind="slow-sink", target="sink", how="503", lasts_s=25),
        Fault(kind="start-consumer", target="new member", at_s=5),
    ),
    duration_s=50,
    rules=holds("R33", "X14"),
)
