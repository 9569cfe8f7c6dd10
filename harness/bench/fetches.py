"""What it costs that brokers log the fetches of programs: throughput, CPU, and bytes of log.

On one cluster, in turn: by its listener a fetch is kept in the log, or passed over.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from consumers.bench_loop import fill
from harness.base.errors import ClusterError
from harness.base.ports import Ports
from harness.bench.measure import Figure, in_turn, median, ratio
from harness.cluster.embedded import EmbeddedCluster
from harness.cluster.plan import Plan, draw_plan
from harness.experiment import Cluster
from harness.provision.tools import Tools

RECORDS: Final = 400_000
_TOPIC: Final = "bench"
_PARTITIONS: Final = 6
_WAITING_S: Final = 4.0
_PATIENCE_S: Final = 60.0
_LOGGED, _PASSED_OVER = "member-1", "members"  # lanes


def bench(tools: Tools, rounds: int) -> list[Figure]:
    """A consumer that reads what there is, and three that wait for what comes, as in a run."""
    with tempfile.TemporaryDirectory() as folder, Ports() as ports:
        logs = Path(folder) / "logs"
        logs.mkdir()
        lanes = (_PASSED_OVER, _LOGGED)
        plan = draw_plan(Cluster(), lanes, f"bench-{Path(folder).name}", ports)
        plan = replace(plan, logs_fetches=True)
        cluster = EmbeddedCluster(plan, tools, Path(folder), logs)
        try:
            cluster.start()
            topic = NewTopic(_TOPIC, num_partitions=_PARTITIONS, replication_factor=1)
            admin = AdminClient({"bootstrap.servers": plan.direct(), "log_level": 0})
            admin.create_topics([topic])[_TOPIC].result(timeout=60)
            fill(plan.direct(), _TOPIC, RECORDS)
            read = in_turn(
                rounds,
                logged=lambda: _read_all(plan, _LOGGED),
                passed_over=lambda: _read_all(plan, _PASSED_OVER),
            )
            waiting = in_turn(
                rounds,
                logged=lambda: _cpu(cluster, plan, lambda: _wait(plan, _LOGGED)),
                passed_over=lambda: _cpu(cluster, plan, lambda: _wait(plan, _PASSED_OVER)),
            )
            before = _bytes(logs)
            _wait(plan, _LOGGED)
            written = _bytes(logs) - before
        finally:
            cluster.stop()
    name = "fetches in the log"
    return [
        Figure(name, "records per second, logged : not", ratio(read, *_PAIR), "×", rounds),
        Figure(name, "records per second, not logged", median(read["passed_over"]), "", rounds),
        Figure(name, "brokers' CPU for waiting, logged : not", ratio(waiting, *_PAIR), "×", rounds),
        Figure(name, "brokers' CPU, not logged", median(waiting["passed_over"]), "cores", rounds),
        Figure(name, "log of three that wait", written / _WAITING_S / 1e3, "kB/s", 1),
    ]


_PAIR: Final = ("logged", "passed_over")


def _consumer(plan: Plan, lane: str, partitions: list[int], offset: int) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": plan.bootstrap(lane),
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(_TOPIC, number, offset) for number in partitions])
    return consumer


def _read_all(plan: Plan, lane: str) -> float:
    """Records per second. Raises ClusterError where they do not come."""
    consumer = _consumer(plan, lane, list(range(_PARTITIONS)), 0)
    read, began = 0, time.monotonic()
    try:
        while read < RECORDS:
            read += len(consumer.consume(500, timeout=0.5))
            if time.monotonic() - began > _PATIENCE_S:
                raise ClusterError(
                    f"only {read:,} of {RECORDS:,} records came in {_PATIENCE_S:g} s"
                )
    finally:
        consumer.close()
    return read / (time.monotonic() - began)


def _wait(plan: Plan, lane: str) -> None:
    """Three consumers at the end of the topic, which ask again every 100 ms."""
    consumers = [_consumer(plan, lane, [n, n + 3], RECORDS) for n in range(3)]
    until = time.monotonic() + _WAITING_S
    while time.monotonic() < until:
        for consumer in consumers:
            consumer.poll(0.05)
    for consumer in consumers:
        consumer.close()


def _cpu(cluster: EmbeddedCluster, plan: Plan, doing: Callable[[], None]) -> float:
    """Cores that the brokers use meanwhile."""
    before, began = _used_s(cluster, plan), time.monotonic()
    doing()
    return (_used_s(cluster, plan) - before) / (time.monotonic() - began)


def _used_s(cluster: EmbeddedCluster, plan: Plan) -> float:
    times = [psutil.Process(cluster.pid(node.id)).cpu_times() for node in plan.brokers]
    return sum(each.user + each.system for each in times)


def _bytes(logs: Path) -> int:
    return sum(log.stat().st_size for log in logs.glob("broker-*.requests.log"))
