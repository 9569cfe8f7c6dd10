"""A consumer crashes, and a rolling deploy of the others begins before that has been noticed.

Why: deploys do not wait for a quiet moment, and a crash is often what a deploy is to mend.
Watch: the first step of the deploy, which is over only when the dead one's session is: in the
classic protocols the rebalance of the first new process waits for it, and in KIP-848 the group is
not stable before.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim=(
        "A deploy that begins before a crash is noticed waits for one session, and loses nothing."
    ),
    group=Group(members=4),
    faults=(
        Fault(kind="kill-consumer", target="member 1", jitter_s=1),
        Fault(kind="deploy", target="group", how="rolling", at_s=4.5, jitter_s=0.5),
    ),
    duration_s=16,
    rules=(
        *holds("X20", protocols=("consumer",)),
        *holds("R01", "X14", "R02", "R12", "R20a", "R20b", "R21", "R21-delivery", "R21-stop"),
        *holds("R32", "R33", "X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)
