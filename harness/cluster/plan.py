"""The description of a cluster: nodes, listeners, lanes and settings, as plain values.

Each broker has a listener for its peers, a direct one (observers, probes) and one proxied listener
per lane. A lane is a class of clients whose links can be faulted apart from the others: producers
share one, the members of the group another, and each member that a network fault may hit has one
of its own. A proxied listener advertises its proxy's port, so a client that came through the proxy
stays on it when it follows the metadata.
"""

import base64
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.base.ports import LOOPBACK, Ports
from harness.cluster.secured import Secured, of_node, secured
from harness.experiment import APP, PLAINTEXT, UNSET, Cluster, Group
from harness.experiment.app import FED
from harness.experiment.value_checks import numbers_of

FIRST_CONTROLLER_ID: Final = 101
LOG_FILE_MB: Final = 256  # a coordinator's request log of an hour has 80 MB with 300 records/s
# What an experiment calls its own on the cluster.
GROUP: Final = "orders"
TOPIC: Final = FED
OUTPUT: Final = "t-copy"  # where members with commit "transaction" write
PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_OLD: Final = "3."
_STREAMS: Final = (4, 2)
# The least and the most that Kafka 4 allows of settings of groups, unless these are set too.
_LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "session.timeout.ms": (45_000, 60_000),
    "heartbeat.interval.ms": (5_000, 15_000),
    "assignment.interval.ms": (0, 15_000),
    "record.lock.duration.ms": (15_000, 60_000),
    "delivery.count.limit": (2, 10),
    "partition.max.record.locks": (100, 4_000),
}
_OF_GROUPS: Final = re.compile(
    rf"group\.(?P<kind>consumer|share|streams)\.(?P<which>{'|'.join(map(re.escape, _LIMITS))})"
)
# Listeners that no client of a lane comes to.
_OURS: Final = ("CONTROLLER", "PEERS", "DIRECT")

# Settings of every broker. Those that decide a measured number say so.
BROKER_SETTINGS: Final[dict[str, str]] = {
    # Decides how long a dead broker stays in the in-sync set, and with it how long partitions
    # stand still after SIGKILL. Kafka's default, written out because results depend on it.
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    # Decides the first rebalance of an empty group: long enough for members that are to join
    # at the same moment (default 3000).
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    # Five instead of 50: a coordinator that takes over loads 10 times fewer partitions, and the
    # start is faster. The load time is part of what X12 measures on an almost empty topic anyway.
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    # The same for the topic of transactions, which only those experiments have that use them.
    "transaction.state.log.num.partitions": "5",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "replica.lag.time.max.ms": "30000",
    # Small: one machine holds all of it.
    "num.network.threads": "1",
    "num.io.threads": "4",
    "log.cleaner.enable": "false",
    "log.segment.bytes": "67108864",
}


# What is otherwise where clients have to be let in. Three Java members that were to join at
# the same moment came 146 to 587 ms apart (median 342; five runs with sasl_ssl), and 79 to 461
# (median 157) in plain text. In another run it was 663 ms, and the first of them was a group alone.
SECURED_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "1000"}


@dataclass(frozen=True)
class LaneListener:
    """A listener of one broker for one lane: the proxy listens on `proxy_port` in front of it."""

    lane: str
    port: int
    proxy_port: int

    @property
    def name(self) -> str:
        return listener_name(self.lane)


@dataclass(frozen=True)
class Node:
    """One JVM process: a broker or a controller."""

    id: int
    role: str  # broker | controller
    port: int  # direct listener, or the controller's only one
    peer_port: int = 0  # a broker's listener for the other brokers
    listeners: tuple[LaneListener, ...] = ()

    @property
    def name(self) -> str:
        """Its name in records, logs and messages: broker-2, controller-101."""
        return f"{self.role}-{self.id}"

    @property
    def properties(self) -> str:
        """The name of the file with its settings."""
        return f"{self.name}.properties"


@dataclass(frozen=True)
class Hosts:
    """Where nodes listen, and the name at which others of the cluster reach one.

    On this machine all is loopback. A node in a container listens everywhere within it: only what
    is published, on loopback again, is reached from outside. It has a name for each network, since
    one name for all of them would lead around a network that it has been taken off.
    """

    bind: str = LOOPBACK
    named: bool = False

    def of(self, name: str, network: str) -> str:
        return f"{name}.{network}" if self.named else LOOPBACK


ON_LOOPBACK: Final = Hosts()
IN_CONTAINERS: Final = Hosts(bind="0.0.0.0", named=True)


