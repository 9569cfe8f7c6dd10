"""A consumer that goes on processing what it has in hand after its partitions were revoked.

Why: proof that the judge sees work on partitions that belong to somebody else by then.
Watch: records processed by the old owner after it was told to stop.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A consumer that ignores a revocation works on partitions that are not its own.",
    group=Group(sabotage="keep-processing-after-revocation"),
    faults=(Fault(kind="start-consumer", target="new member"),),
    duration_s=8,
    rules=(
        violated("R21-stop", "this consumer finishes its batches after the revocation"),
        violated("X60", "this consumer finishes its batches beside its next polls", sometimes=True),
        *holds("R33"),
    ),
)
