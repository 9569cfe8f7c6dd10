"""The cluster by hand: lanes for whoever comes, ports that stay, and settings for people."""

from dataclasses import replace
from typing import Final

from harness.cluster.plan import PROTOCOLS, protocols_of, share_replicas, within_limits
from harness.experiment import Cluster

NAME: Final = "by-hand"  # of the folder in which each of them has one
LANES: Final = ("members", "producers")
PORT_BASE: Final = 29_091  # as docker-compose.yml has it for members

_OLD: Final = "3."  # its coordinator serves classic groups alone, as experiments have it
# What experiments turn off, since a topic that appears by itself would spoil them.
_EASY: Final = {"auto.create.topics.enable": "true", "num.partitions": "6"}
# As in docker-compose.yml: a group whose timers the brokers have notices a dead member as soon as a
# run's does. A broker that has no groups of some type knows nothing of their settings.
_TIMERS: Final = {
    f"group.{kind}.{which}{timer}.ms": value
    for kind in ("consumer", "share", "streams")
    for which in ("min.", "")
    for timer, value in (("session.timeout", "6000"), ("heartbeat.interval", "2000"))
}


def fitted(cluster: Cluster) -> Cluster:
    """The cluster with what brokers are set to here, unless its owner says otherwise."""
    version = cluster.kafka_version
    offered = {PROTOCOLS: protocols_of(version)}
    if not version.startswith(_OLD):
        offered |= _TIMERS | share_replicas(cluster)
    return replace(cluster, settings={**_EASY, **offered, **within_limits(cluster.settings)})
