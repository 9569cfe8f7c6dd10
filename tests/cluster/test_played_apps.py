"""Programs of somebody else's on real brokers: an honest one, and one that is broken on purpose.

Method: small programs of confluent-kafka, which know nothing of the harness, are the members of a
group. The history is judged by DuckDB, which finds what Spark does.
"""

from __future__ import annotations

import json
import re
import socketserver
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from harness.base import processes
from harness.base.wait import wait_until
from harness.check.check import check
from harness.history import manifest
from harness.run.roles import MOST_LANES
from harness.tables.engines.duckdb import DuckDb
from tests.cluster.test_experiments import LONGEST_S, run_experiment

pytestmark = pytest.mark.cluster

HONEST = """
import json, os, signal, sys
from confluent_kafka import Consumer, TopicPartition

consumer = Consumer({
    "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    "group.id": os.environ["KAFKA_GROUP_ID"],
    "client.id": "any name",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "auto.commit.interval.ms": 500,
})
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
while running:
    message = consumer.poll(0.2)
    if message is not None and not message.error():
        print("done id=%d" % json.loads(message.value())["id"], flush=True)
consumer.close()
"""

# It asks its dependency about each batch, and works on none before it is answered.
ASKING = """
import json, os, signal, socket
from confluent_kafka import Consumer

host, port = os.environ["STORE"].split(":")
consumer = Consumer({
    "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    "group.id": os.environ["KAFKA_GROUP_ID"],
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "auto.commit.interval.ms": 500,
})
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
running = True


def stop(*_):
    global running
    running = False


def store():
    while True:
        try:
            with socket.create_connection((host, int(port))) as link:
                link.sendall(b"?")
                if link.recv(1):
                    return
        except OSError:
            pass


signal.signal(signal.SIGTERM, stop)
while running:
    messages = consumer.consume(100, 0.2)
    if messages:
        store()
    for message in messages:
        if not message.error():
            print("done id=%d" % json.loads(message.value())["id"], flush=True)
consumer.close()
"""

# As `slow-dependency`, for a program whose session is 6 s: an outage within it, and one of two.
OUTAGES = '''"""What a program uses answers late, then not at all, for 4 s and for 12 s."""

from dataclasses import replace

from harness.experiment import Experiment, Fault, holds

cut = Fault(kind="cut-dependency", target="dependency", at_s=2, jitter_s=0, lasts_s=4)
experiment = Experiment(
    claim="A program whose dependency is slow or gone for a while goes on.",
    faults=(
        Fault(kind="slow-dependency", target="dependency", at_s=2, latency_ms=500, lasts_s=6),
        cut,
        replace(cut, lasts_s=12),
    ),
    one_by_one=True,
    duration_s=0,
    rules=holds("R33", "X14"),
)
'''

# Each process has a vice of its own: the first commits what it has not fetched, the second stops
# to work and lives on, the third ends with exit code 0, and none leaves when it is told to end.
BROKEN = """
import os, time
from confluent_kafka import Consumer, TopicPartition

name = os.environ["KAFKA_CLIENT_ID"]
consumer = Consumer({
    "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    "group.id": os.environ["KAFKA_GROUP_ID"],
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "auto.commit.interval.ms": 500,
})
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
read = 0
while True:
    message = consumer.poll(0.2)
    if message is None or message.error():
        continue
    read += 1
    if name == "member-1" and read % 100 == 0:
        beyond = TopicPartition(message.topic(), message.partition(), message.offset() + 500)
        consumer.commit(offsets=[beyond], asynchronous=False)
    if name == "member-2" and read == 600:
        time.sleep(3600)
    if name == "member-3" and read == 400:
        os._exit(0)
"""


# Enough for every partition to be read by whoever has it.
SHORT = ("--set", "duration_s=3")


def play(folder: Path, experiment: str, program: str, *options: str, **more: Any) -> Path:
    """Play an experiment with a program; the folder of the run."""
    (folder / "program.py").write_text(program)
    command = json.dumps([sys.executable, "program.py"])
    lines = ['name = "small"', f"command = {command}"]
    lines += [f"[{table}]\n{line}" for table, line in more.items()]
    (folder / "app.toml").write_text("\n".join(lines))
    return run_experiment(experiment, folder / "results", "--app", str(folder), *options)


def verdicts(run_dir: Path) -> dict[str, str]:
    with closing(DuckDb()) as engine:
        return {row["rule"]: row["verdict"] for row in check(run_dir, engine, keep=False).verdicts}


