"""The cluster by hand as a plan: lanes for whoever comes, and ports that stay.

The addresses that people type come first, so that they are one block: of members, of producers,
then those that lead past the proxies. What nobody types comes last.
"""

from dataclasses import replace
from typing import Final

from harness.base.ports import Ports
from harness.cluster.plan import (
    FIRST_CONTROLLER_ID,
    PROTOCOLS,
    Listener,
    Node,
    Plan,
    broker_settings,
    protocols_of,
    random_id,
    share_replicas,
    within_limits,
)
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


def laid_out(cluster: Cluster, run: str, ports: Ports) -> Plan:
    """The plan of a cluster. Raises ClusterError where a port is taken."""
    ids = range(1, cluster.brokers + 1)
    proxies = {lane: {number: ports.take() for number in ids} for lane in LANES}
    direct = {number: ports.take() for number in ids}
    toxiproxy = ports.take()
    nodes = [
        Node(FIRST_CONTROLLER_ID + number, "controller", ports.take())
        for number in range(cluster.controllers)
    ]
    for number in ids:
        listeners = tuple(Listener(lane, ports.take(), proxies[lane][number]) for lane in LANES)
        nodes.append(Node(number, "broker", direct[number], ports.take(), listeners))
    return Plan(
        run=run,
        cluster_id=random_id(),
        nodes=tuple(nodes),
        lanes=LANES,
        toxiproxy_port=toxiproxy,
        settings=broker_settings(cluster),
    )
