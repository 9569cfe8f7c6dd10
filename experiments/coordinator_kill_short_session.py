"""The coordinator dies, and the failover takes longer than the members' session timeout.

Why: librdkafka gives its partitions up when it has had no answer for a session timeout, although
the group would have been there again. Documents speak of marking the coordinator unknown only.
Watch: every member loses its partitions; the new coordinator still waits for the members it loaded.
"""

from harness.experiment import CLASSIC, Expect, Experiment, Fault, Group, Verdict, holds

experiment = Experiment(
    claim="A session timeout shorter than the failover turns a broker's death into a rebalance.",
    group=Group(session_timeout_ms=6_000),
    faults=(Fault(kind="kill-broker", target="coordinator", lasts_s=25),),
    rules=(
        Expect(
            rule="X12",
            verdict=Verdict.VIOLATED,
            because="6 s of session end before the failover does (9 s and more), and librdkafka "
            "then drops its partitions",
            protocols=CLASSIC,
        ),
        Expect(
            rule="R06",
            verdict=Verdict.VIOLATED,
            because="the Java client only marks the coordinator unknown; librdkafka drops its "
            "partitions and joins anew",
        ),
        # A member of KIP-848 has no session of its own that could end before the failover does.
        *holds("X12", "R20d", protocols=("consumer",)),
        *holds("R06-librdkafka", "R33", "X32a", "X32b", "X32c"),
    ),
)
