"""A member's user loses the group's ACL and gets it again; then the same with the topic's.

Why: an administrator may remove an ACL by mistake, or it expires with a contract.
Watch: what the client tells its application, how long until others have its partitions, and whether
it comes back by itself. Without the right to the group it is evicted after a session, since its
heartbeats are refused. Without the right to the topic it keeps partitions that it may not read.
"""

from harness.experiment import Cluster, Experiment, Fault, holds

experiment = Experiment(
    claim="A member that loses the right to its group is evicted, and comes back once it has the "
    "right again.",
    cluster=Cluster(security="sasl_ssl"),
    faults=(
        Fault(kind="delete-acl", target="any member", how="group", at_s=1, jitter_s=1, lasts_s=9),
        Fault(kind="delete-acl", target="any member", how="topic", at_s=1, jitter_s=1, lasts_s=4),
    ),
    one_by_one=True,
    duration_s=0,
    backends=("embedded", "docker"),
    rules=holds("R01", "R02", "R21", "R33", "X32a", "X32b", "X32c", "X43"),
)
