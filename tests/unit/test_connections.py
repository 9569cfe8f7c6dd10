"""A real Toxiproxy before a server that answers like a broker: connections end when they are to."""

from __future__ import annotations

import json
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base.ports import LOOPBACK, Ports
from harness.cluster import ping
from harness.cluster.plan import Node, draw_plan
from harness.cluster.proxies import Toxiproxy
from harness.experiment import Cluster
from harness.provision import toxiproxy

LANES = ("member-1", "member-2")


class Answering(socketserver.BaseRequestHandler):
    """Answers whatever it is sent with six bytes, as often as it is sent something."""

    def handle(self) -> None:
        while self.request.recv(1_000):
            self.request.sendall(b"\0\0\0\6abcdef")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True  # the port is held for us


@contextmanager
def answering(port: int) -> Iterator[None]:
    with Server((LOOPBACK, port), Answering) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            serving.join()


MINE = "broker-1.member-1"


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[Toxiproxy, Node]]:
    """The proxies of two lanes to one broker that answers."""
    with Ports() as ports:
        plan = draw_plan(Cluster(brokers=1), LANES, "run", ports)
        config = tmp_path / "proxies.json"
        config.write_text(json.dumps(plan.proxies()), encoding="utf-8")
        command = [str(toxiproxy.binary()), "-host", LOOPBACK, "-port", str(plan.toxiproxy_port)]
        (broker,) = plan.brokers
        first, second = broker.listeners
        with (
            answering(first.port),
            answering(second.port),
            (tmp_path / "log").open("wb") as log,
            subprocess.Popen([*command, "-config", str(config)], stdout=log, stderr=log) as server,
        ):
            try:
                proxies = Toxiproxy(plan.toxiproxy_port)
                names = plan.proxies_of(broker.id)
                proxies.await_up(names, lambda: server.poll() is None, lambda: "see the log")
                yield proxies, broker
            finally:
                server.kill()


def test_every_connection_of_the_lane_ends_and_a_new_one_is_answered(
    proxied: tuple[Toxiproxy, Node],
) -> None:
    proxies, broker = proxied
    mine, others = (ping.Witness(listener.proxy_port, timeout_s=5) for listener in broker.listeners)

    proxies.end_connections([MINE])

    assert mine.ended(timeout_s=5)
    assert not others.ended(timeout_s=0.1)
    assert "answered" == ping.ask(broker.listeners[0].proxy_port, timeout_s=5).outcome
    for witness in (mine, others):
        witness.close()


def test_the_proxies_of_a_dead_broker_go_on_refusing(proxied: tuple[Toxiproxy, Node]) -> None:
    proxies, broker = proxied
    mine = broker.listeners[0].proxy_port

    proxies.switch([MINE], on=False)
    proxies.end_connections([MINE])
    assert "refused" == ping.ask(mine, timeout_s=5).outcome

    proxies.switch([MINE], on=True)
    assert "answered" == ping.ask(mine, timeout_s=5).outcome