def rows(run_dir: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run_dir / "history" / f"{name}.parquet").to_pylist()
    return found


BROKEN_ONE: Final = "test_a_broken_program_is_found_out"


@pytest.fixture(scope="module")
def broken(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Future[Path] | None]:
    """The folder of the broken program's run, once it has ended; null where no test is about it.

    What is due last is waited for in vain, for a minute in which hardly anything happens. So tests
    that look at no time are played meanwhile: each asks for this one.
    """
    if BROKEN_ONE not in [item.name for item in request.session.items]:
        yield None
        return
    folder = tmp_path_factory.mktemp("broken")
    with ThreadPoolExecutor() as aside:
        played = aside.submit(play, folder, "baseline", BROKEN)
        record = folder / "results" / "baseline" / "latest" / manifest.FILE_NAME
        wait_until(
            "the drain of the broken program",
            lambda: played.done() or (record.exists() and '"drain"' in record.read_text()),
            timeout_s=LONGEST_S,
        )
        yield played


@pytest.mark.long(33)
def test_an_honest_program_is_known_by_its_lanes_and_by_what_it_shows(tmp_path: Path) -> None:
    shows = r"stdout = 'done id=(?P<n>\d+)'"
    run_dir = play(tmp_path, "consumer-crash", HONEST, effects=shows)

    found = manifest.read(run_dir)
    assert ("complete", "eager", 6_000) == (
        found["status"],
        found["observed"]["protocol"],
        found["observed"]["session_timeout_ms"],
    )
    assert [] == processes.marked(found["run"])

    own = [row for row in rows(run_dir, "requests") if row["client_id"] == "any name"]
    lanes = {(row["program"], row["listener"]) for row in own}
    assert {(f"member-{n}", f"LANE_MEMBER_{n}") for n in (1, 2, 3)} == lanes

    sent = {
        (row["partition"], offset)
        for row in rows(run_dir, "sends")
        if row["outcome"] == "acknowledged"
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }
    shown = {
        (row["partition"], offset)
        for row in rows(run_dir, "effects")
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }
    assert sent == shown

    judged = verdicts(run_dir)
    for rule in ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P10", "E01", "E02", "E05", "R21"):
        assert "HOLDS" == judged[rule], (rule, judged)


@pytest.mark.long(35)
def test_who_is_who_in_a_group_too_large_for_lanes_follows_from_client_ids(tmp_path: Path) -> None:
    program = HONEST.replace('"any name"', 'os.environ["KAFKA_CLIENT_ID"]')
    shows = r"stdout = 'done id=(?P<n>\d+)'"
    options = ("--instances", str(MOST_LANES + 1))
    run_dir = play(tmp_path, "consumer-crash", program, *options, effects=shows)

    assert "client.id" == manifest.read(run_dir)["observed"]["told_apart_by"]
    own = {(r["program"], r["client_id"]) for r in rows(run_dir, "requests") if r["program"]}
    assert {(f"member-{n}", f"member-{n}") for n in range(1, MOST_LANES + 2)} == own
    judged = verdicts(run_dir)
    for rule in ("P1", "P2", "P6", "P10", "E01", "E02", "E05", "R21"):
        assert "HOLDS" == judged[rule], (rule, judged)


class Store(socketserver.BaseRequestHandler):
    """Somebody's server, which says back what it is told."""

    def handle(self) -> None:
        while said := self.request.recv(100):
            self.request.sendall(said)


