"""A member's user loses the group's ACL and gets it again; then the same with the topic's.

Why: whoever manages ACLs takes one away by mistake, or it expires with a contract.
Watch: what the client tells its application, how long until others have its partitions, and whether
it comes back by itself. Without the group it is out after a session, since no heartbeat counts.
Without the topic its heartbeats count, and partitions that nobody may read stay with it.
"""

from harness.experiment import Cluster, Experiment, Fault, holds

experiment = Experiment(
    claim="A member without the right to its group is put out of it, and comes back with it.",
    cluster=Cluster(security="sasl_ssl"),
    faults=(
        Fault(kind="delete-acl", target="any member", how="group", at_s=1, jitter_s=1, lasts_s=9),
        Fault(kind="delete-acl", target="any member", how="topic", at_s=1, jitter_s=1, lasts_s=4),
    ),
    one_by_one=True,
    duration_s=0,
    backends=("embedded", "docker"),
    rules=(
        *holds("R02", "R21", "R33", "X32a", "X32b", "X32c", "X43"),
        *holds("R01", protocols=("eager", "cooperative")),
        # A Java member that may not read its topic ends before its next heartbeat.
        *holds("X43-topic", clients=("librdkafka",), protocols=("eager", "cooperative")),
        *holds("X19", protocols=("consumer",)),
    ),
)
