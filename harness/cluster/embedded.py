"""The embedded backend: real Kafka JVMs and the real Toxiproxy as processes on loopback."""

import signal
import subprocess
from functools import partial
from pathlib import Path

import psutil

from harness.base import processes
from harness.base.errors import ClusterError
from harness.base.ports import LOOPBACK
from harness.cluster import ping
from harness.cluster.backend import STOP_TIMEOUT_S, await_answer
from harness.cluster.files import LOGGING, PROXIES, properties_of, write_files
from harness.cluster.plan import Node, Plan
from harness.cluster.proxies import Proxies
from harness.cluster.releases import log_of, starts_in
from harness.provision import jvm
from harness.provision.tools import Tools


class EmbeddedCluster:
    """Brokers, controllers and proxies of one run.

    `folder` holds their data (thrown away after the run), `logs` their logs (kept). `java_options`
    replaces what the nodes' JVMs start with, for comparisons. Where `tools` have older ones, nodes
    start with those until they are upgraded.
    """

    def __init__(
        self,
        plan: Plan,
        tools: Tools,
        folder: Path,
        logs: Path,
        java_options: tuple[str, ...] | None = None,
    ) -> None:
        self.plan = plan
        self.proxies = Proxies(plan)
        self._tools = tools
        self._java_options = java_options
        self._upgraded: set[int] = set()
        self._folder = folder
        self._logs = logs
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._toxiproxy: subprocess.Popen[bytes] | None = None
        self._down_on_purpose: set[int] = set()

    def start(self) -> None:
        """Proxies first, so that no advertised port is ever dead; then every node at once."""
        first = self._tools.older or self._tools
        write_files(self.plan, self._folder, first.controller_template)
        self._start_toxiproxy()
        for node in self.plan.nodes:
            self._launch(node)
        for node in self.plan.nodes:
            self.await_serving(node.id)

    def _start_toxiproxy(self) -> None:
        log = self._logs / "toxiproxy.log"
        toxiproxy = processes.spawn(
            [
                self._tools.toxiproxy,
                *("-host", LOOPBACK),
                *("-port", str(self.plan.toxiproxy_port)),
                *("-config", self._folder / PROXIES),
            ],
            run=self.plan.run,
            log=log,
        )
        self._toxiproxy = toxiproxy
        self.proxies.await_up(lambda: toxiproxy.poll() is None, partial(processes.last_lines, log))

    def versions(self) -> dict[str, str]:
        """Nothing: it is all of `make setup`."""
        return {}

    def await_serving(self, node_id: int) -> None:
        """Wait until a broker answers on its direct listener (a controller: listens).

        Raises ClusterError with the end of its log if it ends instead, WaitTimeout if it is silent.
        """
        await_answer(
            self.plan,
            node_id,
            partial(self.running, node_id),
            partial(self._tail, self.plan.node(node_id)),
        )

    def _launch(self, node: Node) -> None:
        older = None if node.id in self._upgraded else self._tools.older
        tools = older or self._tools
        usual = jvm.broker_options(tools.java_version) + jvm.aot_options(tools.kafka_aot)
        self._nodes[node.id] = processes.spawn(
            [
                tools.java,
                *(usual if self._java_options is None else self._java_options),
                jvm.crash_report(self._logs, node.name),
                f"-Dharness.logs={self._logs / node.name}",
                *self.plan.logging,
                f"-Dlog4j2.configurationFile={self._folder / LOGGING}",
                *("-cp", tools.kafka_classpath),
                "kafka.Kafka",
                self._folder / properties_of(node),
            ],
            run=self.plan.run,
            log=self._logs / f"{node.name}.out",
        )

    def _tail(self, node: Node) -> str:
        said = processes.last_lines(self._logs / f"{node.name}.out", 2)
        return f"{said} | {processes.last_lines(self._logs / f'{node.name}.server.log', 2)}"

    def pid(self, node_id: int) -> int:
        """Process id of a node's latest JVM."""
        return self._nodes[node_id].pid

    def running(self, node_id: int) -> bool:
        """Whether the node's process exists, paused or not."""
        return self._nodes[node_id].poll() is None

    def kill(self, node_id: int) -> None:
        self._down_on_purpose.add(node_id)
        self._nodes[node_id].kill()
        self._nodes[node_id].wait(timeout=10)

    def terminate(self, node_id: int) -> None:
        """SIGTERM, and wait until the broker has handed over what it leads, and is gone."""
        node = self.plan.node(node_id)
        self._down_on_purpose.add(node_id)
        self._nodes[node_id].terminate()
        if processes.wait_exit(self._nodes[node_id], STOP_TIMEOUT_S) is None:
            raise ClusterError(
                f"{node.name} did not end within {STOP_TIMEOUT_S} s of SIGTERM: {self._tail(node)}"
            )

    def restart(self, node_id: int) -> None:
        if self.running(node_id):
            return
        # The lock file's owner is dead, and so is its lock; a clean-shutdown marker there is none.
        self._launch(self.plan.node(node_id))
        self._down_on_purpose.discard(node_id)

    def upgrade(self, node_id: int) -> None:
        """Start a node that was told to end with the newer release, on its old data."""
        self._upgraded.add(node_id)
        self.restart(node_id)

    def release_of(self, node_id: int) -> str:
        """The release that a node has told last, in its own log; empty where it told none."""
        starts = starts_in(self._logs / log_of(self.plan.node(node_id).name))
        return starts[-1].release if starts else ""

    def pause(self, node_id: int) -> None:
        self._nodes[node_id].send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        self._nodes[node_id].send_signal(signal.SIGCONT)

    def disconnect(self, node_id: int, network: str) -> None:
        """Nodes on loopback have no network of their own: faults that need one are refused."""
        raise NotImplementedError(f"{self.plan.node(node_id).name} is not on {network}")

    reconnect = disconnect

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """On loopback everybody reaches everybody who listens."""
        return self.running(node_id) and ping.ask(port, timeout_s=1, address=host).outcome != (
            "refused"
        )

    def stopped(self, node_id: int) -> bool:
        """Whether the kernel says that the process is stopped."""
        return psutil.Process(self.pid(node_id)).status() == psutil.STATUS_STOPPED

    def unplanned_ends(self) -> list[str]:
        """What has ended without having been told to, in words."""
        ended = [
            f"{self.plan.node(node_id).name} (exit code {process.poll()}: "
            f"{self._tail(self.plan.node(node_id))})"
            for node_id, process in self._nodes.items()
            if process.poll() is not None and node_id not in self._down_on_purpose
        ]
        if self._toxiproxy is not None and self._toxiproxy.poll() is not None:
            ended.append(f"Toxiproxy (exit code {self._toxiproxy.poll()})")
        return ended

    def stop(self) -> None:
        """End everything at once: the data is thrown away, and every log line is flushed already.

        An orderly shutdown would move leaders from broker to broker and take seconds to minutes.
        """
        children = list(self._nodes.values())
        if self._toxiproxy is not None:
            children.append(self._toxiproxy)
        self._down_on_purpose.update(self._nodes)
        for child in children:
            child.kill()
        for child in children:
            child.wait(timeout=10)
