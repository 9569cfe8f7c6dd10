"""The compose backend without an engine: whose a cluster is, and what a run leaves there."""

from __future__ import annotations

import re
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from docker.errors import NotFound

from harness.base.errors import ClusterError, SetupError, WaitTimeout
from harness.cluster import compose, containers
from harness.cluster.backends import backend_of
from harness.cluster.proxies import Toxiproxy
from harness.experiment import Cluster
from harness.provision import kafka

ROOT = Path(__file__).resolve().parents[2]
PLAN = compose.plan_of(Cluster(), compose.LANES, "run")


def test_the_file_has_the_images_that_a_run_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests on an engine name others."""
    for variable in ("KAFKA_IMAGE", "TOXIPROXY_IMAGE"):
        monkeypatch.delenv(variable, raising=False)
    text = (ROOT / "docker-compose.yml").read_text()

    assert re.findall(r"image: \$\{(\w+):-(.*)\}", text) == [
        ("KAFKA_IMAGE", containers.kafka_image(kafka.DEFAULT_VERSION)),
        ("TOXIPROXY_IMAGE", containers.toxiproxy_image()),
    ]
    named, _, digest = containers.toxiproxy_image().partition("@")
    assert digest
    assert named in (ROOT / "docs" / "containers.md").read_text()


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
def docker_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What a run is on that has killed broker-2, and was killed."""
    made = Engine()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    monkeypatch.setattr(Toxiproxy, "clear", lambda _proxies: None)
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
def test_what_a_killed_run_broke_is_healed_once(
    docker_engine: Any, first: Any, second: Any
) -> None:
    with compose._alone():  # a run goes on
        assert 0 == first(docker_engine)
    assert ["broker-2"] == docker_engine.down()

    assert 1 == first(docker_engine)
    assert [] == docker_engine.down()
    docker_engine.nodes["broker-1"].status = "exited"  # by its owner
    assert 0 == second(docker_engine)
    assert ["broker-1"] == docker_engine.down()


@pytest.mark.parametrize("other", ["", "another cluster"])
@pytest.mark.parametrize("healer", [compose.sweep, watchdog])
def test_a_cluster_that_no_run_left_is_its_owners(
    docker_engine: Any, healer: Any, other: str
) -> None:
    mark(other)

    assert 0 == healer(docker_engine)
    assert ["broker-2"] == docker_engine.down()


def test_a_start_heals_what_no_one_has_and_nothing_after_that(
    docker_engine: Any, tmp_path: Path
) -> None:
    docker_engine.nodes["toxiproxy"].start = lambda: None  # so that all starts are refused
    docker_engine.nodes["toxiproxy"].status = "exited"

    assert start(tmp_path) == (
        "toxiproxy of docker-compose.yml is not running: `docker compose up --wait` first"
    )
    docker_engine.nodes["broker-1"].status = "exited"  # by its owner
    assert start(tmp_path).startswith("broker-1, toxiproxy of docker-compose.yml are not running")
    assert ["toxiproxy", "broker-1"] == docker_engine.down()


class TakenOver:
    """A run that has taken the cluster over, whose logs cannot be copied."""

    def __init__(self, docker_engine: Any, monkeypatch: pytest.MonkeyPatch, logs: Path) -> None:
        mark("")
        docker_engine.nodes["broker-2"].status = "running"
        self.steps: list[str] = []
        for step in ("_find", "_check_settings", "_refuse_what_is_not_ours", "_forget_run"):
            monkeypatch.setattr(
                compose.ComposeCluster, step, lambda _cluster, step=step: self.steps.append(step)
            )
        monkeypatch.setattr(compose.ComposeCluster, "await_serving", lambda *_: None)
        monkeypatch.setattr(compose, "check_version", lambda *_: None)
        monkeypatch.setattr(Toxiproxy, "await_up", lambda *_: None)
        monkeypatch.setattr(compose.ComposeCluster, "_read", lambda *_: b"before\nhal")
        self.cluster = compose.ComposeCluster(PLAN, logs, "4.3.1")
        self.cluster._containers = dict(docker_engine.nodes)

    def start(self) -> None:
        self.cluster.start()
        assert "_refuse_what_is_not_ours" in self.steps


