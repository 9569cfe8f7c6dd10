"""What starting a cluster costs, against Kafka's own flags (bin/kafka-run-class.sh of 4.3)."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from harness.base.ports import Ports
from harness.bench.measure import Figure, in_turn, median, ratio
from harness.cluster.embedded import EmbeddedCluster
from harness.cluster.plan import draw_plan
from harness.experiment import Cluster
from harness.provision.tools import Tools

# KAFKA_HEAP_OPTS and KAFKA_JVM_PERFORMANCE_OPTS as Kafka's scripts set them.
STOCK: Final = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)


@dataclass
class _Start:
    """The last start measured: CPU and wall seconds until every node serves."""

    cpu_s: float = 0.0
    wall_s: float = 0.0


def bench(tools: Tools, rounds: int) -> list[Figure]:
    """CPU and wall time of a start: three brokers, one controller and the proxies."""
    walls: dict[str, list[float]] = {"ours": [], "stock": []}

    def start(name: str, options: tuple[str, ...] | None) -> float:
        measured = _measure(tools, options)
        walls[name].append(measured.wall_s)
        return measured.cpu_s

    cpu = in_turn(rounds, ours=lambda: start("ours", None), stock=lambda: start("stock", STOCK))
    return [
        Figure("cluster start", "CPU, ours : stock", ratio(cpu, "ours", "stock"), "×", rounds, 0.6),
        Figure("cluster start", "wall, ours : stock", ratio(walls, "ours", "stock"), "×", rounds),
        Figure("cluster start", "CPU, ours", median(cpu["ours"]), "s", rounds),
        Figure("cluster start", "CPU, stock", median(cpu["stock"]), "s", rounds),
        Figure("cluster start", "wall, ours", median(walls["ours"]), "s", rounds, 3),
        Figure("cluster start", "wall, stock", median(walls["stock"]), "s", rounds),
    ]


def _measure(tools: Tools, options: tuple[str, ...] | None) -> _Start:
    with tempfile.TemporaryDirectory() as folder, Ports() as ports:
        logs = Path(folder) / "logs"
        logs.mkdir()
        run = f"bench-{Path(folder).name}"
        plan = draw_plan(Cluster(), ("members", "producers"), run, ports)
        cluster = EmbeddedCluster(plan, tools, Path(folder), logs, options)
        try:
            began = time.monotonic()
            cluster.start()
            wall_s = time.monotonic() - began
            used = [psutil.Process(cluster.pid(node.id)).cpu_times() for node in plan.nodes]
            return _Start(sum(times.user + times.system for times in used), wall_s)
        finally:
            cluster.stop()
