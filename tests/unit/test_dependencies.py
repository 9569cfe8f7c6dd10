"""A real Toxiproxy before what a program uses: faults bite there, and prove that they do."""

from __future__ import annotations

import random
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.base.errors import BadInput, ClusterError
from harness.base.ports import LOOPBACK, Ports
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.catalogue.cover import Candidate
from harness.cluster.dependency_proxies import Dependencies, check_reachable, refused
from harness.experiment import Experiment, Fault
from harness.experiment.app import App, address_of
from harness.provision import toxiproxy
from harness.run.faults import KINDS
from harness.run.faults.kind import Evidence
from harness.run.faults.targets import resolve
from harness.run.scene import Scene
from harness.run.screen import Screen
from harness.run.start import Order, play_run
from harness.suite.director import new_repeat

LANES = ("members", "producers", "member-1", "member-2")


class Server(socketserver.ThreadingTCPServer):
    """A user's server: it sends back what it gets, and counts its clients."""

    def __init__(self) -> None:
        self.came = 0
        super().__init__((LOOPBACK, 0), Handler)

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.server_address[1]}"


class Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Server)
        self.server.came += 1
        while said := self.request.recv(100):
            self.request.sendall(said)


@dataclass
class Program:
    """A process that has a connection to one of its dependencies."""

    link: socket.socket

    def asks(self, timeout_s: float = 5.0) -> float | None:
        """How long an answer takes, in seconds; null without one."""
        self.link.settimeout(timeout_s)
        started = time.monotonic()
        try:
            self.link.sendall(b"?")
            return time.monotonic() - started if self.link.recv(1) else None
        except OSError:
            return None


class Given(Ports):
    """Ports that were another program's before, and one more for what is asked first."""

    def __init__(self, numbers: Iterable[int]) -> None:
        super().__init__()
        self._numbers = iter((super().take(), *numbers))

    def take(self) -> int:
        return next(self._numbers)


