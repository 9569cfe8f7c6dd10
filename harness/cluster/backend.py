"""What every cluster can do, whatever started it, and the files from which it starts."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from harness.base.errors import ClusterError
from harness.base.wait import wait_until
from harness.cluster import ping
from harness.cluster.plan import Plan, random_id
from harness.cluster.proxies import Toxiproxy
from harness.provision import kafka

LOGGING: Final = Path(__file__).with_name("log4j2.xml")  # it has its own description
PROXIES: Final = "toxiproxy.json"
STOP_TIMEOUT_S: Final = 60  # an orderly end of a broker: it hands over what it leads
_START_TIMEOUT_S: Final = 90  # a cold start on a busy two-core machine has been seen to take 12 s


class RunningCluster(Protocol):
    """Brokers, controllers and proxies of one run, whose logs are in `_logs`.

    What only some clusters can do raises ClusterError; faults that need it are refused
    before a run begins.
    """

    plan: Plan
    proxies: Toxiproxy
    _logs: Path

    def __init__(self, plan: Plan, logs: Path) -> None:
        self.plan = plan
        self.proxies = Toxiproxy(plan.toxiproxy_port)
        self._logs = logs

    def start(self) -> None:
        """Bring it all up, proxies first, so that no advertised port is dead, until all serve."""

    def versions(self) -> dict[str, str]:
        """What runs, by name, where that is not what set-up has fetched; once it is up."""
        return {}

    def _await_proxies(self, running: Callable[[], bool], tail: Callable[[], str]) -> None:
        """Wait until Toxiproxy has every proxy. Raises ClusterError with its `tail` if it ends."""
        self.proxies.await_up([str(proxy["name"]) for proxy in self.plan.proxies()], running, tail)

    def await_serving(self, node_id: int) -> None:
        """Wait until a broker answers on its direct listener; a controller: on its only one.

        Raises ClusterError with its last words if it ends instead, WaitTimeout if it is silent.
        """
        node = self.plan.node(node_id)

        def tail() -> str:
            return self._last_words(node.name)

        def serving() -> bool:
            if not self.running(node_id):
                raise ClusterError(f"{node.name} ended while it started: {tail()}")
            # A broker listens only after it has caught up with the controller and is unfenced.
            return ping.ask(node.port, timeout_s=2).outcome == "answered"

        wait_until(f"answer from {node.name}", serving, timeout_s=_START_TIMEOUT_S, saw=tail)

    def _last_words(self, name: str) -> str:
        """The end of what a node has logged, for a message."""

    def running(self, node_id: int) -> bool:
        """Whether the node exists, paused or not."""

    def kill(self, node_id: int) -> None:
        """SIGKILL, and wait until it is gone."""

    def terminate(self, node_id: int) -> None:
        """SIGTERM, and wait until it has handed its partitions over and is gone."""

    def restart(self, node_id: int) -> None:
        """Start a killed node on its old data."""

    def upgrade(self, node_id: int) -> None:
        """Start a node that is down with the release to come to, on its old data."""
        raise ClusterError(f"{self.plan.node(node_id).name} has one release only")

    def release_of(self, node_id: int) -> str:
        """The release that a node last wrote to its own log; empty if it wrote none."""
        raise ClusterError(f"{self.plan.node(node_id).name} has one release only")

    def pause(self, node_id: int) -> None:
        """SIGSTOP, or what an engine has instead."""

    def resume(self, node_id: int) -> None:
        """Let a paused node go on; one that is not paused is left as it is."""

    def disconnect(self, node_id: int, network: str) -> None:
        """Take a node off `peers` or `lanes`."""
        raise ClusterError(f"{self.plan.node(node_id).name} is not on {network}")

    def reconnect(self, node_id: int, network: str) -> None:
        """Put a node back; one that is there is left as it is."""
        raise ClusterError(f"{self.plan.node(node_id).name} is not on {network}")

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """Whether a node can connect to another one, as seen from that node's own machine."""

    def unplanned_ends(self) -> list[str]:
        """What has ended without an order, in words."""

    def stop(self) -> None:
        """End everything at once."""


def write_files(plan: Plan, folder: Path, template: Path, seen_as: Path | None = None) -> None:
    """Everything that the cluster is started from, its formatted storage included.

    `seen_as` is where the nodes see `folder`, if that is elsewhere. `template` is a controller's
    formatted folder: with it there is nothing left that `kafka-storage format` would do, and the
    cluster is new and ours.
    """
    shutil.copy(LOGGING, folder)
    (folder / PROXIES).write_text(json.dumps(plan.proxies()))
    for node in plan.nodes:
        data = folder / node.name
        data.mkdir()
        lines = {
            "version": "1",
            "cluster.id": plan.cluster_id,
            "node.id": str(node.id),
            "directory.id": random_id(),
        }
        (data / "meta.properties").write_text(properties_text(lines))
        if node.role == "controller":
            shutil.copytree(template, data, dirs_exist_ok=True)
        properties = plan.properties(node, (seen_as or folder) / node.name)
        (folder / node.properties).write_text(properties_text(properties))


def properties_text(values: dict[str, str]) -> str:
    return "".join(f"{name}={kafka.escaped(value)}\n" for name, value in values.items())
