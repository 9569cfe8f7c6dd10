"""A consumer is killed without a word (SIGKILL): no LeaveGroup, no last commit.

Why: only the silence tells the coordinator; it must wait a session timeout, no less and no more.
Watch: the eviction to the millisecond, and who owns its partitions in between: nobody.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A crashed consumer is evicted one session timeout after its last sign of life.",
    faults=(Fault(kind="kill-consumer", target="any member"),),
    duration_s=17,  # the survivors send three heartbeats in each of their generations
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("R01", "R02", "R10", "R12", "R14", "R16", "R20b", "R20e", "R21", "R32", "R33"),
        *holds("X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)
