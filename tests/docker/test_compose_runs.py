"""docker-compose.yml: brought up for real, as a person would, and an experiment played on it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from harness.base.wait import wait_until
from harness.cluster import compose, containers, ping
from harness.cluster.docker import NODE_MEMORY, TOXIPROXY_MEMORY
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment import Cluster
from harness.provision import java
from tests.docker.conftest import in_background, killed_with_its_watchdog
from tests.verdicts import differing

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.docker, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 300
PLAN = compose.plan_of(Cluster(), compose.LANES, "by-hand")


def said(*command: str) -> subprocess.CompletedProcess[str]:
    """What a command said and how it ended."""
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )


def composed(*arguments: str) -> str:
    """What `docker compose` said; its failure is the test's."""
    done = said("docker", "compose", *arguments)
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cluster() -> Iterator[docker.DockerClient]:
    """The cluster, up; taken away afterwards as docs/cluster-by-hand.md says, and all of it."""
    engine = containers.connect()
    before = volumes(engine)
    composed("up", "--wait", "--quiet-pull")
    try:
        for node in PLAN.brokers:
            wait_until(
                f"answer of {node.name} through its proxy",
                lambda node=node: (  # type: ignore[misc]
                    "answered" == ping.ask(node.listeners[0].proxy_port, timeout_s=2).outcome
                ),
                timeout_s=LONGEST_S,
                saw=lambda node=node: composed("logs", "--tail", "5", node.name),  # type: ignore[misc]
            )
        yield engine
    finally:
        composed("down", "--volumes", "--timeout", "0")
        after = volumes(engine)
        engine.close()
    assert set() == after - before


def volumes(engine: docker.DockerClient) -> set[str]:
    """Those that an image declares carry no label, and so all of them."""
    return {str(each["Name"]) for each in engine.api.volumes()["Volumes"] or []}


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    return said(sys.executable, "-m", "harness", *arguments, "--backend", "compose")


def test_the_file_is_the_cluster_that_experiments_run_on() -> None:
    heard = json.loads(composed("config", "--format", "json"))
    services: dict[str, Any] = heard["services"]

    assert {"toxiproxy", *(node.name for node in PLAN.nodes)} == set(services)
    assert PLAN.proxies() == sorted(
        json.loads(heard["configs"]["toxiproxy"]["content"]),
        key=lambda proxy: [each["name"] for each in PLAN.proxies()].index(proxy["name"]),
    )
    for node in PLAN.nodes:
        environment = services[node.name]["environment"]
        for name, value in PLAN.properties(node, Path("/tmp/kafka-chaos-data")).items():
            assert value == environment["KAFKA_" + name.upper().replace(".", "_")], name
        options = f"{environment['KAFKA_HEAP_OPTS']} {environment['KAFKA_JVM_PERFORMANCE_OPTS']}"
        assert set(java.BROKER_OPTIONS) == {*options.split(), "-XX:-UsePerfData"}
        assert NODE_MEMORY == f"{int(services[node.name]['mem_limit']) >> 20}m"
    assert TOXIPROXY_MEMORY == f"{int(services['toxiproxy']['mem_limit']) >> 20}m"
    for service in services.values():
        assert {"127.0.0.1"} == {port["host_ip"] for port in service["ports"]}
        assert ["ALL"] == service["cap_drop"]
        assert ["no-new-privileges:true"] == service["security_opt"]


