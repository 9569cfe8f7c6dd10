"""The docker backend: the same cluster in containers, each published on loopback alone.

A broker is on three networks: `outside`, through which its ports are published; `peers`, where the
brokers and controllers are; and `lanes`, where Toxiproxy reaches it. The last two lead nowhere
else, and a broker can be taken off one of them and stay on the other.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from harness.cluster import containers
from harness.cluster.container_nodes import TOXIPROXY, ContainerCluster
from harness.cluster.containers import told_apart
from harness.cluster.files import LOGGING, PROXIES, properties_of, write_files
from harness.cluster.plan import Node, Plan
from harness.errors import ClusterError
from harness.ports import LOOPBACK
from harness.provision import jvm
from harness.provision.tools import Tools

_FOLDER: Final = Path("/harness")  # the run's scratch folder, as containers see it
_LOGS: Final = Path("/harness-logs")
_JARS: Final = "/opt/kafka/libs/*"  # where Kafka's own image has them
_NODE_MEMORY: Final = "768m"
_TOXIPROXY_MEMORY: Final = "128m"
_NETWORKS: Final = ("outside", "peers", "lanes")


class DockerCluster(ContainerCluster):
    """Brokers, controllers and proxies of one run, in containers.

    `folder` holds their data (thrown away after the run), `logs` their logs (kept): both are
    mounted, so that whatever happens to a container its log is whole.
    """

    def __init__(
        self, plan: Plan, tools: Tools, folder: Path, logs: Path, kafka_image: str
    ) -> None:
        super().__init__(plan, logs, f"{containers.RUN_LABEL}={plan.run}")
        self._checkpoint = tools.kafka_bootstrap_checkpoint
        self._folder = folder
        self._images = {"kafka": kafka_image, TOXIPROXY: containers.toxiproxy_image()}

    def start(self) -> None:
        """Proxies first, so that no advertised port is ever dead; then every node at once.

        Raises SetupError for an image that cannot be had, ClusterError for what the engine refuses.
        """
        containers.fetch(self._engine, self._images["kafka"], "KAFKA_IMAGE")
        containers.fetch(self._engine, self._images[TOXIPROXY], "TOXIPROXY_IMAGE")
        write_files(self.plan, self._folder, self._checkpoint, seen_as=_FOLDER)
        with told_apart("the networks of a cluster"):
            for name in _NETWORKS:
                self._networks[name] = self._engine.networks.create(
                    self._called(name),
                    driver="bridge",
                    internal=name != "outside",
                    labels=containers.labels(self.plan.run),
                )
        self._start_toxiproxy()
        with ThreadPoolExecutor() as makers:
            list(makers.map(self._make_node, self.plan.nodes))
        for node in self.plan.nodes:
            self.await_serving(node.id)

    def _called(self, name: str) -> str:
        return f"kafka-chaos-{self.plan.run}-{name}"

    def _start_toxiproxy(self) -> None:
        ports = [self.plan.toxiproxy_port]
        ports += [listener.proxy_port for node in self.plan.brokers for listener in node.listeners]
        self._make(
            TOXIPROXY,
            [
                *("-host", self.plan.hosts.bind),
                *("-port", str(self.plan.toxiproxy_port)),
                *("-config", str(_FOLDER / PROXIES)),
            ],
            ports=ports,
            networks=("lanes",),
            mem_limit=_TOXIPROXY_MEMORY,
        )
        self.proxies.await_up(partial(self._is_up, TOXIPROXY), partial(self._last_words, TOXIPROXY))

    def _make_node(self, node: Node) -> None:
        command = [
            *jvm.BROKER_OPTIONS,
            # Taken off a network and put back, a node has another address.
            "-Dsun.net.inetaddr.ttl=1",
            f"-Dharness.logs={_LOGS / node.name}",
            f"-Dlog4j2.configurationFile={_FOLDER / LOGGING}",
            *("-cp", _JARS),
            "kafka.Kafka",
            str(_FOLDER / properties_of(node)),
        ]
        self._make(
            node.name,
            command,
            entrypoint=["java"],
            ports=[node.port],
            networks=("peers", "lanes") if node.role == "broker" else ("peers",),
            mem_limit=_NODE_MEMORY,
        )

    def _make(
        self,
        name: str,
        command: list[str],
        *,
        ports: list[int],
        networks: tuple[str, ...],
        **more: Any,
    ) -> None:
        image = self._images[TOXIPROXY if name == TOXIPROXY else "kafka"]
        with told_apart(f"the container of {name}"):
            container = self._engine.containers.create(
                image,
                command,
                name=self._called(name),
                hostname=name,
                user=f"{os.getuid()}:{os.getgid()}",
                labels=containers.labels(self.plan.run),
                network=self._networks["outside"].name,
                ports={f"{port}/tcp": (LOOPBACK, port) for port in ports},
                volumes={
                    str(self._folder): {"bind": str(_FOLDER), "mode": "rw"},
                    str(self._logs): {"bind": str(_LOGS), "mode": "rw"},
                },
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                **more,
            )
            self._containers[name] = container
            for network in networks:
                self._connect(name, network)
            container.start()

    def stop(self) -> None:
        """End everything at once, and keep what the containers said."""
        for name, container in self._containers.items():
            with suppress(ClusterError), told_apart(f"the log of {name}"):
                (self._logs / f"{name}.out").write_bytes(container.logs())
        with told_apart("the end of a cluster"):
            containers.remove_run(self._engine, self.plan.run)
