"""What a cluster can be told, whatever brings it up."""

from collections.abc import Callable
from typing import Final, Protocol

from harness.base.errors import ClusterError
from harness.base.wait import wait_until
from harness.cluster import ping
from harness.cluster.plan import Plan
from harness.cluster.proxies import Proxies

STOP_TIMEOUT_S: Final = 60  # an orderly end of a broker: it hands over what it leads
_START_TIMEOUT_S: Final = 90  # a cold start on a busy two-core machine has been seen to take 12 s


class RunningCluster(Protocol):
    """Brokers, controllers and proxies of one run."""

    plan: Plan
    proxies: Proxies

    def start(self) -> None:
        """Bring it all up, and wait until every node serves."""

    def versions(self) -> dict[str, str]:
        """What runs, by name, where that is not what `make setup` has fetched; once it is up."""

    def await_serving(self, node_id: int) -> None:
        """Wait until a node answers. Raises ClusterError if it ends instead."""

    def running(self, node_id: int) -> bool:
        """Whether the node exists, paused or not."""

    def kill(self, node_id: int) -> None:
        """SIGKILL, and wait until it is gone."""

    def terminate(self, node_id: int) -> None:
        """SIGTERM, and wait until it has handed its partitions over and is gone."""

    def restart(self, node_id: int) -> None:
        """Start a killed node on its old data."""

    def upgrade(self, node_id: int) -> None:
        """Start a node that is down with the release to come to; only where there are two."""

    def release_of(self, node_id: int) -> str:
        """The release that a node has told last, in its own log; only where there are two."""

    def pause(self, node_id: int) -> None:
        """Stop it in its tracks."""

    def resume(self, node_id: int) -> None:
        """Let a paused node go on."""

    def disconnect(self, node_id: int, network: str) -> None:
        """Take a node off `peers` or `lanes`; only where nodes have networks of their own."""

    def reconnect(self, node_id: int, network: str) -> None:
        """Put a node back; one that is there is left as it is."""

    def reaches(self, node_id: int, host: str, port: int) -> bool:
        """Whether a node can connect to another one, as that node's own machine tells."""

    def unplanned_ends(self) -> list[str]:
        """What has ended without having been told to, in words."""

    def stop(self) -> None:
        """End everything at once."""


def await_answer(
    plan: Plan, node_id: int, running: Callable[[], bool], tail: Callable[[], str]
) -> None:
    """Wait until a broker answers on its direct listener; a controller: on its only one.

    Raises ClusterError with its last words if it ends instead, WaitTimeout if it is silent.
    """
    node = plan.node(node_id)

    def serving() -> bool:
        if not running():
            raise ClusterError(f"{node.name} ended while it started: {tail()}")
        # A broker listens only after it has caught up with the controller and is unfenced.
        return ping.ask(node.port, timeout_s=2).outcome == "answered"

    wait_until(f"answer from {node.name}", serving, timeout_s=_START_TIMEOUT_S, saw=tail)
