"""The docker backend: the same cluster in containers, each published on loopback alone.

A broker is on three networks: `outside`, through which its ports are published; `peers`, where the
brokers and controllers are; and `lanes`, where Toxiproxy reaches it. The last two lead nowhere
else, and a broker can be taken off one of them and stay on the other.
"""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from docker.models.containers import Container
from docker.models.networks import Network

from harness import processes
from harness.cluster import containers
from harness.cluster.backend import STOP_TIMEOUT_S, await_answer
from harness.cluster.containers import told_apart
from harness.cluster.files import LOGGING, PROXIES, properties_of, write_files
from harness.cluster.plan import Node, Plan
from harness.cluster.proxies import Proxies
from harness.errors import ClusterError
from harness.ports import LOOPBACK
from harness.provision import jvm
from harness.provision.tools import Tools
from harness.wait import wait_until

_FOLDER: Final = Path("/harness")  # the run's scratch folder, as containers see it
_LOGS: Final = Path("/harness-logs")
_JARS: Final = "/opt/kafka/libs/*"  # where Kafka's own image has them
_TOXIPROXY: Final = "toxiproxy"
_NODE_MEMORY: Final = "768m"
_TOXIPROXY_MEMORY: Final = "128m"
NETWORKS: Final = ("outside", "peers", "lanes")