class Setting:
    """Two dependencies, the proxies of two processes before each, and what faults act on."""

    def __init__(self, stack: ExitStack, folder: Path, ports: Ports) -> None:
        self._stack = stack
        self.servers = {name: self._server() for name in ("DB", "CACHE")}
        self.app = app = App(
            name="orders",
            command=("x",),
            folder="/",
            dependencies={name: server.address for name, server in self.servers.items()},
        )
        self.dependencies = Dependencies(app.addresses, LANES, "no-run", ports)
        stack.callback(self.dependencies.toxiproxy.stop)
        self.dependencies.start(toxiproxy.binary(), folder, folder)
        lanes = {f"member-{number}": f"member-{number}" for number in (1, 2)}
        self.scene = SimpleNamespace(
            dependencies=self.dependencies,
            in_use={},
            fleet=SimpleNamespace(lane_of=lanes.__getitem__),
            wait=self._wait,
        )

    def _server(self) -> Server:
        server = self._stack.enter_context(Server())
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._stack.callback(server.shutdown)
        return server

    @staticmethod
    def _wait(what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        wait_until(what, condition, timeout_s=min(timeout_s, 0.3))

    def program(self, lane: str, dependency: str = "DB") -> Program:
        host, _, port = self.dependencies.places(lane)[dependency].partition(":")
        link = socket.create_connection((host, int(port)), timeout=5)
        self._stack.callback(link.close)
        program = Program(link)
        assert program.asks() is not None
        return program

    def inject(self, fault: Fault) -> Evidence:
        target = self.target(fault)
        KINDS[fault.kind].inject(cast("Scene", self.scene), fault, target)
        return KINDS[fault.kind].prove(cast("Scene", self.scene), fault, target)

    def heal(self, fault: Fault) -> None:
        KINDS[fault.kind].heal(cast("Scene", self.scene), fault, self.target(fault))

    def target(self, fault: Fault) -> Any:
        members = {
            name: SimpleNamespace(name=name, running=True) for name in ("member-1", "member-2")
        }
        scene = SimpleNamespace(
            experiment=SimpleNamespace(app=self.app),
            view=None,
            fleet=SimpleNamespace(members=members),
            random=random.Random(1),
        )
        return resolve(cast("Scene", scene), fault, on_link=False)


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    with ExitStack() as stack:
        yield Setting(stack, tmp_path, stack.enter_context(Ports()))


def slow(target: str) -> Fault:
    return Fault(kind="slow-dependency", target=target, latency_ms=300, lasts_s=3)


def cut(target: str, how: str | None = None) -> Fault:
    return Fault(kind="cut-dependency", target=target, how=how, lasts_s=3)


def test_each_process_is_given_a_proxy_of_its_own(setting: Setting) -> None:
    first, second = (setting.dependencies.places(lane) for lane in ("member-1", "member-2"))

    assert {"DB", "DB.host", "DB.port", "CACHE", "CACHE.host", "CACHE.port"} == set(first)
    assert first["DB"] == f"{first['DB.host']}:{first['DB.port']}"
    addresses = {places[name] for places in (first, second) for name in ("DB", "CACHE")}
    assert 4 == len(addresses)
    assert not addresses & {server.address for server in setting.servers.values()}
    assert {"DB", "CACHE"} <= set(setting.dependencies.places("member-2"))


def test_a_slow_dependency_answers_every_process_late_until_it_is_healed(setting: Setting) -> None:
    programs = [setting.program("member-1"), setting.program("member-2")]
    other = setting.program("member-1", "CACHE")

    evidence = setting.inject(slow("dependency DB"))

    assert evidence.took_effect, evidence.text
    assert "2 proxies have the toxics" in evidence.text
    assert "used: DB by member-1, DB by member-2" in evidence.text
    late_s = [program.asks() or 0 for program in programs]
    assert min(late_s) >= 0.27
    assert 0 < (other.asks() or 0) < 0.27

    setting.heal(slow("dependency DB"))
    assert not any(
        setting.dependencies.toxiproxy.toxics(x.proxy) for x in setting.dependencies.links
    )


def test_one_echo_that_a_stall_makes_longer_does_not_hide_a_slow_dependency(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.program("member-1")
    took = iter([304.0, 71.0, 2.0, 3.0])
    monkeypatch.setattr(setting.dependencies, "echo_ms", lambda *_: next(took))

    evidence = setting.inject(slow("dependency DB"))

    assert evidence.took_effect, evidence.text
    assert "took 304 ms, without them 2 ms" in evidence.text


def test_the_only_dependency_is_on_record_by_its_name(setting: Setting) -> None:
    assert "dependency" == setting.target(cut("dependency")).name

    setting.app = replace(setting.app, dependencies={"DB": "db:1"})

    assert "dependency DB" == setting.target(cut("dependency")).name


def test_what_the_harness_asks_it_asks_a_server_of_its_own(setting: Setting) -> None:
    setting.program("member-1")
    came = setting.servers["DB"].came

    for fault in (slow("dependency DB"), cut("dependency DB"), cut("dependency DB", "refused")):
        assert setting.inject(fault).took_effect
        setting.heal(fault)

    assert came == setting.servers["DB"].came


def test_one_process_alone_is_cut_off_from_all_that_it_uses(setting: Setting) -> None:
    mine, others = setting.program("member-1"), setting.program("member-2")
    cache = setting.program("member-1", "CACHE")

    evidence = setting.inject(cut("member 1"))

    assert evidence.took_effect, evidence.text
    assert "took no answer, without them" in evidence.text
    assert mine.asks(0.3) is None
    assert cache.asks(0.3) is None
    assert others.asks() is not None

    setting.heal(cut("member 1"))
    assert setting.program("member-1").asks() is not None


def test_refused_ends_connections_and_takes_no_new_ones(setting: Setting) -> None:
    program = setting.program("member-1")

    evidence = setting.inject(cut("dependency", "refused"))

    assert evidence.took_effect, evidence.text
    assert "new connections through 4 proxies are refused" in evidence.text
    assert program.asks() is None
    assert all(map(refused, setting.dependencies.links))

    setting.heal(cut("dependency", "refused"))
    assert setting.program("member-1").asks() is not None


def test_a_fault_on_what_no_one_uses_took_no_effect(setting: Setting) -> None:
    setting.program("member-1", "CACHE")

    evidence = setting.inject(cut("dependency DB"))

    assert not evidence.took_effect
    assert "no process had a connection through DB within 5 s" in evidence.text


def test_a_connection_of_a_moment_ago_is_a_use(setting: Setting) -> None:
    """Many programs have a connection for each request."""
    setting.program("member-1").link.close()

    assert setting.inject(slow("dependency DB")).took_effect


def test_what_used_the_port_before_the_proxy_is_no_use(tmp_path: Path) -> None:
    """The kernel may hand out a port at once whose connections it still lists."""
    with ExitStack() as stack:
        first = Setting(stack, tmp_path, stack.enter_context(Ports()))
        first.program("member-1").link.close()
        links = first.dependencies.links
        assert first.dependencies.connected(links)
        first.dependencies.toxiproxy.stop()

        given = stack.enter_context(Given(link.port for link in links))
        second = Setting(stack, tmp_path, given)

        assert [] == second.dependencies.connected(links)
        second.program("member-1")
        assert [links[0]] == second.dependencies.connected(links)


def test_the_same_port_of_another_address_is_no_use(setting: Setting) -> None:
    port = setting.dependencies.links[0].port
    with (
        socket.create_server(("127.0.0.2", port)) as other,
        socket.create_connection(other.getsockname(), timeout=5),
    ):
        assert [] == setting.dependencies.connected(setting.dependencies.links)


def test_toxics_that_are_lost_are_an_error(setting: Setting) -> None:
    setting.dependencies.toxiproxy.stop()

    assert (
        "Toxiproxy before the dependencies (exit code -9)" in setting.dependencies.unplanned_ends()
    )
    setting.scene.in_use["dependency"] = []
    with pytest.raises(ClusterError, match="Toxiproxy refused"):
        setting.inject(cut("dependency"))


def test_where_no_one_listens_is_said_before_anything_starts(tmp_path: Path) -> None:
    def using(address: str) -> Experiment:
        app = App(name="orders", command=("x",), folder="/", dependencies={"DB": address})
        return with_app(registry.load("slow-dependency"), app)

    with Server() as server:
        check_reachable([using(server.address), registry.load("baseline")])
    with Ports() as ports:
        experiment = using(f"{LOOPBACK}:{ports.take()}")
        candidate = Candidate.of("slow-dependency", experiment)
        for starts in (
            lambda: play_run(Order("x", experiment, tmp_path, seed=1), Screen()),
            lambda: new_repeat(tmp_path, candidate, 2),
        ):
            with pytest.raises(BadInput, match=r"^nothing listens at .* is \[dependency\] DB of"):
                starts()

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["", "db", ":1", "db:", "db:x", "::1:5432", "h:1/x", "u@h:1", "h:1 "]
)
def test_an_address_is_a_host_and_a_port(text: str) -> None:
    for right in ("127.0.0.1:5432", "db.example:1", "localhost:65535", "[::1]:5432"):
        assert right == str(address_of("DB", right))
    with pytest.raises(BadInput, match=re.escape(f"[dependency] DB is {text!r}, which is no")):
        address_of("DB", text)