@pytest.mark.long(40)
def test_an_experiment_on_it_is_as_expected_and_leaves_it_as_it_was(
    tmp_path: Path, cluster: docker.DockerClient
) -> None:
    run = harness("experiment", "consumer-crash", "--results", str(tmp_path))
    run_dir = (tmp_path / "consumer-crash" / "latest").resolve()

    assert [] == differing(run_dir), run.stdout + run.stderr
    assert 0 == compose.heal(cluster)
    admin = AdminClient({"bootstrap.servers": PLAN.direct()})
    assert TOPIC not in admin.list_topics(timeout=10).topics
    assert GROUP not in {
        group.group_id for group in admin.list_consumer_groups().result(timeout=10).valid
    }
    for node in PLAN.nodes:
        assert (run_dir / "logs" / f"{node.name}.server.log").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("group-apis",), "a lane of its own for probes"),
        (("coordinator-kill",), "broker.session.timeout.ms is 9000 and not 5000"),
    ],
)
def test_what_it_has_not_is_refused_in_one_sentence(
    tmp_path: Path, cluster: docker.DockerClient, arguments: tuple[str, ...], says: str
) -> None:
    run = harness("run", *arguments, "--results", str(tmp_path))

    assert run.returncode in (3, 4)
    assert says in run.stderr
    assert "Traceback" not in run.stderr
    assert 0 == compose.heal(cluster)


def test_topics_of_its_owner_are_not_taken(tmp_path: Path, cluster: docker.DockerClient) -> None:
    admin = AdminClient({"bootstrap.servers": PLAN.direct()})
    for made in admin.create_topics([NewTopic(TOPIC, 1, 3)], operation_timeout=20).values():
        made.result(timeout=30)
    try:
        run = harness("run", "baseline", "--results", str(tmp_path))

        assert 3 == run.returncode
        assert f"topic {TOPIC} on the cluster of docker-compose.yml has a name" in run.stderr
        assert TOPIC in admin.list_topics(timeout=10).topics
    finally:
        for gone in admin.delete_topics([TOPIC], operation_timeout=20).values():
            gone.result(timeout=30)


@pytest.mark.long(44)
def test_what_is_killed_with_its_watchdog_is_put_right_by_clean_once(
    tmp_path: Path, cluster: docker.DockerClient
) -> None:
    arguments = ("run", "broker-kill", "--backend", "compose", "--results", str(tmp_path))
    with killed_with_its_watchdog(*arguments):
        wait_until("killed broker", lambda: "exited" in states(cluster), timeout_s=LONGEST_S)

    assert "on docker-compose.yml" in clean(tmp_path)
    assert {"running"} == set(states(cluster))
    assert 0 == compose.heal(cluster)
    composed("kill", "broker-2")  # what is broken from then on, its owner broke
    assert "on docker-compose.yml" not in clean(tmp_path)
    refused = harness("run", "baseline", "--results", str(tmp_path))
    assert 3 == refused.returncode
    assert "broker-2 of docker-compose.yml is not running" in refused.stderr
    assert "exited" in states(cluster)
    composed("start", "broker-2")
    after = harness("run", "baseline", "--results", str(tmp_path))
    assert 0 == after.returncode, after.stderr


def test_an_interrupted_run_leaves_no_group_behind(
    tmp_path: Path, cluster: docker.DockerClient
) -> None:
    """Its members are killed, and their sessions go on for a while."""
    admin = AdminClient({"bootstrap.servers": PLAN.direct()})

    def groups() -> set[str]:
        found = admin.list_consumer_groups().result(timeout=10)
        return {str(group.group_id) for group in found.valid}

    arguments = ("run", "baseline", "--backend", "compose", "--results", str(tmp_path))
    with in_background(*arguments) as run:
        try:
            wait_until("members in the group", lambda: GROUP in groups(), timeout_s=LONGEST_S)
        finally:
            run.send_signal(signal.SIGINT)
        assert 2 == run.wait(LONGEST_S)

    assert GROUP not in groups()


def clean(results: Path) -> str:
    """What `clean` said."""
    done = said(sys.executable, "-m", "harness", "clean", "--results", str(results))
    assert 0 == done.returncode, done.stderr
    return done.stderr


def states(cluster: docker.DockerClient) -> list[str]:
    wanted = {"label": f"com.docker.compose.project={compose.PROJECT}"}
    return [str(each["State"]) for each in cluster.api.containers(all=True, filters=wanted)]


def test_without_it_the_sentence_says_how_to_bring_it_up(tmp_path: Path) -> None:
    composed("down", "--volumes", "--timeout", "0")
    run = harness("run", "baseline", "--results", str(tmp_path))

    assert 3 == run.returncode
    assert "docker compose up" in run.stderr
