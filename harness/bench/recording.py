"""What recording costs a consumer: our loop with its journal beside a plain `consume(500)` loop.

Rounds alternate between the two, each in a process (`-m harness.bench.recording`) and a group of
its own: CPU time per record of the whole process (librdkafka's threads included), records per
second, and how many threads the process has.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from consumers.client import Polled
from consumers.config import ConsumerConfig
from consumers.consumer import POLL_TIMEOUT_S, ConsumerLoop
from consumers.control import Control
from consumers.journal import Journal
from consumers.librdkafka import Librdkafka, settings_of
from harness.base import processes
from harness.base.paths import ROOT
from harness.base.ports import Ports
from harness.bench.measure import Figure
from harness.cluster.embedded import EmbeddedCluster
from harness.cluster.plan import draw_plan
from harness.experiment import Cluster
from harness.provision.tools import Tools

# A consumer reads three million a second. With fewer records a round is too short to measure.
RECORDS: Final = 2_000_000
BATCH_RECORDS: Final = 500
RECORD_BYTES: Final = 100
# Single ratios differ by a tenth from round to round.
_ROUNDS_EACH: Final = 4
_TOPIC: Final = "bench"
# By default librdkafka rests for a second whenever 100,000 records wait in its queue. Both would
# stand idle nine tenths of the time, which makes throughput a matter of luck and caches cold.
AT_FULL_SPEED: Final[dict[str, object]] = {"fetch.queue.backoff.ms": 5}
PLAIN, OURS = VARIANTS = ("plain", "instrumented")


class Loop(NamedTuple):
    """What one process needed for its records, from the first poll that returned any."""

    cpu_us_per_record: float
    records_per_s: float
    threads: int


def bench(tools: Tools, rounds: int) -> list[Figure]:
    """CPU per record, throughput and threads of both loops over the same topic on real brokers."""
    with tempfile.TemporaryDirectory() as folder, Ports() as ports:
        logs = Path(folder) / "logs"
        logs.mkdir()
        plan = draw_plan(Cluster(), ("members",), f"bench-{Path(folder).name}", ports)
        cluster = EmbeddedCluster(plan, tools, Path(folder), logs)
        try:
            cluster.start()
            admin = AdminClient({"bootstrap.servers": plan.direct(), "log_level": 0})
            topic = NewTopic(_TOPIC, num_partitions=6, replication_factor=1)
            admin.create_topics([topic])[_TOPIC].result(timeout=60)
            _fill(plan.direct())
            return _figures(plan.direct(), rounds * _ROUNDS_EACH)
        finally:
            cluster.stop()


def _figures(bootstrap: str, rounds: int) -> list[Figure]:
    plain, ours = [], []
    for number in range(rounds):
        # The order is reversed every other round, so that a warm page cache favours neither.
        order = VARIANTS if number % 2 else reversed(VARIANTS)
        found = {variant: _in_a_process(variant, bootstrap) for variant in order}
        plain.append(found[PLAIN])
        ours.append(found[OURS])
    # Ratios within a round: the machine's other work changes slowly, so it strikes both alike.
    pairs = list(zip(plain, ours, strict=True))
    cpu = median(o.cpu_us_per_record / p.cpu_us_per_record for p, o in pairs)
    rate = median(o.records_per_s / p.records_per_s for p, o in pairs)
    threads = max(o.threads for o in ours) - max(p.threads for p in plain)
    cpu_us = median(p.cpu_us_per_record for p in plain)
    name = "recording"
    return [
        Figure(name, "CPU per record, instrumented : plain", cpu, "×", rounds, 1.10),
        Figure(name, "records/s, instrumented : plain", rate, "×", rounds, 0.95, at_most=False),
        Figure(name, "threads more than plain", threads, "threads", rounds, 0),
        Figure(name, "CPU per record, plain", cpu_us, "µs", rounds),
    ]


def _fill(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "1", "linger.ms": 50})
    value = bytes(RECORD_BYTES)
    for number in range(RECORDS):
        producer.produce(_TOPIC, value)
        if number % 10_000 == 0:
            while len(producer) > 50_000:
                producer.poll(0.05)
    producer.flush()


def _in_a_process(variant: str, bootstrap: str) -> Loop:
    command = processes.python_module("harness.bench.recording", variant, bootstrap)
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Loop(*json.loads(printed.stdout))


def measure(records: int, poll: Callable[[], int]) -> Loop:
    """Call `poll`, which returns a number of records, until it has returned `records`."""
    while not (got := poll()):
        pass
    cpu, clock = _cpu_s(), time.monotonic()
    read = 0
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    while read < records - got:
        read += poll()
    return Loop((_cpu_s() - cpu) / read * 1e6, read / (time.monotonic() - clock), threads)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _plain(config: ConsumerConfig, records: int) -> Loop:
    consumer = Consumer({**settings_of(config), **AT_FULL_SPEED})
    consumer.subscribe([config.topic])
    loop = measure(records, lambda: len(consumer.consume(config.batch_records, POLL_TIMEOUT_S)))
    consumer.close()
    return loop


class _Counting(Librdkafka):
    records = 0

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        polled = super().poll_batch(limit, timeout_s)
        for found in polled.ranges:
            self.records += found.records
        return polled


def _instrumented(config: ConsumerConfig, records: int) -> Loop:
    client = _Counting(config, AT_FULL_SPEED)
    never_written, _ = os.pipe()
    loop = ConsumerLoop(
        config, client, Journal(config.journal, config.member), Control(never_written)
    )
    client.subscribe(config.topic, loop)

    def turn() -> int:
        before = client.records
        loop.turn()
        return client.records - before

    found = measure(records, turn)
    client.close()
    return found


def main(variant: str, bootstrap: str) -> None:
    """Let one variant read the topic, and print what it needed, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        config = ConsumerConfig(
            member="bench",
            role="consumer",
            run="bench",
            group=f"bench-{Path(folder).name}",
            topic=_TOPIC,
            bootstrap=bootstrap,
            journal=str(Path(folder) / "journal"),
            client="librdkafka",
            protocol="eager",
            session_timeout_ms=45_000,
            heartbeat_interval_ms=3_000,
            max_poll_interval_ms=300_000,
            commit="auto",
            auto_commit_interval_ms=5_000,
            batch_records=BATCH_RECORDS,
            process_us=0,
        )
        loop = (_plain if variant == PLAIN else _instrumented)(config, RECORDS)
    sys.stdout.write(json.dumps(loop) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
