"""Two consumers more at the same moment, and two fewer again.

Why: this is what an autoscaler does, and each of its steps costs the whole group a rebalance.
Watch: how many rebalances two joins at once take, and two leaves; after both, partitions are spread
evenly.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="Scaling by two processes leaves partitions spread evenly, and no record is lost.",
    faults=(
        Fault(kind="scale", target="group", how="up", by=2),
        Fault(kind="scale", target="group", how="down", by=2, at_s=15),
    ),
    duration_s=22,
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("X14", "R02", "R12", "R20a", "R20b", "R21", "R21-delivery", "R21-stop", "R22"),
        *holds("R33", "X32a", "X32b", "X32c", "X32d"),
    ),
)
