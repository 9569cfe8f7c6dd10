"""The embedded backend: real Kafka JVMs and the real Toxiproxy as processes on loopback."""

import shutil
import signal
import subprocess
from pathlib import Path

import psutil

from harness import probe, processes
from harness.cluster.broker_logging import LOG4J2
from harness.cluster.plan import Node, Plan, random_id
from harness.cluster.proxies import Proxies
from harness.errors import ClusterError
from harness.provision import jvm
from harness.provision.tools import Tools
from harness.wait import wait_until

_START_TIMEOUT_S = 90  # a cold start on a busy two-core machine has been seen to take 12 s


class EmbeddedCluster:
    """Brokers, controllers and proxies of one run.

    `folder` holds their data (thrown away after the run), `logs` their logs (kept). `java_options`
    replaces what the nodes' JVMs start with, for comparisons.
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
        self.proxies = Proxies(plan, tools.toxiproxy, folder, logs / "toxiproxy.log")
        self._tools = tools
        self._java_options = (
            jvm.broker_options(tools.java_version) + jvm.aot_options(tools.kafka_aot)
            if java_options is None
            else java_options
        )
        self._folder = folder
        self._logs = logs
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._down_on_purpose: set[int] = set()

    def start(self) -> None:
        """Proxies first, so that no advertised port is ever dead; then every node at once."""
        self.proxies.start()
        (self._folder / "log4j2.xml").write_text(LOG4J2)
        for node in self.plan.nodes:
            self._format(node)
            self._launch(node)
        for node in self.plan.nodes:
            self.await_serving(node.id)

    def await_serving(self, node_id: int) -> None:
        """Wait until a broker answers on its direct listener (a controller: listens).

        Raises ClusterError with the end of its log if it ends instead, WaitTimeout if it is silent.
        """
        node = self.plan.node(node_id)

        def serving() -> bool:
            if not self.running(node_id):
                raise ClusterError(f"{node.name} ended while it started: {self._tail(node)}")
            # A broker listens only after it has caught up with the controller and is unfenced.
            return probe.ask(node.port, timeout_s=2).outcome == "answered"

        wait_until(
            f"answer from {node.name}",
            serving,
            timeout_s=_START_TIMEOUT_S,
            saw=lambda: self._tail(node),
        )

    def _format(self, node: Node) -> None:
        """What `kafka-storage format` does, without its JVM: the cluster is new and ours."""
        data = self._folder / node.name
        data.mkdir()
        lines = {
            "version": "1",
            "cluster.id": self.plan.cluster_id,
            "node.id": str(node.id),
            "directory.id": random_id(),
        }
        (data / "meta.properties").write_text(_properties(lines))
        if node.role == "controller":
            shutil.copy(self._tools.kafka_bootstrap_checkpoint, data / "bootstrap.checkpoint")
        properties = self.plan.properties(node, data)
        (self._folder / f"{node.name}.properties").write_text(_properties(properties))

    def _launch(self, node: Node) -> None:
        self._nodes[node.id] = processes.spawn(
            [
                self._tools.java,
                *self._java_options,
                f"-Dharness.logs={self._logs / node.name}",
                f"-Dlog4j2.configurationFile={self._folder / 'log4j2.xml'}",
                *("-cp", self._tools.kafka_classpath),
                "kafka.Kafka",
                self._folder / f"{node.name}.properties",
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
        """SIGKILL, and wait until the process is gone."""
        self._down_on_purpose.add(node_id)
        self._nodes[node_id].kill()
        self._nodes[node_id].wait(timeout=10)

    def restart(self, node_id: int) -> None:
        """Start a killed node on its old data."""
        if self.running(node_id):
            return
        # The lock file's owner is dead, and so is its lock; a clean-shutdown marker there is none.
        self._launch(self.plan.node(node_id))
        self._down_on_purpose.discard(node_id)

    def pause(self, node_id: int) -> None:
        """SIGSTOP."""
        self._nodes[node_id].send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """SIGCONT."""
        self._nodes[node_id].send_signal(signal.SIGCONT)

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
        toxiproxy = self.proxies.process
        if toxiproxy is not None and toxiproxy.poll() is not None:
            ended.append(f"Toxiproxy (exit code {toxiproxy.poll()})")
        return ended

    def stop(self) -> None:
        """End everything at once: the data is thrown away, and every log line is flushed already.

        An orderly shutdown would move leaders from broker to broker and take seconds to minutes.
        """
        children = list(self._nodes.values())
        if self.proxies.process is not None:
            children.append(self.proxies.process)
        self._down_on_purpose.update(self._nodes)
        for child in children:
            child.kill()
        for child in children:
            child.wait(timeout=10)


def _properties(values: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())
