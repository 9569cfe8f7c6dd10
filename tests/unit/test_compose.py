"""The compose backend on an engine that is none: whose a cluster is, and what a run leaves there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import NotFound

from harness.cluster import compose, containers
from harness.cluster.backends import backend_of
from harness.cluster.proxies import Proxies
from harness.errors import SetupError
from harness.experiment import Cluster

PLAN = compose.plan_of(Cluster(), compose.LANES, "run")


class Node:
    """A container of the compose project."""

    def __init__(self, service: str) -> None:
        self.id = f"id-of-{service}"
        self.labels = {"com.docker.compose.service": service}
        self.status = "running"

    def start(self) -> None:
        self.status = "running"

    def get_archive(self, _path: str) -> None:
        raise NotFound("it wrote no log")


class Engine:
    """An engine with the containers of docker-compose.yml, and none of its networks."""

    def __init__(self) -> None:
        self.nodes = {name: Node(name) for name in ("toxiproxy", *(n.name for n in PLAN.nodes))}
        self.containers = SimpleNamespace(list=lambda **_: list(self.nodes.values()))
        self.networks = SimpleNamespace(list=lambda **_: [])
        self.api = SimpleNamespace(
            containers=lambda **_: [
                {"Id": node.id, "State": node.status} for node in self.nodes.values()
            ]
        )

    def down(self) -> list[str]:
        return [name for name, node in self.nodes.items() if node.status != "running"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What a run is on that has killed broker-2, and was killed."""
    made = Engine()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    monkeypatch.setattr(Proxies, "clear", lambda _proxies: None)
    monkeypatch.setattr(containers, "connect", lambda: made)
    mark(" ".join(sorted(node.id for node in made.nodes.values())))
    made.nodes["broker-2"].status = "exited"
    return made


def mark(identity: str) -> None:
    with compose._alone() as lock:
        compose._mark(lock, identity)


def watchdog(_engine: Any) -> int:
    return backend_of("compose").remove("run")


def start(tmp_path: Path) -> str:
    """Why a start is refused."""
    cluster = compose.ComposeCluster(PLAN, tmp_path, "4.3.1")
    with pytest.raises(SetupError) as refused:
        cluster.start()
    cluster.stop()
    return str(refused.value)


@pytest.mark.parametrize("first", [compose.sweep, watchdog])
@pytest.mark.parametrize("second", [compose.sweep, watchdog])
def test_what_a_killed_run_broke_is_healed_once(engine: Any, first: Any, second: Any) -> None:
    assert 1 == first(engine)
    assert [] == engine.down()
    engine.nodes["broker-1"].status = "exited"  # by its owner
    assert 0 == second(engine)
    assert ["broker-1"] == engine.down()


@pytest.mark.parametrize("other", ["", "another cluster"])
@pytest.mark.parametrize("healer", [compose.sweep, watchdog])
def test_a_cluster_that_no_run_left_is_its_owners(engine: Any, healer: Any, other: str) -> None:
    mark(other)

    assert 0 == healer(engine)
    assert ["broker-2"] == engine.down()


@pytest.mark.parametrize("healer", [compose.sweep, watchdog])
def test_nothing_is_healed_under_a_run_that_goes_on(engine: Any, healer: Any) -> None:
    with compose._alone():
        assert 0 == healer(engine)
    assert ["broker-2"] == engine.down()


def test_a_start_heals_what_nobody_has_and_nothing_after_that(engine: Any, tmp_path: Path) -> None:
    engine.nodes["toxiproxy"].start = lambda: None  # so that both starts are refused
    engine.nodes["toxiproxy"].status = "exited"

    assert start(tmp_path).startswith("toxiproxy of docker-compose.yml is not running")
    engine.nodes["broker-1"].status = "exited"  # by its owner
    assert start(tmp_path).startswith("broker-1, toxiproxy of docker-compose.yml are not running")


def test_a_start_does_not_undo_what_its_owner_did_since_a_sweep(
    engine: Any, tmp_path: Path
) -> None:
    compose.sweep(engine)
    engine.nodes["broker-1"].status = "exited"

    assert start(tmp_path) == (
        "broker-1 of docker-compose.yml is not running: `docker compose up --wait` first"
    )
    assert ["broker-1"] == engine.down()
