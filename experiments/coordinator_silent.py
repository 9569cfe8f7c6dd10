"""The coordinator says nothing for longer than a session, but nobody else takes the group over.

Why: a connection that stays open and silent is what the client's own session timer is for. Java's
gives up its coordinator and nothing else; librdkafka's gives up its partitions.
Watch: the clients' time-outs to the millisecond, and what each does until the coordinator is back.
"""

from harness.experiment import Cluster, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Java looks for a coordinator that is silent for a session; librdkafka gives its "
    "partitions up.",
    # Not fenced while it sleeps: another coordinator would answer.
    cluster=Cluster(settings={"broker.session.timeout.ms": "20000"}),
    # A synchronous commit would keep Java's heartbeat thread from the network while it waits.
    group=Group(commit="async"),
    faults=(Fault(kind="pause-broker", target="coordinator", at_s=2, lasts_s=8.5, jitter_s=1),),
    duration_s=13,
    rules=(
        violated(
            "R06",
            "the Java client only marks the coordinator unknown; librdkafka drops its "
            "partitions and joins anew",
            clients=("librdkafka",),
        ),
        *holds("R05", "R06", "R09", clients=("java",)),
        violated(
            "X32c",
            "a commit that the broker had not read when it fell asleep may come in after "
            "one of the connection made meanwhile, and sets the position back for a moment",
            sometimes=True,
        ),
        violated(
            "R19",
            "all members are evicted as the coordinator wakes up, and before the first is "
            "back a commit with epoch -1 is accepted by the empty group",
            by="member-* commits",
            clients=("java",),
            protocols=("consumer",),
            if_seen=True,
            sometimes=True,
        ),
        *holds("R06-client", "R33", "X32a", "X32b"),
    ),
)