@pytest.mark.long(43)
def test_a_program_stalls_while_its_dependency_does(tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Store) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shows = r"stdout = 'done id=(?P<n>\d+)'"
        address = f'STORE = "127.0.0.1:{server.server_address[1]}"'
        more = {"effects": shows, "dependency": address}
        (tmp_path / "experiments").mkdir()
        (tmp_path / "experiments" / "outages.py").write_text(OUTAGES)
        project = tmp_path / "kafka-chaos.toml"
        project.write_text('experiments = "experiments"\n')
        run_dir = play(tmp_path, "outages", ASKING, "--project", str(project), **more)
        server.shutdown()

    assert "complete" == manifest.read(run_dir)["status"]
    assert ["STORE"] == manifest.read(run_dir)["declared"]["app"]["dependencies"]
    assert [] == processes.marked(run_dir.name)
    injected = [row for row in rows(run_dir, "faults") if row["phase"] == "injected"]
    assert [True] * 3 == [row["took_effect"] for row in injected]
    assert all("used: STORE by member-" in row["evidence"] for row in injected)

    judged = verdicts(run_dir)
    # Heartbeats go on while it waits, so that nothing rebalances and P5 has nothing to examine.
    assert judged.get("P5", "HOLDS") == "HOLDS"
    for rule in ("P1", "P2", "P3", "P6", "P7", "P10", "E01", "E02", "E05"):
        assert "HOLDS" == judged[rule], (rule, judged)
    # Nothing was processed while nothing could be asked.
    last = next(row for row in rows(run_dir, "faults") if row["fault"].startswith("3-"))
    shown = sorted(row["at"] for row in rows(run_dir, "effects"))
    longest_s = max((b - a).total_seconds() for a, b in pairwise(shown))
    assert longest_s >= 10, last


# The same honest program twice, which shows its work by posts and by an output topic.
POSTING = """
import os, signal
from http.client import HTTPConnection
from urllib.parse import urlsplit
from confluent_kafka import Consumer, Producer

servers = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
consumer = Consumer({
    "bootstrap.servers": servers,
    "group.id": os.environ["KAFKA_GROUP_ID"],
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000,
    "auto.commit.interval.ms": 500,
})
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
sink, output = os.environ.get("KAFKA_CHAOS_SINK"), os.environ.get("KAFKA_OUTPUT_TOPIC")
posts = HTTPConnection(urlsplit(sink).netloc) if sink else None
producer = Producer({"bootstrap.servers": servers, "linger.ms": 2}) if output else None
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
while running:
    message = consumer.poll(0.2)
    if message is None or message.error():
        continue
    if posts:
        posts.request("POST", urlsplit(sink).path, message.value())
        answer = posts.getresponse()
        answer.read()
        assert 204 == answer.status, answer.status
    else:
        producer.produce(output, message.value(), key=str(message.partition()))
        producer.poll(0)
if producer:
    producer.flush()
consumer.close()
"""


def counted(run_dir: Path, name: str) -> Counter[tuple[int, int]]:
    """How often each record is in a file of the history."""
    return Counter(
        (row["partition"], offset)
        for row in rows(run_dir, name)
        if row["first_offset"] is not None
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    )


@pytest.mark.long(19)
@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("effects", "shown_by"),
    [("http = true", r"http"), ("output_topic = 'orders-done'", r"output-\d")],
)
def test_what_a_program_posts_or_writes_is_what_was_sent(
    tmp_path: Path, effects: str, shown_by: str
) -> None:
    run_dir = play(tmp_path, "baseline", POSTING, *SHORT, effects=effects)

    assert counted(run_dir, "sends") == counted(run_dir, "effects")
    found = rows(run_dir, "effects")
    assert all(re.fullmatch(shown_by, row["shown_by"]) for row in found)
    holders = {
        (row["program"], each["partition"])
        for row in rows(run_dir, "requests")
        if row["api"] == "SYNC_GROUP"
        for each in row["assigned"]
    }
    assert {(row["member"], row["partition"]) for row in found} <= holders
    judged = verdicts(run_dir)
    for rule in ("P1", "P10", "P12", "P13", "E02"):
        assert "HOLDS" == judged[rule], (rule, judged)


@pytest.mark.long(19)
@pytest.mark.usefixtures("broken")
def test_a_program_whose_lines_never_match_is_said_to_show_nothing(tmp_path: Path) -> None:
    shows = r"stdout = 'finished (?P<n>\d+)'"
    run_dir = play(tmp_path, "baseline", HONEST, *SHORT, effects=shows)

    with closing(DuckDb()) as engine:
        judged = {row["rule"]: row for row in check(run_dir, engine, keep=False).verdicts}
    assert ("UNKNOWN", "UNKNOWN") == (judged["P13"]["verdict"], judged["P10"]["verdict"])
    assert re.search(
        r"\d+ records were committed, and no line matched .* it printed: 'done id=\d+'",
        judged["P13"]["reason"],
    )


@pytest.mark.long(28)
def test_a_broken_program_is_found_out(broken: Future[Path]) -> None:
    judged = verdicts(broken.result())

    for rule in ("P1", "P2", "P6", "P7", "P10", "P14"):
        assert "VIOLATED" == judged.get(rule), (rule, judged)
