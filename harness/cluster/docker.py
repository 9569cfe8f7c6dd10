"""Nodes that are containers, and the docker backend: a cluster published on loopback alone.

A broker is on three networks: `outside`, through which its ports are published; `peers`, where the
brokers and controllers are; and `lanes`, where Toxiproxy reaches it. The last two lead nowhere
else, and a broker can be taken off one of them and stay on the other.

A node is on networks that another container keeps, which only sleeps: a machine whose broker dies
is still there to refuse connections, while a container that dies takes its address along, and
clients that ask for it wait for an answer.
"""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from docker.errors import NotFound
from docker.models.containers import Container
from docker.models.networks import Network

from harness.base import processes
from harness.base.errors import ClusterError, SetupError, WaitTimeout
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.cluster import containers, features
from harness.cluster.backend import LOGGING, PROXIES, STOP_TIMEOUT_S, RunningCluster, write_files
from harness.cluster.containers import engine_errors
from harness.cluster.plan import Node, Plan
from harness.provision import java
from harness.provision.tools import Tools

_FOLDER: Final = Path("/harness")  # the run's scratch folder, as containers see it
_LOGS: Final = Path("/harness-logs")
_JARS: Final = "/opt/kafka/libs/*"  # where Kafka's own image has them
NODE_MEMORY: Final = "768m"
TOXIPROXY_MEMORY: Final = "128m"
_KEEPER_MEMORY: Final = "32m"
_NETWORKS: Final = ("outside", "peers", "lanes")
TOXIPROXY: Final = "toxiproxy"
_JAVA: Final = re.compile(r'version "([^"]+)"')
# From the first answer of a node to the line of its version there are milliseconds of work left.
_VERSION_TIMEOUT_S: Final = 15.0


