"""The docker backend: the same cluster in containers, each published on loopback alone.

A broker is on three networks: `outside`, through which its ports are published; `peers`, where the
brokers and controllers are; and `lanes`, where Toxiproxy reaches it. The last two lead nowhere
else, and a broker can be taken off one of them and stay on the other.

A node is on networks that another container keeps, which only sleeps: a machine whose broker dies
is still there to refuse connections, while a container that dies takes its address along, and who
asks for it waits for an answer.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from docker.models.containers import Container

from harness.base.errors import ClusterError
from harness.base.ports import LOOPBACK
from harness.cluster import containers
from harness.cluster.backend import LOGGING, PROXIES, properties_of, write_files
from harness.cluster.container_nodes import TOXIPROXY, ContainerCluster, check_version, keeper_of
from harness.cluster.containers import engine_errors
from harness.cluster.plan import Node, Plan
from harness.provision import jvm
from harness.provision.tools import Tools

_FOLDER: Final = Path("/harness")  # the run's scratch folder, as containers see it
_LOGS: Final = Path("/harness-logs")
_JARS: Final = "/opt/kafka/libs/*"  # where Kafka's own image has them
NODE_MEMORY: Final = "768m"
TOXIPROXY_MEMORY: Final = "128m"
_KEEPER_MEMORY: Final = "32m"
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
        self._version = tools.kafka_version
        self._template = tools.controller_template
        self._folder = folder
        self._ending = False
        self._user: dict[str, str] = {}
        self._images = {"kafka": kafka_image, TOXIPROXY: containers.toxiproxy_image()}

    def start(self) -> None:
        """Bring it all up.

        Raises SetupError for an image that cannot be had, ClusterError for what the engine refuses.
        """
        containers.fetch(self._engine, self._images["kafka"], "KAFKA_IMAGE")
        containers.fetch(self._engine, self._images[TOXIPROXY], "TOXIPROXY_IMAGE")
        write_files(self.plan, self._folder, self._template, seen_as=_FOLDER)
        with engine_errors("to tell how it runs"):
            self._user = containers.user_of(self._engine)
        with engine_errors("the networks of a cluster"):
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
            log = self._logs / f"{node.name}.server.log"
            check_version(node.name, partial(_whole, log), self._version)

    def _called(self, name: str) -> str:
        return f"kafka-chaos-{self.plan.run}-{name}"

    def _start_toxiproxy(self) -> None:
        ports = [self.plan.toxiproxy_port]
        ports += [listener.proxy_port for node in self.plan.brokers for listener in node.listeners]
        command = [
            *("-host", self.plan.hosts.bind),
            *("-port", str(self.plan.toxiproxy_port)),
            *("-config", str(_FOLDER / PROXIES)),
        ]
        with engine_errors(f"the container of {TOXIPROXY}"):
            made = self._make(
                TOXIPROXY, command, mem_limit=TOXIPROXY_MEMORY, **self._published(TOXIPROXY, ports)
            )
            self._connect(TOXIPROXY, "lanes")
            made.start()
        self._await_proxies(partial(self._is_up, TOXIPROXY), partial(self._last_words, TOXIPROXY))

    def _make_node(self, node: Node) -> None:
        command = [
            *jvm.BROKER_OPTIONS,
            # Taken off a network and put back, a node has another address.
            "-Dsun.net.inetaddr.ttl=1",
            f"-Dharness.logs={_LOGS / node.name}",
            *self.plan.logging,
            f"-Dlog4j2.configurationFile={_FOLDER / LOGGING.name}",
            *("-cp", _JARS),
            "kafka.Kafka",
            str(_FOLDER / properties_of(node)),
        ]
        with engine_errors(f"the containers of {node.name}"):
            keeper = self._make(
                keeper_of(node.name),
                ["infinity"],
                entrypoint=["sleep"],
                mem_limit=_KEEPER_MEMORY,
                **self._published(node.name, [node.port]),
            )
            made = self._make(
                node.name,
                command,
                entrypoint=["java"],
                mem_limit=NODE_MEMORY,
                network_mode=f"container:{keeper.id}",
            )
            for network in ("peers", "lanes") if node.role == "broker" else ("peers",):
                self._connect(node.name, network)
            keeper.start()
            if not self._is_up(keeper_of(node.name)):
                raise ClusterError(
                    f"the container that keeps the networks of {node.name} ended at once: "
                    f"{self._last_words(keeper_of(node.name))}"
                )
            made.start()

    def _published(self, name: str, ports: list[int]) -> dict[str, Any]:
        return {
            "hostname": name,
            "network": self._networks["outside"].name,
            "ports": {f"{port}/tcp": (LOOPBACK, port) for port in ports},
        }

    def _make(self, name: str, command: list[str], **more: Any) -> Container:
        if self._ending:
            raise ClusterError(f"the cluster is ended, so {name} is not made any more")
        self._containers[name] = made = self._engine.containers.create(
            self._images[TOXIPROXY if name == TOXIPROXY else "kafka"],
            command,
            name=self._called(name),
            labels=containers.labels(self.plan.run),
            volumes={
                str(self._folder): {"bind": str(_FOLDER), "mode": "rw"},
                str(self._logs): {"bind": str(_LOGS), "mode": "rw"},
            },
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            **self._user,
            **more,
        )
        return made

    def stop(self) -> None:
        self._ending = True
        for name, container in list(self._containers.items()):
            with suppress(ClusterError), engine_errors(f"the log of {name}"):
                if said := container.logs():
                    (self._logs / f"{name}.out").write_bytes(said)
        with engine_errors("the end of a cluster"):
            containers.remove_run(self._engine, self.plan.run)


def _whole(file: Path) -> bytes:
    """What a file has until now: nothing while it is not there."""
    return file.read_bytes() if file.exists() else b""