@dataclass(frozen=True)
class Plan:
    """A whole cluster, ready to be brought up by a backend."""

    run: str
    cluster_id: str
    nodes: tuple[Node, ...]
    lanes: tuple[str, ...]
    toxiproxy_port: int
    settings: dict[str, str]
    hosts: Hosts = ON_LOOPBACK
    logs_fetches: bool = False  # of members with a lane of their own
    logs_writes: bool = False  # likewise
    secured: Secured | None = None  # null: everything is plain text

    @property
    def logging(self) -> tuple[str, ...]:
        """The options of a node's JVM: what its request log keeps, and when logs are rotated."""
        calls = ["FETCH", "METADATA", "SHARE_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT"]
        calls += ["PRODUCE"] if self.logs_writes else []
        return (
            f"-Dharness.rotate={LOG_FILE_MB} MB",
            f"-Dharness.fetches={listener_name('member-') if self.logs_fetches else 'none'}",
            f"-Dharness.calls={'|'.join(calls)}",
        )

    @property
    def brokers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == "broker")

    @property
    def controllers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == "controller")

    def node(self, node_id: int) -> Node:
        return next(node for node in self.nodes if node.id == node_id)

    def direct(self) -> str:
        return ",".join(f"{LOOPBACK}:{node.port}" for node in self.brokers)

    def bootstrap(self, lane: str) -> str:
        return ",".join(
            f"{LOOPBACK}:{listener.proxy_port}"
            for node in self.brokers
            for listener in node.listeners
            if listener.lane == lane
        )

    def harness(self) -> dict[str, str | int | float | bool]:
        """What every librdkafka client of the harness's own is given, on the direct listeners."""
        proven = {} if self.secured is None else self.secured.of_harness().of_librdkafka()
        return {
            "bootstrap.servers": self.direct(),
            "client.id": "harness",
            "log_level": 0,
            **proven,
        }

    def credentials(self, lane: str) -> str | None:
        """The file with what the clients of a lane prove themselves by, if they have to."""
        return None if self.secured is None else str(self.secured.kept(lane))

    def proxies(self) -> list[dict[str, object]]:
        """Toxiproxy's configuration: one proxy per broker and lane."""
        return [
            {
                "name": proxy_name(node.id, listener.lane),
                "listen": f"{self.hosts.bind}:{listener.proxy_port}",
                "upstream": f"{self.hosts.of(node.name, 'lanes')}:{listener.port}",
                "enabled": True,
            }
            for node in self.brokers
            for listener in node.listeners
        ]

    def proxies_of(self, broker_id: int) -> list[str]:
        return [proxy_name(broker_id, each.lane) for each in self.node(broker_id).listeners]

    def properties(self, node: Node, data: Path) -> dict[str, str]:
        bind = self.hosts.bind
        names = [listener_name(lane) for lane in self.lanes]
        among = "PLAINTEXT" if self.secured is None else "SSL"
        for_clients = among if self.secured is None else self.secured.protocol
        protocols = dict.fromkeys((*_OURS, *names), for_clients) | dict.fromkeys(_OURS, among)
        common = {
            "node.id": str(node.id),
            "process.roles": node.role,
            "controller.quorum.voters": ",".join(
                f"{other.id}@{self.hosts.of(other.name, 'peers')}:{other.port}"
                for other in self.controllers
            ),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(map(":".join, protocols.items())),
            "log.dirs": str(data),
            **(of_node(self.secured, node.name, data.parent, _OURS, names) if self.secured else {}),
            **self.settings,
        }
        if node.role == "controller":
            return {**common, "listeners": f"CONTROLLER://{bind}:{node.port}"}
        bound = [f"PEERS://{bind}:{node.peer_port}", f"DIRECT://{bind}:{node.port}"]
        advertised = [
            f"PEERS://{self.hosts.of(node.name, 'peers')}:{node.peer_port}",
            f"DIRECT://{LOOPBACK}:{node.port}",
        ]
        for listener in node.listeners:
            bound.append(f"{listener.name}://{bind}:{listener.port}")
            advertised.append(f"{listener.name}://{LOOPBACK}:{listener.proxy_port}")
        return {
            **common,
            "inter.broker.listener.name": "PEERS",
            "listeners": ",".join(bound),
            "advertised.listeners": ",".join(advertised),
        }


def listener_name(lane: str) -> str:
    """Kafka's name of a lane's listener: member-1 becomes LANE_MEMBER_1."""
    return "LANE_" + lane.upper().replace("-", "_")


def proxy_name(broker_id: int, lane: str) -> str:
    """Toxiproxy's name of the proxy of one lane in front of one broker."""
    return f"broker-{broker_id}.{lane}"


