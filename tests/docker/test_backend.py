"""The docker backend on a real engine: the same verdicts, nothing left, one sentence for trouble.

Left out, in one line, where no engine answers; an error under `python -m tests.machine run`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.cluster import containers, ping
from harness.cluster.docker import DockerCluster
from harness.cluster.plan import IN_CONTAINERS, draw_plan
from harness.experiment import Cluster
from harness.history import manifest
from harness.provision.tools import resolve_tools
from harness.trend import dataset
from tests.docker.conftest import killed_with_its_watchdog
from tests.verdicts import differing

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.docker, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 300


def harness(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LeftOf = Callable[[str], list[Any]]


@pytest.fixture
def left_of(docker_engine: docker.DockerClient) -> LeftOf:
    """Returns the containers and networks of a run, and the volumes made since the test began.

    Those that an image declares carry no label. A test that has a cluster asks for this before it.
    """

    def volumes() -> set[str]:
        return {each["Name"] for each in docker_engine.api.volumes()["Volumes"] or []}

    before = volumes()

    def left(run: str) -> list[Any]:
        wanted = {"label": f"{containers.RUN_LABEL}={run}"}
        return [
            *docker_engine.api.containers(all=True, filters=wanted),
            *docker_engine.api.networks(filters=wanted),
            *sorted(volumes() - before),
        ]

    return left


def latest(results: Path, name: str) -> Path:
    return (results / name / "latest").resolve()


@pytest.mark.long(45)
@pytest.mark.parametrize(
    ("name", "security"), [("coordinator-kill", "sasl_ssl"), ("split-brain-attempt", "plaintext")]
)
def test_an_experiment_gives_the_verdicts_that_are_expected_of_it(
    tmp_path: Path, left_of: LeftOf, name: str, security: str
) -> None:
    options = ("--backend", "docker", "--security", security, "--results", str(tmp_path))
    run = harness("experiment", name, *options)
    out, said = run.communicate(timeout=LONGEST_S)
    run_dir = latest(tmp_path, name)

    assert [] == differing(run_dir), out + said
    declared = manifest.read(run_dir)["declared"]["cluster"]
    assert ("docker", security) == (declared["backend"], declared["security"])
    assert 1 == len(list((tmp_path / dataset.FOLDER).rglob(f"run={run_dir.name}/*.parquet")))
    assert [] == left_of(run_dir.name)
    for node in ("broker-1", "broker-2", "broker-3", "controller-101"):
        assert (run_dir / "logs" / f"{node}.server.log").stat().st_size > 0


@pytest.mark.long(17)
def test_nothing_is_left_of_a_harness_that_is_killed_in_a_fault(
    tmp_path: Path, left_of: LeftOf
) -> None:
    journal = tmp_path / "coordinator-pause" / "latest" / "journals" / "faults.journal"
    with harness(
        "run", "coordinator-pause", "--backend", "docker", "--results", str(tmp_path)
    ) as run:
        try:
            wait_until(
                "fault",
                lambda: journal.exists() and b'"injected"' in journal.read_bytes(),
                timeout_s=LONGEST_S,
            )
        finally:
            run.kill()
    name = latest(tmp_path, "coordinator-pause").name
    wait_until(
        "end of all containers and networks",
        lambda: not left_of(name),
        timeout_s=60,
        saw=lambda: json.dumps(left_of(name))[:1_000],
    )


RUNNING = {"label": containers.RUN_LABEL, "status": "running"}


def await_cluster(docker_engine: docker.DockerClient) -> None:
    wait_until(
        "four nodes, who keeps their networks, and Toxiproxy",
        lambda: len(docker_engine.api.containers(filters=RUNNING)) == 9,
        timeout_s=LONGEST_S,
    )


def clean(results: Path) -> str:
    """What `clean` said."""
    cleaning = harness("clean", "--results", str(results))
    _, said = cleaning.communicate(timeout=LONGEST_S)
    assert 0 == cleaning.returncode, said
    return said


def test_clean_removes_what_a_killed_harness_and_its_watchdog_left_and_no_living_run(
    tmp_path: Path, docker_engine: docker.DockerClient, left_of: LeftOf
) -> None:
    arguments = ("run", "baseline", "--backend", "docker", "--results", str(tmp_path))
    with killed_with_its_watchdog(*arguments):
        await_cluster(docker_engine)
        run_dir = latest(tmp_path, "baseline")
        assert run_dir.name not in clean(tmp_path)
        assert 9 == len(docker_engine.api.containers(filters=RUNNING))
        assert (run_dir / "scratch").exists()
    assert 9 <= len(left_of(run_dir.name))

    assert f"9 containers that run {run_dir.name} left behind" in clean(tmp_path)
    assert [] == left_of(run_dir.name)
    assert not (run_dir / "scratch").exists()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"DOCKER_HOST": "unix:///nowhere/docker.sock"}, "no Docker engine answers"),
        ({"KAFKA_IMAGE": "kafka-chaos-test/none:0"}, "is not here and cannot be pulled"),
        ({"KAFKA_IMAGE": containers.toxiproxy_image()}, "executable file not found"),
        ({"KAFKA_IMAGE": "Kafka:4"}, "is not here and cannot be pulled"),
    ],
)
def test_trouble_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, left_of: LeftOf, environment: dict[str, str], said: str
) -> None:
    run = harness(
        "run", "baseline", "--backend", "docker", "--results", str(tmp_path), **environment
    )
    _, errors = run.communicate(timeout=LONGEST_S)

    assert 3 == run.returncode
    assert said in errors
    assert "Traceback" not in errors
    assert [] == left_of(latest(tmp_path, "baseline").name)


def test_ports_are_published_on_loopback_alone(
    tmp_path: Path, docker_engine: docker.DockerClient, left_of: LeftOf
) -> None:
    run = harness("run", "baseline", "--backend", "docker", "--results", str(tmp_path))
    try:
        await_cluster(docker_engine)
        found = docker_engine.containers.list(filters=RUNNING)
        addresses: set[str] = set()
        for container in found:
            host = container.attrs["HostConfig"]
            bound = [each for ports in (host["PortBindings"] or {}).values() for each in ports]
            addresses |= {each["HostIp"] for each in bound}
            assert not host["Privileged"]
            assert host["Memory"] > 0
            assert not [each for each in host["Binds"] if "docker.sock" in each]
        assert {"127.0.0.1"} == addresses
    finally:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=LONGEST_S)
    assert 2 == run.returncode
    assert [] == left_of(latest(tmp_path, "baseline").name)


@contextmanager
def started(folder: Path, run: str) -> Iterator[DockerCluster]:
    """A cluster without a run around it."""
    tools = resolve_tools()
    image = containers.kafka_image(tools.kafka_version)
    for part in ("scratch", "logs"):
        (folder / part).mkdir()
    with Ports() as ports:
        plan = draw_plan(Cluster(), ("members",), f"{run}-{os.getpid()}", ports, IN_CONTAINERS)
        made = DockerCluster(plan, tools, folder / "scratch", folder / "logs", image)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """A cluster that each test leaves as it was."""
    with started(tmp_path_factory.mktemp("healed"), "healed") as cluster:
        yield cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DockerCluster]:
    """A cluster that a test may spoil."""
    with started(tmp_path, "spoilt") as cluster:
        yield cluster


def asked_within(
    docker_engine: docker.DockerClient, run: str, node: str, host: str, port: int
) -> int:
    """The exit code of a connection made in a node's container: 1 refused, 124 no answer."""
    attempt = ["timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{host}/{port}"]
    code = docker_engine.containers.get(f"kafka-chaos-{run}-{node}").exec_run(attempt).exit_code
    return int(code)


