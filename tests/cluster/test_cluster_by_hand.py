"""A cluster by hand, as a person has it: brought up, a consumer of one's own on it, broken, ended.

Method: the commands are run as they are typed, and the consumer knows nothing but the bootstrap
address that `up` prints.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from harness.base import processes
from harness.base.errors import Exit
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.history import manifest
from tests.free_ports import in_a_row

pytestmark = pytest.mark.cluster

PATIENCE_S = 60
PORTS = 20  # of three brokers
# Faults by their kinds: the words that ask for one, and the end of what is told of it. One that
# does not take effect, by its own probes, is an error. No run has to inject them.
FAULTS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "stop-broker": (("coordinator", "--group", "billing", "--for", "2s"), ": healed"),
    "latency": (("members", "--for", "2s"), "latency of members: healed"),
    "bandwidth": (("members", "--for", "2s"), "bandwidth of members: healed"),
    "connections-reset": (("members",), "an idle connection ended, a new one answered"),
}


def command(*words: str, results: Path) -> list[str]:
    return [sys.executable, "-m", "harness", *words, "--results", str(results)]


def run(*words: str, results: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words, results=results),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


class Up:
    """An `up` in the background."""

    def __init__(self, results: Path, *options: str) -> None:
        results.mkdir(exist_ok=True)
        self.results = results
        self._out, self._err = results / "stdout", results / "stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command("up", *options, results=results), stdout=out, stderr=err
            )

    def said(self) -> str:
        return self._out.read_text() + self._err.read_text()

    def bootstrap(self) -> str:
        """The address that it prints, once it is up."""

        def printed() -> list[str]:
            assert self.process.poll() is None, self.said()
            words = self._out.read_text().split()
            return words[1:2] if "fault" in words else []

        return wait_until("bootstrap address", printed, timeout_s=PATIENCE_S, saw=self.said)[0]

    @property
    def folder(self) -> Path:
        return (self.results / "by-hand" / "latest").resolve()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Brings clusters up on ports of the test's own, and ends what it leaves."""
    started: list[Up] = []

    def bring(*options: str) -> Up:
        started.append(Up(tmp_path / "results", "--port-base", str(in_a_row(PORTS)), *options))
        return started[-1]

    yield bring
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def assert_nothing_left(folder: Path) -> None:
    wait_until(
        "end of every process",
        lambda: not processes.marked(folder.name),
        timeout_s=PATIENCE_S,
        saw=lambda: str([each.cmdline()[:4] for each, _, _ in processes.marked(folder.name)]),
    )
    assert not (folder / "scratch").exists()