def random_id() -> str:
    """A Kafka uuid: 16 random bytes in URL-safe base64 without padding, no leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def draw_plan(
    cluster: Cluster, lanes: tuple[str, ...], run: str, ports: Ports, hosts: Hosts = ON_LOOPBACK
) -> Plan:
    """A cluster on ports of this machine. Raises ClusterError where a port is taken.

    The addresses that people type are one block and come first: those of each lane, then those that
    lead past the proxies. Ports that only the harness uses come last.
    """
    ids = range(1, cluster.brokers + 1)
    proxies = {lane: {number: ports.take() for number in ids} for lane in lanes}
    direct = {number: ports.take() for number in ids}
    toxiproxy = ports.take()
    nodes = [
        Node(FIRST_CONTROLLER_ID + number, "controller", ports.take())
        for number in range(cluster.controllers)
    ]
    for number in ids:
        listeners = tuple(LaneListener(lane, ports.take(), proxies[lane][number]) for lane in lanes)
        nodes.append(Node(number, "broker", direct[number], ports.take(), listeners))
    return Plan(
        run=run,
        cluster_id=random_id(),
        nodes=tuple(nodes),
        lanes=lanes,
        toxiproxy_port=toxiproxy,
        settings=broker_settings(cluster),
        hosts=hosts,
    )


def with_secrets(plan: Plan, security: str, scratch: Path, *, authorized: bool = False) -> Plan:
    """The plan with what this security needs made up below `scratch`; `authorized` as `secured`.

    Raises OSError.
    """
    names = {
        node.name: tuple(
            name
            for network in ("peers", "lanes")
            if (name := plan.hosts.of(node.name, network)) != LOOPBACK
        )
        for node in plan.nodes
    }
    made = secured(security, scratch, names, plan.lanes, authorized=authorized)
    return replace(plan, secured=made)


def broker_settings(cluster: Cluster) -> dict[str, str]:
    """What every broker of a cluster is set to: the harness's own, fitted to it, and its own."""
    replication = str(min(3, cluster.brokers))
    fitted = {
        "offsets.topic.replication.factor": replication,
        "default.replication.factor": replication,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": str(min(2, cluster.brokers)),
        "min.insync.replicas": str(min(2, cluster.brokers)),
    }
    secured = SECURED_SETTINGS if cluster.security != PLAINTEXT else {}
    settings = within_limits({**BROKER_SETTINGS, **secured, **fitted, **cluster.settings})
    return {name: value for name, value in settings.items() if value != UNSET}


def protocols_of(kafka_version: str) -> str:
    """All protocols that brokers of this version have for good, as their setting takes them.

    Streams groups (KIP-1071) were for early adopters before 4.2. Share groups (KIP-932) need no
    word here: since 4.2 a cluster has them as a feature.
    """
    if kafka_version.startswith(_OLD):
        return "classic"
    return f"classic,consumer{',streams' if numbers_of(kafka_version) >= _STREAMS else ''}"


def share_replicas(cluster: Cluster) -> dict[str, str]:
    """How often the state of share groups is kept: as often as there are brokers, three times."""
    topic = "share.coordinator.state.topic"
    return {
        f"{topic}.replication.factor": str(min(3, cluster.brokers)),
        f"{topic}.min.isr": str(min(2, cluster.brokers)),
    }


def within_limits(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, with Kafka's limits of a group's own moved to what is asked for beyond them.

    A broker ends at its start over a value outside its limits.
    """
    found = dict(settings)
    for name, value in settings.items():
        of_group = _OF_GROUPS.fullmatch(name)
        if of_group is None or not value.isdecimal():
            continue
        kind, which = of_group["kind"], of_group["which"]
        least, most = _LIMITS[which]
        if int(value) < least:
            found.setdefault(f"group.{kind}.min.{which}", value)
        if int(value) > most:
            found.setdefault(f"group.{kind}.max.{which}", value)
    return found


def group_settings(group: Group, kafka_version: str) -> dict[str, str]:
    """Which protocols the coordinator offers, and the timers of a KIP-848 group, which it has.

    Kafka 3 has two coordinators: the new one, which 4.0 made the only one, serves everybody as soon
    as "consumer" is offered, so that a classic group there must not offer it. Kafka's own limits of
    the timers are 45 to 60 s and 5 to 15 s: they are moved to what the experiment asks for. A group
    has them as soon as one of its members speaks that protocol.
    """
    if group.client == APP:  # what a program speaks is its own affair
        return {PROTOCOLS: protocols_of(kafka_version)}
    members = [group, *(group.of_member(number) for number in group.differing)]
    if not any(member.protocol == "consumer" for member in members):
        offered = "classic" if kafka_version.startswith(_OLD) else "classic,consumer"
        return {PROTOCOLS: offered}
    timers = {
        "session.timeout.ms": str(group.session_timeout_ms),
        "heartbeat.interval.ms": str(group.heartbeat_interval_ms),
    }
    fixed = {
        f"group.consumer.{limit}{timer}": value
        for timer, value in timers.items()
        for limit in ("min.", "", "max.")
    }
    return {PROTOCOLS: "classic,consumer", **fixed}
