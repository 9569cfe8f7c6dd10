"""What recording costs a consumer: the instrumented loop against a plain `consume(500)` loop."""

import tempfile
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from consumers.bench_loop import compare, fill
from harness.base.ports import Ports
from harness.bench.measure import Figure
from harness.cluster.embedded import EmbeddedCluster
from harness.cluster.plan import draw_plan
from harness.experiment import Cluster
from harness.provision.tools import Tools

# A consumer reads three million a second. With fewer records a round is too short to measure.
RECORDS: Final = 2_000_000
# Single ratios differ by a tenth from round to round.
_ROUNDS_EACH: Final = 4
_TOPIC: Final = "bench"


def bench(tools: Tools, rounds: int, records: int = RECORDS) -> list[Figure]:
    """CPU per record, throughput and threads of both loops over the same topic on real brokers."""
    with tempfile.TemporaryDirectory() as folder, Ports() as ports:
        logs = Path(folder) / "logs"
        logs.mkdir()
        run = f"bench-{Path(folder).name}"
        plan = draw_plan(Cluster(), ("members",), run, ports)
        cluster = EmbeddedCluster(plan, tools, Path(folder), logs)
        try:
            cluster.start()
            admin = AdminClient({"bootstrap.servers": plan.direct(), "log_level": 0})
            topic = NewTopic(_TOPIC, num_partitions=6, replication_factor=1)
            admin.create_topics([topic])[_TOPIC].result(timeout=60)
            fill(plan.direct(), _TOPIC, records)
            rounds *= _ROUNDS_EACH
            found = compare(plan.direct(), _TOPIC, records, rounds)
        finally:
            cluster.stop()
    threads = found.instrumented.threads - found.plain.threads
    name = "recording"
    return [
        Figure(name, "CPU per record, instrumented : plain", found.cpu_ratio, "×", rounds, 1.10),
        Figure(
            name,
            "records per second, instrumented : plain",
            found.throughput_ratio,
            "×",
            rounds,
            0.95,
            at_most=False,
        ),
        Figure(name, "threads more than plain", float(threads), "threads", rounds, 0),
        Figure(name, "CPU per record, plain", found.plain.cpu_us_per_record, "µs", rounds),
    ]