@pytest.fixture
def taken_over(docker_engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TakenOver:
    return TakenOver(docker_engine, monkeypatch, tmp_path / "logs")


def marked() -> str:
    with compose._alone() as lock:
        lock.seek(0)
        return lock.read()


@pytest.mark.parametrize(
    "fails", [OSError(28, "No space left on device"), ClusterError("the engine refused")]
)
def test_a_cluster_is_given_back_although_its_logs_cannot_be_copied(
    taken_over: TakenOver, docker_engine: Any, monkeypatch: pytest.MonkeyPatch, fails: Exception
) -> None:
    taken_over.start()
    docker_engine.nodes["broker-2"].status = "exited"

    def read(_cluster: Any, name: str, file: str) -> bytes:
        if name == "broker-2" and file == "requests.log":
            raise fails
        return b"before\nhalf and after\nhal"

    monkeypatch.setattr(compose.ComposeCluster, "_read", read)
    taken_over.cluster._logs.mkdir()

    with pytest.raises(ClusterError, match=r"lacks logs .*broker-2.requests.log: "):
        taken_over.cluster.stop()

    assert [] == docker_engine.down()
    assert "_forget_run" == taken_over.steps[-1]
    assert "" == marked()
    copied = (taken_over.cluster._logs / "broker-3.requests.log").read_bytes()
    assert b"half and after\n" == copied


def test_a_start_that_fails_once_the_cluster_is_taken_gives_it_back(
    taken_over: TakenOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its owner makes there later would be taken for what this run left."""

    def refuse(_proxies: Toxiproxy) -> None:
        raise ClusterError("Toxiproxy refused")

    monkeypatch.setattr(Toxiproxy, "clear", refuse)
    with pytest.raises(ClusterError, match="Toxiproxy refused"):
        taken_over.cluster.start()
    taken_over.cluster._logs.mkdir()
    taken_over.cluster.stop()

    assert "_forget_run" == taken_over.steps[-1]
    assert "" == marked()


def test_a_start_that_is_refused_takes_nothing_away(
    taken_over: TakenOver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_cluster: Any) -> None:
        raise SetupError("topic t is its owner's")

    monkeypatch.setattr(compose.ComposeCluster, "_refuse_what_is_not_ours", refuse)
    with pytest.raises(SetupError):
        taken_over.cluster.start()
    taken_over.cluster.stop()  # its logs have no folder: no message says that

    assert "_forget_run" not in taken_over.steps
    assert "" == marked()


class Admin:
    """Brokers without topics, which answer DeleteGroups so, and with the last of it for ever."""

    def __init__(self, *answers: int | type[Exception] | None) -> None:
        self.answers = list(answers)

    def delete_topics(self, _names: list[str], **_: Any) -> dict[str, Future[None]]:
        return {}

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics={})

    def delete_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[None]]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        done: Future[None] = Future()
        if answer is None:
            done.set_result(None)
        else:
            done.set_exception(
                KafkaException(KafkaError(answer)) if isinstance(answer, int) else answer()
            )
        return {names[0]: done}


def forget_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, admin: Admin) -> None:
    monkeypatch.setattr(compose, "admin_of", lambda _plan: admin)
    monkeypatch.setattr("harness.base.wait.time.sleep", lambda _s: None)
    compose.ComposeCluster(PLAN, tmp_path, "4.3.1")._forget_run()


@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("answer", [None, KafkaError.GROUP_ID_NOT_FOUND])
def test_a_group_is_gone_when_brokers_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: int | None
) -> None:
    unsure = (
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TIMED_OUT,
        TimeoutError,
    )
    admin = Admin(*unsure, answer)
    forget_run(monkeypatch, tmp_path, admin)

    assert [answer] == admin.answers


@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (KafkaError.NON_EMPTY_GROUP, "The group is not empty"),
        (KafkaError.NOT_COORDINATOR, "Not coordinator"),
        (TimeoutError, "no answer"),
    ],
)
def test_a_group_that_stays_is_reported_with_the_brokers_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: Any, said: str
) -> None:
    monkeypatch.setattr(compose, "_GROUP_S", 0.01)

    with pytest.raises(WaitTimeout, match=rf"no end of the group orders on .* s: .*{said}"):
        forget_run(monkeypatch, tmp_path, Admin(answer))