class DockerCluster:
    """Brokers, controllers and proxies of one run, in containers.

    `folder` holds their data (thrown away after the run), `logs` their logs (kept): both are
    mounted, so that whatever happens to a container its log is whole.
    """

    def __init__(
        self, plan: Plan, tools: Tools, folder: Path, logs: Path, kafka_image: str
    ) -> None:
        self.plan = plan
        self.proxies = Proxies(plan)
        self._checkpoint = tools.kafka_bootstrap_checkpoint
        self._folder = folder
        self._logs = logs
        self._images = {"kafka": kafka_image, _TOXIPROXY: containers.toxiproxy_image()}
        self._engine = containers.connect()
        self._networks: dict[str, Network] = {}
        self._containers: dict[str, Container] = {}
        self._down_on_purpose: set[str] = set()

    def start(self) -> None:
        """Proxies first, so that no advertised port is ever dead; then every node at once.

        Raises SetupError for an image that cannot be had, ClusterError for what the engine refuses.
        """
        containers.fetch(self._engine, self._images["kafka"], "KAFKA_IMAGE")
        containers.fetch(self._engine, self._images[_TOXIPROXY], "TOXIPROXY_IMAGE")
        write_files(self.plan, self._folder, self._checkpoint, seen_as=_FOLDER)
        with told_apart("the networks of a cluster"):
            for name in NETWORKS:
                self._networks[name] = self._engine.networks.create(
                    self._called(name),
                    driver="bridge",
                    internal=name != "outside",
                    labels=containers.labels(self.plan.run),
                )
        self._start_toxiproxy()
        for node in self.plan.nodes:
            self._make_node(node)
        for node in self.plan.nodes:
            self.await_serving(node.id)

    def _called(self, name: str) -> str:
        return f"kafka-chaos-{self.plan.run}-{name}"

    def _start_toxiproxy(self) -> None:
        ports = [self.plan.toxiproxy_port]
        ports += [listener.proxy_port for node in self.plan.brokers for listener in node.listeners]
        self._make(
            _TOXIPROXY,
            [
                *("-host", self.plan.hosts.bind),
                *("-port", str(self.plan.toxiproxy_port)),
                *("-config", str(_FOLDER / PROXIES)),
            ],
            ports=ports,
            networks=("lanes",),
            mem_limit=_TOXIPROXY_MEMORY,
        )
        self.proxies.await_up(
            partial(self._is_up, _TOXIPROXY), partial(self._last_words, _TOXIPROXY)
        )

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
        image = self._images[_TOXIPROXY if name == _TOXIPROXY else "kafka"]
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
                self._networks[network].connect(container, aliases=[name])
            container.start()

    def await_serving(self, node_id: int) -> None:
        """Wait until a broker answers on its direct listener (a controller: listens)."""
        name = self.plan.node(node_id).name
        await_answer(
            self.plan, node_id, partial(self._is_up, name), partial(self._last_words, name)
        )

    def _states(self) -> dict[str, str]:
        """What the engine says of each container: running, paused, exited, …; one question."""
        wanted = {"label": f"{containers.RUN_LABEL}={self.plan.run}"}
        with told_apart("a look at the containers"):
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
        with told_apart(f"the log of {name}"):
            text = container.logs(tail=3).decode(errors="replace")
        said = " | ".join(line.strip() for line in text.splitlines() if line.strip())
        server = processes.last_lines(self._logs / f"{name}.server.log", 2)
        return f"{said or '(no output)'} | {server}"

    def running(self, node_id: int) -> bool:
        """Whether the node's container runs, paused or not."""
        return self._is_up(self.plan.node(node_id).name)

    def kill(self, node_id: int) -> None:
        """SIGKILL, and wait until the container has ended."""
        name = self.plan.node(node_id).name
        self._down_on_purpose.add(name)
        with told_apart(f"to kill {name}"):
            self._containers[name].kill("SIGKILL")
        self._await_end(name, 10)

    def _await_end(self, name: str, timeout_s: float) -> None:
        wait_until(
            f"end of {name}",
            lambda: self._states()[name] == "exited",
            timeout_s=timeout_s,
            saw=lambda: self._states()[name],
            every_s=0.01,
        )

    def terminate(self, node_id: int) -> None:
        """SIGTERM, and wait until the broker has handed over what it leads, and is gone."""
        name = self.plan.node(node_id).name
        self._down_on_purpose.add(name)
        with told_apart(f"to end {name}"):
            self._containers[name].kill("SIGTERM")
        self._await_end(name, STOP_TIMEOUT_S)

    def restart(self, node_id: int) -> None:
        """Start a killed node on its old data."""
        name = self.plan.node(node_id).name
        if self._is_up(name):
            return
        with told_apart(f"to start {name} again"):
            self._containers[name].start()
        self._down_on_purpose.discard(name)

    def pause(self, node_id: int) -> None:
        """Freeze the container."""
        name = self.plan.node(node_id).name
        with told_apart(f"to pause {name}"):
            self._containers[name].pause()

    def resume(self, node_id: int) -> None:
        """Thaw the container; one that is not frozen is left as it is."""
        name = self.plan.node(node_id).name
        if self._states()[name] == "paused":
            with told_apart(f"to resume {name}"):
                self._containers[name].unpause()

    def disconnect(self, node_id: int, network: str) -> None:
        """Take a node off `peers` or `lanes`."""
        name = self.plan.node(node_id).name
        with told_apart(f"to take {name} off its {network}"):
            self._networks[network].disconnect(self._containers[name], force=True)

    def reconnect(self, node_id: int, network: str) -> None:
        """Put a node back; one that is there is left as it is."""
        name = self.plan.node(node_id).name
        if network not in self.networks_of(node_id):
            with told_apart(f"to put {name} back on its {network}"):
                self._networks[network].connect(self._containers[name], aliases=[name])

    def networks_of(self, node_id: int) -> set[str]:
        """The networks that the engine has a node on."""
        container = self._containers[self.plan.node(node_id).name]
        with told_apart("a look at a container's networks"):
            container.reload()
        present = container.attrs["NetworkSettings"]["Networks"]
        return {name for name in NETWORKS if self._called(name) in present}

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """Whether a connection from within the node's container is accepted."""
        name = self.plan.node(node_id).name
        attempt = f"exec 3<>/dev/tcp/{host}/{port}"
        with told_apart(f"a look from within {name}"):
            found = self._containers[name].exec_run(["timeout", "2", "bash", "-c", attempt])
        return found.exit_code == 0

    def unplanned_ends(self) -> list[str]:
        """What has ended without having been told to, in words."""
        return [
            f"{name} ({state}: {self._last_words(name)})"
            for name, state in self._states().items()
            if state not in {"running", "paused", "created"} and name not in self._down_on_purpose
        ]

    def stop(self) -> None:
        """End everything at once, and keep what the containers said."""
        for name, container in self._containers.items():
            with suppress(ClusterError), told_apart(f"the log of {name}"):
                (self._logs / f"{name}.out").write_bytes(container.logs())
        with told_apart("the end of a cluster"):
            containers.remove_run(self._engine, self.plan.run)