@pytest.mark.long(40)
def test_a_group_of_ones_own_comes_back_from_whatever_is_broken(up: Callable[..., Up]) -> None:
    cluster = up("--topic", "orders:3")
    bootstrap = cluster.bootstrap()
    producer = Producer({"bootstrap.servers": bootstrap})
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "billing",
        "client.id": "billing-1",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe(["orders"])

        def works() -> bool:
            """Whether a record comes through, and its position is committed."""
            producer.produce("orders", b"an order")
            producer.poll(0)
            message = consumer.poll(0.5)
            if message is None or message.error() is not None:
                return False
            try:
                return bool(consumer.commit(message=message, asynchronous=False))
            except KafkaException:
                return False

        wait_until("work", works, timeout_s=PATIENCE_S, saw=cluster.said)
        wait_until(
            "the group in a line",
            lambda: "billing: Stable, 1 member, broker-" in cluster.said(),
            timeout_s=PATIENCE_S,
            saw=cluster.said,
        )
        words = ("fault", "kill-broker", "coordinator", "--for", "4s", "--group", "billing")
        with subprocess.Popen(
            command(*words, results=cluster.results),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as breaking:
            assert breaking.stdout is not None
            broken = breaking.stdout.readline()
            proof = breaking.stdout.readline()
            assert "the coordinator of billing, for 4 s" in broken
            assert "refused" in proof
            victim = broken.split()[2].rstrip(",")
            wait_until("work after it", works, timeout_s=PATIENCE_S, saw=cluster.said)
            assert f"kill-broker of {victim}: healed\n" == breaking.stdout.readline()
            assert Exit.AS_EXPECTED == breaking.wait(PATIENCE_S)
        wait_until("work with all of them", works, timeout_s=PATIENCE_S, saw=cluster.said)
        wait_until(
            "word of the broker that is back",
            lambda: f"{victim} answers again" in cluster.said(),
            timeout_s=PATIENCE_S,
            saw=cluster.said,
        )
        assert "billing: rebalance, Adding new member billing-1" in cluster.said()

        for kind, (asked, last) in FAULTS.items():
            done = run("fault", kind, *asked, results=cluster.results)
            assert Exit.AS_EXPECTED == done.returncode, done.stderr
            assert last in done.stdout.splitlines()[-1]
            wait_until(f"work after {kind}", works, timeout_s=PATIENCE_S, saw=cluster.said)

    second = run("up", results=cluster.results)
    assert Exit.FAILED == second.returncode
    assert f"a cluster is up already, in {cluster.folder}" in second.stderr
    ended = run("down", results=cluster.results)

    assert Exit.AS_EXPECTED == ended.returncode, ended.stderr
    assert Exit.AS_EXPECTED == cluster.process.wait(PATIENCE_S), cluster.said()
    assert_nothing_left(cluster.folder)
    assert "by hand" == manifest.read(cluster.folder)["status"]
    assert Exit.NO_DATA == run("down", results=cluster.results).returncode
    logs = sorted(map(str, (cluster.folder / "logs").glob("broker-*.log")))
    explained = run("explain", *logs, "--timezone", "UTC", results=cluster.results)
    assert Exit.AS_EXPECTED == explained.returncode, explained.stderr
    assert "billing" in explained.stdout
    assert "explain" in cluster.said()


def test_an_up_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """It goes on alone, as a person has it who wants the terminal back; and it is secured."""
    options = ("--detach", "--brokers", "1", "--port-base", str(in_a_row(PORTS)))
    begun = run("up", *options, "--security", "sasl_ssl", results=tmp_path)
    assert Exit.AS_EXPECTED == begun.returncode, begun.stderr
    assert "bootstrap  127.0.0.1:" in begun.stdout
    assert "secured    settings of clients are in " in begun.stdout
    folder = (tmp_path / "by-hand" / "latest").resolve()
    bootstrap, producers, direct = re.findall(r"(127\.0\.0\.1:\d+)(?: |$)", begun.stdout, re.M)
    for name, address in (("members", bootstrap), ("producers", producers), ("harness", direct)):
        proven = _of_librdkafka(folder / "scratch" / "secured" / f"{name}.properties")
        admin = AdminClient({"bootstrap.servers": address, **proven})
        assert "t" in admin.list_topics(timeout=PATIENCE_S).topics
    pid = int((folder / "owner").read_text().partition(":")[0])
    assert pid == os.getsid(pid)
    assert 4 <= len(processes.marked(folder.name))
    os.kill(pid, signal.SIGKILL)

    assert_nothing_left(folder)
    wait_until(
        "the watchdog's word",
        lambda: "interrupted" == manifest.read(folder)["status"],
        timeout_s=PATIENCE_S,
    )


def _of_librdkafka(file: Path) -> dict[str, str]:
    """The settings of a file for Kafka's own tools, in the words of librdkafka."""
    given = dict(line.split("=", 1) for line in file.read_text().splitlines())
    told = {
        "security.protocol": given["security.protocol"],
        "ssl.ca.location": given["ssl.truststore.location"],
    }
    if "sasl.jaas.config" in given:
        (user, password) = re.findall(r'(?:username|password)="([^"]*)"', given["sasl.jaas.config"])
        login = {"sasl.username": user, "sasl.password": password}
        return {**told, "sasl.mechanism": given["sasl.mechanism"], **login}
    keys = ("ssl.certificate.location", "ssl.key.location")
    return {**told, **dict.fromkeys(keys, given["ssl.keystore.location"])}


def test_a_taken_port_is_a_sentence_and_nothing_is_begun(tmp_path: Path) -> None:
    base = in_a_row(PORTS)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a cluster may have had it
        taken.bind((LOOPBACK, base + 4))
        taken.listen()
        refused = run("up", "--detach", "--port-base", str(base), results=tmp_path)

    assert Exit.FAILED == refused.returncode
    assert "" == refused.stdout
    assert f"port {base + 4} on {LOOPBACK} is taken" in refused.stderr
    assert "choose others by --port-base" in refused.stderr
    assert [] == [*tmp_path.iterdir()]
