"""The embedded backend: real Kafka JVMs and the real Toxiproxy as processes on loopback."""

import signal
import subprocess
from pathlib import Path

from harness.base import processes
from harness.base.errors import ClusterError
from harness.cluster import ping
from harness.cluster.backend import LOGGING, PROXIES, STOP_TIMEOUT_S, RunningCluster, write_files
from harness.cluster.features import log_of, starts_in
from harness.cluster.plan import Node, Plan
from harness.provision import java
from harness.provision.tools import Tools


class EmbeddedCluster(RunningCluster):
    """Nodes that are processes.

    `folder` holds their data (thrown away after the run), `logs` their logs (kept). Where `tools`
    have older ones, nodes start with those until they are upgraded.
    """

    def __init__(self, plan: Plan, tools: Tools, folder: Path, logs: Path) -> None:
        super().__init__(plan, logs)
        self._tools = tools
        self._upgraded: set[int] = set()
        self._folder = folder
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._down_on_purpose: set[int] = set()

    def start(self) -> None:
        first = self._tools.older or self._tools
        write_files(self.plan, self._folder, first.controller_template)
        names = [str(proxy["name"]) for proxy in self.plan.proxies()]
        log, config = self._logs / "toxiproxy.log", self._folder / PROXIES
        self.proxies.start(self._tools.toxiproxy, config, names, self.plan.run, log)
        for node in self.plan.nodes:
            self._launch(node)
        for node in self.plan.nodes:
            self.await_serving(node.id)

    def _launch(self, node: Node) -> None:
        older = None if node.id in self._upgraded else self._tools.older
        tools = older or self._tools
        self._nodes[node.id] = processes.spawn(
            [
                tools.java,
                *java.broker_options(tools.java_version),
                *java.aot_options(tools.kafka_aot),
                java.crash_report(self._logs, node.name),
                f"-Dharness.logs={self._logs / node.name}",
                *self.plan.logging,
                f"-Dlog4j2.configurationFile={self._folder / LOGGING.name}",
                *("-cp", tools.kafka_classpath),
                "kafka.Kafka",
                self._folder / node.properties,
            ],
            run=self.plan.run,
            log=self._logs / f"{node.name}.out",
        )

    def _last_words(self, name: str) -> str:
        said = processes.last_lines(self._logs / f"{name}.out", 2)
        return f"{said} | {processes.last_lines(self._logs / f'{name}.server.log', 2)}"

    def running(self, node_id: int) -> bool:
        return self._nodes[node_id].poll() is None

    def kill(self, node_id: int) -> None:
        self._down_on_purpose.add(node_id)
        self._nodes[node_id].kill()
        self._nodes[node_id].wait(timeout=10)

    def terminate(self, node_id: int) -> None:
        name = self.plan.node(node_id).name
        self._down_on_purpose.add(node_id)
        self._nodes[node_id].terminate()
        if processes.wait_exit(self._nodes[node_id], STOP_TIMEOUT_S) is None:
            raise ClusterError(
                f"{name} did not end within {STOP_TIMEOUT_S} s of SIGTERM: {self._last_words(name)}"
            )

    def restart(self, node_id: int) -> None:
        if self.running(node_id):
            return
        # The lock file's owner is dead, and so is its lock; a clean-shutdown marker there is none.
        self._launch(self.plan.node(node_id))
        self._down_on_purpose.discard(node_id)

    def upgrade(self, node_id: int) -> None:
        self._upgraded.add(node_id)
        self.restart(node_id)

    def release_of(self, node_id: int) -> str:
        starts = starts_in(self._logs / log_of(self.plan.node(node_id).name))
        return starts[-1]["release"] if starts else ""

    def pause(self, node_id: int) -> None:
        self._nodes[node_id].send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        self._nodes[node_id].send_signal(signal.SIGCONT)

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """On loopback everybody reaches everybody who listens."""
        return self.running(node_id) and ping.ask(port, timeout_s=1, address=host).outcome != (
            "refused"
        )

    def unplanned_ends(self) -> list[str]:
        ended = [
            f"{(name := self.plan.node(node_id).name)} (exit code {process.poll()}: "
            f"{self._last_words(name)})"
            for node_id, process in self._nodes.items()
            if process.poll() is not None and node_id not in self._down_on_purpose
        ]
        if (code := self.proxies.exit_code) is not None:
            ended.append(f"Toxiproxy (exit code {code})")
        return ended

    def stop(self) -> None:
        """End everything at once: the data is thrown away, and every log line is flushed already.

        An orderly shutdown would move leaders from broker to broker and take seconds to minutes.
        """
        self._down_on_purpose.update(self._nodes)
        for child in self._nodes.values():
            child.kill()
        self.proxies.stop()
        for child in self._nodes.values():
            child.wait(timeout=10)
