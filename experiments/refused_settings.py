"""Consumers of the new protocol are made with settings that are the broker's there (KIP-848).

Why: a session timeout that a client still carries would be without effect. So that nobody believes
in it, libraries refuse it.
Watch: each refusal names the setting.
"""

from harness.experiment import Cluster, Experiment, Group, Load, Probe, holds

experiment = Experiment(
    claim="With KIP-848 clients refuse the settings that have moved to the broker.",
    cluster=Cluster(brokers=1),
    load=Load(partitions=1, replication=1, min_insync_replicas=1),
    protocols=("consumer",),
    group=Group(protocol="consumer", members=1),
    probes=(Probe(name="refused-settings", at_s=1), Probe(name="poll-arguments", at_s=1)),
    duration_s=3,
    rules=holds("X26", "R25-arguments"),
)