class ContainerCluster(RunningCluster):
    """What can be done to nodes that are containers.

    `_containers` are theirs and Toxiproxy's, by name, and the keepers of their networks if they
    have any; `_networks` those that a node can be taken off; `_label` is what all of them carry.
    Subclasses fill them in `start`.
    """

    def __init__(self, plan: Plan, logs: Path, label: str) -> None:
        super().__init__(plan, logs)
        self._label = label
        self._engine = containers.connect()
        self._networks: dict[str, Network] = {}
        self._containers: dict[str, Container] = {}
        self._down_on_purpose: set[str] = set()

    def versions(self) -> dict[str, str]:
        broker = self._containers[self.plan.brokers[0].name]
        with engine_errors("a look at what the containers hold"):
            found = broker.exec_run(["java", "-version"])
            said = _JAVA.search(found.output.decode(errors="replace"))
            images = {
                name: f"{container.attrs['Config']['Image']} {container.attrs['Image']}"
                for name, container in (("kafka", broker), (TOXIPROXY, self._containers[TOXIPROXY]))
            }
        return {
            "java_of_brokers": said[1] if said else "unknown",
            "toxiproxy": self.proxies.version(),
            **{f"{name}_image": image for name, image in images.items()},
        }

    def _on_networks(self, name: str) -> Container:
        return self._containers.get(keeper_of(name), self._containers[name])

    def _connect(self, name: str, network: str) -> None:
        alias = self.plan.hosts.of(name, network)
        self._networks[network].connect(self._on_networks(name), aliases=[alias])

    def _states(self) -> dict[str, str]:
        """What the engine says of each container: running, paused, exited, …; one question."""
        wanted = {"label": self._label}
        with engine_errors("a look at the containers"):
            found = self._engine.api.containers(all=True, filters=wanted)
        states = {each["Id"]: str(each["State"]) for each in found}
        return {
            name: states.get(str(container.id), "gone")
            for name, container in self._containers.items()
        }

    def _is_up(self, name: str) -> bool:
        return self._states()[name] in {"running", "paused", "created"}

    def _last_words(self, name: str) -> str:
        container = self._containers[name]
        try:
            with engine_errors(f"the log of {name}"):
                text = container.logs(tail=3).decode(errors="replace")
                container.reload()
        except ClusterError as error:
            return (
                "its container was removed" if isinstance(error.__cause__, NotFound) else str(error)
            )
        said = " | ".join(line.strip() for line in text.splitlines() if line.strip())
        server = processes.last_lines(self._logs / f"{name}.server.log", 2)
        state = container.attrs["State"]
        ended = "out of memory" if state["OOMKilled"] else f"exit code {state['ExitCode']}"
        now = "" if state["Running"] else f"{ended}: "
        return f"{now}{said or '(no output)'} | {server}"

    def running(self, node_id: int) -> bool:
        return self._is_up(self.plan.node(node_id).name)

    def kill(self, node_id: int) -> None:
        self._end(node_id, "SIGKILL", 10)

    def terminate(self, node_id: int) -> None:
        self._end(node_id, "SIGTERM", STOP_TIMEOUT_S)

    def _end(self, node_id: int, signal: str, timeout_s: float) -> None:
        name = self.plan.node(node_id).name
        self._down_on_purpose.add(name)
        with engine_errors(f"{signal} for {name}"):
            self._containers[name].kill(signal)
        wait_until(
            f"end of {name}",
            lambda: self._states()[name] == "exited",
            timeout_s=timeout_s,
            saw=lambda: self._states()[name],
            every_s=0.01,
        )

    def restart(self, node_id: int) -> None:
        name = self.plan.node(node_id).name
        if self._is_up(name):
            return
        with engine_errors(f"to start {name} again"):
            self._containers[name].start()
        self._down_on_purpose.discard(name)

    def pause(self, node_id: int) -> None:
        name = self.plan.node(node_id).name
        with engine_errors(f"to pause {name}"):
            self._containers[name].pause()

    def resume(self, node_id: int) -> None:
        name = self.plan.node(node_id).name
        if self._states()[name] == "paused":
            with engine_errors(f"to resume {name}"):
                self._containers[name].unpause()

    def disconnect(self, node_id: int, network: str) -> None:
        name = self.plan.node(node_id).name
        with engine_errors(f"to take {name} off its {network}"):
            self._networks[network].disconnect(self._on_networks(name), force=True)

    def reconnect(self, node_id: int, network: str) -> None:
        name = self.plan.node(node_id).name
        if network not in self.networks_of(node_id):
            with engine_errors(f"to put {name} back on its {network}"):
                self._connect(name, network)

    def networks_of(self, node_id: int) -> set[str]:
        container = self._on_networks(self.plan.node(node_id).name)
        with engine_errors("a look at a container's networks"):
            container.reload()
        present = container.attrs["NetworkSettings"]["Networks"]
        return {name for name, network in self._networks.items() if network.name in present}

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """Whether a connection from within the node's container is accepted.

        Raises ClusterError where its image has no `bash` or no `timeout` to ask by.
        """
        name = self.plan.node(node_id).name
        attempt = f"exec 3<>/dev/tcp/{host}/{port}"
        with engine_errors(f"a look from within {name}"):
            found = self._containers[name].exec_run(["timeout", "2", "bash", "-c", attempt])
        if found.exit_code in (126, 127):
            raise ClusterError(
                f"the image of {name} has no bash or no timeout to try a connection with: "
                f"{found.output.decode(errors='replace').strip()}"
            )
        return bool(found.exit_code == 0)

    def unplanned_ends(self) -> list[str]:
        return [
            f"{name} ({state}: {self._last_words(name)})"
            for name, state in self._states().items()
            if state not in {"running", "paused", "created"} and name not in self._down_on_purpose
        ]


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
            *java.BROKER_OPTIONS,
            # Taken off a network and put back, a node has another address.
            "-Dsun.net.inetaddr.ttl=1",
            f"-Dharness.logs={_LOGS / node.name}",
            *self.plan.logging,
            f"-Dlog4j2.configurationFile={_FOLDER / LOGGING.name}",
            *("-cp", _JARS),
            "kafka.Kafka",
            str(_FOLDER / node.properties),
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


def keeper_of(name: str) -> str:
    """What the container is called that keeps a node's networks, where the node has one."""
    return f"{name}.networks"


def check_version(
    name: str, read: Callable[[], bytes], wanted: str, timeout_s: float = _VERSION_TIMEOUT_S
) -> None:
    """Refuse a node of another Kafka than the run is for, by its `server.log`.

    An image may have any. A node answers a moment before its log says which it is, so `read` is
    asked for that log until then, for `timeout_s` at most. Raises SetupError.
    """
    try:
        said = wait_until("version", lambda: features.VERSION.findall(read()), timeout_s=timeout_s)
    except WaitTimeout:
        raise SetupError(
            f"{name} logs no version, so its run could not be judged: name an image like Kafka's "
            "own, of 4.0 or newer, in KAFKA_IMAGE"
        ) from None
    version = said[-1].decode()
    if version != wanted:
        raise SetupError(
            f"{name} is Kafka {version}, and the experiment is for {wanted}: use "
            f"--kafka {version}, or name another image in KAFKA_IMAGE"
        )
