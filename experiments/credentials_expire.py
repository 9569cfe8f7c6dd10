"""The credentials of a member's user are deleted while it is connected, and created again later.

Why: passwords are rotated and accounts are closed while consumers run. A connection that is open
stays open until the broker wants to know again who it is (connections.max.reauth.ms).
Watch: how long the member goes on after its credentials are gone, what its client tells, how long
until others have its partitions, and whether it comes back by itself.
"""

from harness.experiment import Cluster, Experiment, Fault, holds

experiment = Experiment(
    claim="A member whose credentials are deleted is cut off when it has to log in again.",
    cluster=Cluster(security="sasl_ssl", settings={"connections.max.reauth.ms": "3000"}),
    faults=(Fault(kind="delete-credentials", target="any member", at_s=1, jitter_s=3, lasts_s=11),),
    duration_s=0,
    backends=("embedded", "docker"),
    rules=holds("R01", "R02", "R21", "R33", "X32a", "X32b", "X32c", "X43"),
)
