"""One record takes longer than max.poll.interval.ms, in a group with automatic commits.

Why: documents warn that such work is done again, whether or not the client commits by itself.
Watch: the LeaveGroup at the limit, and the batch in hand, which its next owner reads again.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Automatic commits do not save the work of a member that was too slow: it is done twice.",
    group=Group(
        client="java", commit="auto", auto_commit_interval_ms=2_000, max_poll_interval_ms=7_000
    ),
    faults=(Fault(kind="stall-consumer", target="any member", lasts_s=11),),
    duration_s=14,
    long=True,
    clients=("java",),
    protocols=CLASSIC,
    rules=(
        violated(
            "R21-delivery",
            "the application is told only by its next poll; until then it works on "
            "partitions that are another member's",
            by="* {stall-consumer} still held it",
            up_to=11_000,
        ),
        *holds("R19", "R07", "R20b", "R21", "R26", "R33", "X32a", "X32b", "X32c"),
    ),
)
