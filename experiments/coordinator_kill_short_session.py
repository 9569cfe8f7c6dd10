"""The coordinator dies, and the failover takes longer than the members' session timeout.

Why: librdkafka gives its partitions up when it has had no answer for a session timeout, although
another broker takes the group over soon after. Documents say that a client only marks its
coordinator unknown then, and that is what the Java client does.
Watch: every librdkafka member loses its partitions, and the new coordinator still waits for the
members it loaded; Java asks ten times a second for a coordinator and keeps what it has.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A session timeout shorter than the failover turns a broker's death into a rebalance.",
    group=Group(session_timeout_ms=6_000),
    faults=(Fault(kind="kill-broker", target="coordinator", lasts_s=16),),
    rules=(
        violated(
            "R06",
            "the Java client only marks the coordinator unknown; librdkafka drops its "
            "partitions and joins anew",
            clients=("librdkafka",),
        ),
        *holds("R06", clients=("java",)),
        *holds("R06-client", clients=("librdkafka",)),
        # A member of KIP-848 has no session of its own that could end before the failover does.
        *holds("R20d", protocols=("consumer",)),
        # Who gives up by itself, before there is another coordinator, is not taken from.
        *holds("X12"),
        *holds("R05", "R05-lookup", "R35", "R33", "X32a", "X32b", "X32c"),
    ),
)
