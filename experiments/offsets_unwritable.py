"""A broker dies that the offsets topic cannot do without: it needs all three replicas in sync.

Why: a commit is a write like any other, and without its replicas it runs into its time-out. A
heartbeat writes nothing. It was not affected until coordinators began to answer in the order of
their log: now it waits for the commits before it, and fails with them.
Watch: commits and heartbeats are refused after 5 s each, and the coordinator goes on returning the
position that was accepted last. Then: what becomes of a failed commit that no other followed. The
group keeps its members if their session is longer than this; members that join or leave meanwhile,
as scripted ones do here, are refused.
"""

from harness.experiment import Cluster, Expect, Experiment, Fault, Group, Probe, holds, violated

experiment = Experiment(
    claim="A group that cannot commit is given its old positions, and its heartbeats fail as well.",
    cluster=Cluster(settings={"min.insync.replicas": "3", "broker.session.timeout.ms": "6000"}),
    group=Group(session_timeout_ms=45_000),
    faults=(
        Fault(
            kind="kill-broker",
            target="any broker",
            not_target="coordinator",
            at_s=4,
            jitter_s=1,
            lasts_s=12,
        ),
    ),
    # Nothing else follows the one commit of it that fails. And its members come and go.
    probes=(Probe(name="without-replica", beside=True),),
    duration_s=19,
    rules=(
        *holds("X28", "X28-alive", "R30", "R21", "R33", "X32a", "X32b", "X32c"),
        violated(
            "X28-alive",
            "a heartbeat is answered only when all that the coordinator wrote before it "
            "is replicated",
            by="member-* while 1-kill-broker",
            kafka=("4.",),
        ),
        violated(
            "X32c",
            "librdkafka tells its application that a commit has timed out, and sends it "
            "once more after the application has committed a newer position",
            sometimes=True,
            clients=("librdkafka",),
            protocols=("consumer",),
        ),
        Expect(rule="R31-made", kafka=("4.",)),
        violated("R31-made", "before Kafka 4 the coordinator withdrew it", up_to=1, kafka=("3.",)),
    ),
)
