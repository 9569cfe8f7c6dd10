"""A record takes a static member longer than max.poll.interval.ms, but not until its session ends.

Why: a static member that is late keeps its place for a session, so that it can come back to it. Its
application finishes the record, commits it, and only then polls.
Watch: the commit is refused, since its client has let its member id go; whether the client joins
again at its next poll, or takes the refusal for another process in its place, and ends for good.
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
    claim="A static member that is late, but back within its session, goes on with its work.",
    group=Group(static=True, max_poll_interval_ms=9_000, session_timeout_ms=9_000),
    faults=(Fault(kind="stall-consumer", target="any member", at_s=1, lasts_s=14),),
    protocols=CLASSIC,
    rules=(
        *holds("X41-asked", "X42", clients=("java",)),
        late_commit_is_unnamed("X41-asked"),
        violated(
            "X42",
            "a commit with the instance id and without the member id is answered "
            "FENCED_INSTANCE_ID, which librdkafka takes for another process in its place",
            by="{stall-consumer}",
            clients=("librdkafka",),
        ),
        # Java is back before its session ends, unnoticed; librdkafka's member is evicted then.
        *holds("R01", "R33", clients=("librdkafka",)),
        *holds("R02", "R12", "R21", "X32a", "X32b", "X32c"),
    ),
)
