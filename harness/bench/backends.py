"""What brokers in containers cost over processes: start, stop, a request, a whole experiment."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.base.ports import Ports
from harness.bench.experiments import play
from harness.bench.measure import Figure, in_turn, median, ratio
from harness.cluster import containers, ping
from harness.cluster.backends import backend_of
from harness.experiment import Cluster
from harness.provision.tools import Tools

_REQUESTS: Final = 200


def bench(tools: Tools, rounds: int) -> list[Figure]:
    """Wall times of both backends in turn; nothing where no engine answers, and a line says so."""
    try:
        containers.connect().close()
    except SetupError as error:
        sys.stderr.write(f"left out: {error}\n")
        return []
    starts: dict[str, list[float]] = {"docker": [], "embedded": []}
    stops: dict[str, list[float]] = {"docker": [], "embedded": []}

    def request(name: str) -> float:
        start_s, request_ms, stop_s = _measure(tools, name)
        starts[name].append(start_s)
        stops[name].append(stop_s)
        return request_ms

    requests = in_turn(
        rounds, docker=lambda: request("docker"), embedded=lambda: request("embedded")
    )
    runs = in_turn(rounds, docker=lambda: _run("docker"), embedded=lambda: _run("embedded"))
    return [
        figure
        for what, measured, unit in (
            ("start", starts, "s"),
            ("stop", stops, "s"),
            ("request through a proxy, over a new connection", requests, "ms"),
            ("experiment baseline", runs, "s"),
        )
        for figure in (
            Figure("backends", f"{what}, docker : embedded", _ratio(measured), "×", rounds),
            Figure("backends", f"{what}, docker", median(measured["docker"]), unit, rounds),
            Figure("backends", f"{what}, embedded", median(measured["embedded"]), unit, rounds),
        )
    ]


def _ratio(measured: dict[str, list[float]]) -> float:
    return ratio(measured, "docker", "embedded")


def _run(name: str) -> float:
    """Seconds of an experiment in which nothing happens."""
    with tempfile.TemporaryDirectory() as folder:
        return play("baseline", name, Path(folder))[0]


def _measure(tools: Tools, name: str) -> tuple[float, float, float]:
    """Seconds to start, milliseconds of the median request, seconds to stop."""
    backend = backend_of(name)
    with tempfile.TemporaryDirectory() as folder, Ports() as ports:
        logs = Path(folder) / "logs"
        logs.mkdir()
        run = f"bench-{Path(folder).name}"
        plan = backend.plan(Cluster(), ("members", "producers"), run, ports)
        cluster = backend.make(plan, tools, Path(folder), logs)
        began = time.monotonic()
        try:
            cluster.start()
            start_s = time.monotonic() - began
            proxied = plan.brokers[0].listeners[0].proxy_port
            request_ms = median([ping.ask(proxied, timeout_s=5).ms for _ in range(_REQUESTS)])
        finally:
            began = time.monotonic()
            cluster.stop()
        return start_s, request_ms, time.monotonic() - began
