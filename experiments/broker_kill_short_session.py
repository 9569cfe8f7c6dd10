"""The same broker dies, but the members' session timeout is 6 s.

Why: a commit is acknowledged when every in-sync replica of the offsets topic has it, and the dead
one counts as in sync until the controller fences its broker (9 s). Heartbeats queue behind that
commit on the same connection, so librdkafka sees no answer for a session timeout and gives its
partitions up. Java's session times out as well, but it only connects anew.
Watch: librdkafka members lose their partitions although their coordinator lives and was never cut
off.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="With a short session, even a broker that is not the coordinator can cost members their "
    "place.",
    group=Group(session_timeout_ms=6_000),
    faults=(Fault(kind="kill-broker", target="any leader", not_target="coordinator", lasts_s=14),),
    rules=(
        violated(
            "R20d",
            "commits wait for the dead replica, heartbeats wait behind the commits, and "
            "6 s of session end before the broker is fenced",
            at_most=1,
            clients=("librdkafka",),
            protocols=CLASSIC,
        ),
        violated(
            "R06",
            "the Java client only marks the coordinator unknown; librdkafka drops its "
            "partitions and joins anew",
            clients=("librdkafka",),
        ),
        *holds("R20d", "R06", clients=("java",)),
        *holds("R06-client", clients=("librdkafka",)),
        *holds("R33", "X32a", "X32b", "X32c"),
    ),
)
