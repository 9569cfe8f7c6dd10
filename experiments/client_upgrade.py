"""Every consumer is replaced by one with a newer librdkafka, one after the other.

Why: this is how a client library is upgraded, and until the last process is replaced one group has
members of both versions, of which either may be the leader and assign for all.
Watch: the mixed group assigns every partition to one member, and an upgrade costs what a rolling
deploy costs. CLIENT_VERSION= is the version to come from.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A rolling upgrade of the client library costs what a rolling deploy costs.",
    # The new processes have the version that the harness has itself.
    group=Group(
        client_version="2.6.1", differing={number: {"client_version": ""} for number in (4, 5, 6)}
    ),
    faults=(Fault(kind="deploy", target="group", how="rolling"),),
    clients=("librdkafka",),
    protocols=CLASSIC,
    duration_s=14,
    long=True,  # the other version has to be fetched first
    rules=(
        *holds("X14", "R02", "R12", "R12-all", "R13-members", "R20a", "R20b", "R21"),
        *holds("R21-delivery", "R21-stop", "R32", "R33", "X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)
