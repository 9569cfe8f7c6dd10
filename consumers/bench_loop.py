"""What the recording costs: the instrumented loop beside a plain `consume(500)` loop.

`python -m consumers.bench_loop --bootstrap HOST:PORT --topic NAME` needs a topic filled by
`--fill RECORDS` before. Rounds alternate between the two, each in a process and a group of its own,
and the medians are compared: CPU time per record of the whole process (librdkafka's threads
included), records per second, and how many threads the process had.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Producer

from consumers.client import Polled
from consumers.config import ConsumerConfig
from consumers.consumer import POLL_TIMEOUT_S, ConsumerLoop
from consumers.control import Control
from consumers.journal import Journal
from consumers.librdkafka import Librdkafka, settings_of

BATCH_RECORDS: Final = 500
RECORD_BYTES: Final = 100
# By default librdkafka rests for a second whenever 100,000 records wait in its queue. Both would
# stand idle nine tenths of the time, which makes throughput a matter of luck and caches cold.
AT_FULL_SPEED: Final[dict[str, object]] = {"fetch.queue.backoff.ms": 5}
VARIANTS: Final = ("plain", "instrumented")


class Cost(NamedTuple):
    """What one process needed for its records, from the first poll that returned any."""

    cpu_us_per_record: float
    records_per_s: float
    threads: int


class Comparison(NamedTuple):
    """Medians over the rounds: of each, and of the instrumented as a multiple of the plain one."""

    plain: Cost
    instrumented: Cost
    cpu_ratio: float
    throughput_ratio: float


def compare(bootstrap: str, topic: str, records: int, rounds: int) -> Comparison:
    """Let both read `records` records, `rounds` times in turn."""
    costs: dict[str, list[Cost]] = {variant: [] for variant in VARIANTS}
    for number in range(rounds):
        # Turn about, so that neither is always the one that runs on a warmed page cache.
        for variant in VARIANTS if number % 2 else reversed(VARIANTS):
            costs[variant].append(_in_a_process(variant, bootstrap, topic, records))
    # Ratios within a round: what else the machine does changes slowly, so it strikes both alike.
    pairs = list(zip(costs["plain"], costs["instrumented"], strict=True))
    return Comparison(
        _median(costs["plain"]),
        _median(costs["instrumented"]),
        statistics.median(i.cpu_us_per_record / p.cpu_us_per_record for p, i in pairs),
        statistics.median(i.records_per_s / p.records_per_s for p, i in pairs),
    )


def fill(bootstrap: str, topic: str, records: int) -> None:
    """Produce `records` records of 100 bytes to an existing topic."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "1", "linger.ms": 50})
    value = bytes(RECORD_BYTES)
    for number in range(records):
        producer.produce(topic, value)
        if number % 10_000 == 0:
            while len(producer) > 50_000:
                producer.poll(0.05)
    producer.flush()


def measure(records: int, poll: Callable[[], int]) -> Cost:
    """Call `poll`, which returns a number of records, until it has returned `records`."""
    while not (got := poll()):
        pass
    cpu, clock = _cpu_s(), time.monotonic()
    read = 0
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    while read < records - got:
        read += poll()
    return Cost(
        (_cpu_s() - cpu) / read * 1e6,
        read / (time.monotonic() - clock),
        threads,
    )


def _plain(config: ConsumerConfig, records: int) -> Cost:
    consumer = Consumer({**settings_of(config), **AT_FULL_SPEED})
    consumer.subscribe([config.topic])
    cost = measure(records, lambda: len(consumer.consume(config.batch_records, POLL_TIMEOUT_S)))
    consumer.close()
    return cost


class _Counting(Librdkafka):
    records = 0

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        polled = super().poll_batch(limit, timeout_s)
        for found in polled.ranges:
            self.records += found.records
        return polled


def _instrumented(config: ConsumerConfig, records: int) -> Cost:
    client = _Counting(config, AT_FULL_SPEED)
    never_written, _ = os.pipe()
    journal = Journal(config.journal, config.member)
    loop = ConsumerLoop(config, client, journal, Control(never_written))
    client.subscribe(config.topic, loop)

    def turn() -> int:
        before = client.records
        loop.turn()
        return client.records - before

    cost = measure(records, turn)
    client.close()
    return cost


def _config(bootstrap: str, topic: str, folder: str) -> ConsumerConfig:
    return ConsumerConfig(
        member="bench",
        role="consumer",
        run="bench",
        group=f"bench-{uuid.uuid4()}",
        topic=topic,
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


def _in_a_process(variant: str, bootstrap: str, topic: str, records: int) -> Cost:
    command = [sys.executable, "-m", "consumers.bench_loop", "--bootstrap", bootstrap]
    command += ["--topic", topic, "--records", str(records), "--variant", variant]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cost(*json.loads(told))


def _median(costs: list[Cost]) -> Cost:
    cpu, rate, threads = zip(*costs, strict=True)
    return Cost(statistics.median(cpu), statistics.median(rate), max(threads))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Fill a topic, run one variant, or compare both and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--fill", type=int, metavar="RECORDS")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--variant", choices=VARIANTS)
    arguments = parser.parse_args()
    if arguments.fill:
        fill(arguments.bootstrap, arguments.topic, arguments.fill)
        return
    if arguments.variant is None:
        found = compare(arguments.bootstrap, arguments.topic, arguments.records, arguments.rounds)
        sys.stdout.write(json.dumps(found._asdict(), indent=2) + "\n")
        return
    run = _plain if arguments.variant == "plain" else _instrumented
    with tempfile.TemporaryDirectory() as folder:
        cost = run(_config(arguments.bootstrap, arguments.topic, folder), arguments.records)
    sys.stdout.write(json.dumps(cost) + "\n")


if __name__ == "__main__":
    main()
