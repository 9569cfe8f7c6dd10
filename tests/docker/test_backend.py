"""The docker backend on a real engine: the same verdicts, nothing left, one sentence for trouble.

Left out, in one line, where no engine answers; an error under `python -m tests.machine run`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pyarrow.parquet as pq
import pytest

from harness import manifest
from harness.cluster import containers
from harness.wait import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.docker, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 300


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    client = containers.connect()
    yield client
    client.close()


def harness(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_of(engine: docker.DockerClient, run: str) -> list[Any]:
    """Containers, networks and volumes of a run."""
    wanted = {"label": f"{containers.RUN_LABEL}={run}"}
    return [
        *engine.api.containers(all=True, filters=wanted),
        *engine.api.networks(filters=wanted),
        *(engine.api.volumes(filters=wanted)["Volumes"] or []),
    ]


def latest(results: Path, name: str) -> Path:
    return (results / name / "latest").resolve()


@pytest.mark.parametrize("name", ["coordinator-kill", "split-brain-attempt"])
def test_an_experiment_gives_the_verdicts_that_are_expected_of_it(
    tmp_path: Path, engine: docker.DockerClient, name: str
) -> None:
    run = harness("experiment", name, "--backend", "docker", "--results", str(tmp_path))
    out, said = run.communicate(timeout=LONGEST_S)
    run_dir = latest(tmp_path, name)
    verdicts = pq.read_table(run_dir / "verdicts.parquet").to_pylist()
    differing = [
        row["rule"]
        for row in verdicts
        if row["verdict"] != row["expected"] and "stood still" not in row["reason"]
    ]

    assert [] == differing, out + said
    assert "docker" == manifest.read(run_dir)["declared"]["cluster"]["backend"]
    assert [] == left_of(engine, run_dir.name)
    for node in ("broker-1", "broker-2", "broker-3", "controller-101"):
        assert (run_dir / "logs" / f"{node}.server.log").stat().st_size > 0


def test_nothing_is_left_of_a_harness_that_is_killed_in_a_fault(
    tmp_path: Path, engine: docker.DockerClient
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
        lambda: not left_of(engine, name),
        timeout_s=60,
        saw=lambda: json.dumps(left_of(engine, name))[:1_000],
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"DOCKER_HOST": "unix:///nowhere/docker.sock"}, "no Docker engine answers"),
        ({"KAFKA_IMAGE": "kafka-chaos-test/none:0"}, "is not here and cannot be pulled"),
        ({"KAFKA_IMAGE": containers.toxiproxy_image()}, '"java": executable file not found'),
    ],
)
def test_trouble_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, engine: docker.DockerClient, environment: dict[str, str], said: str
) -> None:
    run = harness(
        "run", "baseline", "--backend", "docker", "--results", str(tmp_path), **environment
    )
    _, errors = run.communicate(timeout=LONGEST_S)

    assert 3 == run.returncode
    assert said in errors
    assert "Traceback" not in errors
    assert [] == left_of(engine, latest(tmp_path, "baseline").name)


def test_ports_are_published_on_loopback_alone(tmp_path: Path, engine: docker.DockerClient) -> None:
    run = harness("run", "baseline", "--backend", "docker", "--results", str(tmp_path))
    try:
        wanted = {"label": containers.RUN_LABEL, "status": "running"}
        wait_until(
            "four nodes, who keeps their networks, and Toxiproxy",
            lambda: len(engine.api.containers(filters=wanted)) == 9,
            timeout_s=LONGEST_S,
        )
        found = engine.containers.list(filters=wanted)
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
    assert [] == left_of(engine, latest(tmp_path, "baseline").name)
