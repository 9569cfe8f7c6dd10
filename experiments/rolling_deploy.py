"""Every consumer is replaced, one after the other: a new process joins, then an old one ends.

Why: this is how most programs are deployed, and each process costs two rebalances.
Watch: how long partitions stand still in all, and that each old process leaves at once.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A rolling deploy costs a pause for each process that comes or goes, and no record.",
    faults=(Fault(kind="deploy", target="group", how="rolling"),),
    duration_s=14,
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("X14", "R02", "R12", "R20a", "R20b", "R21", "R21-delivery", "R21-stop"),
        *holds("R32", "R33", "X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)
