"""One record takes longer than max.poll.interval.ms.

Why: the client itself leaves the group then, whatever the application still does with the record.
Watch: the LeaveGroup at the limit, the refused commit, and its work done twice by two members.
"""

from harness.experiment import (
    CLASSIC,
    Experiment,
    Fault,
    Group,
    holds,
    late_commit_is_unnamed,
    violated,
)

experiment = Experiment(
    claim="A member that does not poll leaves; its commit is refused and its work is done twice.",
    # A heartbeat up to the limit, and a session after it, end within the stall.
    group=Group(max_poll_interval_ms=7_000),
    faults=(Fault(kind="stall-consumer", target="any member", lasts_s=14),),
    duration_s=18,
    rules=(
        # In KIP-848 it may be back before the others' heartbeats have given them away.
        violated(
            "R21-delivery",
            "the application is told only by its next poll; until then it works on "
            "partitions that are another member's",
            by="* {stall-consumer} still held it",
            up_to=14_000,
            protocols=CLASSIC,
        ),
        *holds("R07"),
        violated(
            "R07",
            "librdkafka stops its heartbeats at the limit, but says that it leaves only "
            "when the application polls: the session ends before",
            by="{stall-consumer}",
            at_most=1,
            clients=("librdkafka",),
            protocols=("consumer",),
        ),
        late_commit_is_unnamed("X41-asked"),
        *holds("R01", "X20", clients=("librdkafka",), protocols=("consumer",)),
        *holds("R36", "R16", "R35", "R19", "R02", "R20b", "R21", "R33", "X32a", "X32b", "X32c"),
    ),
)
