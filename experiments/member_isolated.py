"""The links of one member go dead, past its session timeout; everybody else's are well.

Why: both sides must come to the same end on their own: the coordinator evicts a silent member, and
the member gives up partitions that it can no longer defend.
Watch: the two clocks side by side, and who owned the partitions in between.
"""

from harness.experiment import Experiment, Fault, holds, violated

experiment = Experiment(
    claim="A member whose links are cut is evicted by its coordinator, and notices its loss by "
    "itself.",
    faults=(Fault(kind="isolate", target="any member", lasts_s=14),),
    rules=(
        violated(
            "R06",
            "the Java client only marks the coordinator unknown; librdkafka drops its "
            "partitions and joins anew",
            by="{isolate}",
            clients=("librdkafka",),
        ),
        *holds("R05", "R06", "R09", clients=("java",)),
        *holds("R06-client", clients=("librdkafka",)),
        *holds("R01", "R02", "R16", "R20b", "R21", "R32", "R33", "X32a", "X32b"),
        *holds("X32c"),
        *holds("X20", protocols=("consumer",)),
    ),
)