def test_a_killed_broker_refuses_at_once_and_comes_back_where_it_was(
    docker_engine: docker.DockerClient, healed: DockerCluster
) -> None:
    plan = healed.plan
    run, victim = plan.run, plan.node(2)
    host = plan.hosts.of(victim.name, "peers")

    def from_another() -> int:
        return asked_within(docker_engine, run, "broker-1", host, victim.peer_port)

    assert 0 == from_another()
    healed.pause(2)
    healed.kill(2)
    assert 1 == from_another()
    assert not healed.running(2)
    assert [] == healed.unplanned_ends()
    healed.restart(2)
    healed.await_serving(2)
    wait_until("its peers' way to it", lambda: from_another() == 0, timeout_s=30)


@pytest.mark.parametrize("network", ["peers", "lanes"])
def test_a_broker_comes_back_to_the_network_that_it_was_taken_off(
    healed: DockerCluster, network: str
) -> None:
    node, host = healed.plan.node(2), healed.plan.hosts.of("broker-2", "peers")
    proxy = node.listeners[0].proxy_port

    def there() -> tuple[bool, bool]:
        through = ping.ask(proxy, timeout_s=2).outcome == "answered"
        return healed.reaches(1, host, node.peer_port), through

    wait_until("broker-2 on both networks", lambda: there() == (True, True), timeout_s=30)
    healed.disconnect(2, network)
    assert there() == (network != "peers", network != "lanes")
    healed.reconnect(2, network)
    wait_until("broker-2 on both networks again", lambda: there() == (True, True), timeout_s=30)


def test_the_one_that_else_cleans_up_at_the_same_time_is_no_trouble(
    docker_engine: docker.DockerClient, left_of: LeftOf, cluster: DockerCluster
) -> None:
    with ThreadPoolExecutor() as cleaners:
        run = cluster.plan.run
        removed = list(cleaners.map(lambda _: containers.remove_run(docker_engine, run), range(3)))

    assert 9 == max(removed)
    assert [] == left_of(run)


def test_a_container_that_ends_by_itself_is_reported_with_its_last_words(
    docker_engine: docker.DockerClient, cluster: DockerCluster
) -> None:
    name = f"kafka-chaos-{cluster.plan.run}-broker-3"
    docker_engine.containers.get(name).kill()
    wait_until("end of broker-3", cluster.unplanned_ends, timeout_s=30)
    (heard,) = cluster.unplanned_ends()
    assert heard.startswith("broker-3 (exited: exit code 137: ")
    docker_engine.containers.get(name).remove()
    assert ["broker-3 (gone: its container was removed)"] == cluster.unplanned_ends()
