"""The engine as the docker backend meets it: pulls that go wrong, and whose files are written."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.base.errors import SetupError
from harness.base.ports import LOOPBACK, Ports
from harness.cluster import containers, docker
from harness.cluster.backends import backend_of
from harness.cluster.docker import DockerCluster, check_version
from harness.cluster.plan import IN_CONTAINERS, draw_plan
from harness.experiment import Cluster

IMAGE = "apache/kafka:4.3.1"
PROGRESS: dict[str, Any] = {
    "status": "Pulling fs layer",
    "progressDetail": {},
    "id": "e72ac664f4f0",
}


class Engine(ThreadingHTTPServer):
    """What the SDK asks an engine for when it pulls an image.

    `said` is what it reports of the pull, object by object; `then` what it does after that.
    """

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Answers)
        self.said: list[object] = []
        self.then: Callable[[_Answers], None] = lambda _answers: None
        self.here = False
        self.headers = True
        self.asked: list[dict[str, str]] = []
        self.over = threading.Event()


class _Answers(BaseHTTPRequestHandler):
    server: Engine
    protocol_version = "HTTP/1.1"
    timeout = 5  # for a client that keeps a connection and says no more

    def do_GET(self) -> None:
        if self.path.endswith("/version"):
            self._answer(200, {"ApiVersion": "1.44"})
        elif self.path.endswith("/_ping"):
            self._answer(200, "OK")
        elif self.server.here:
            self._answer(200, {"Id": "sha256:1"})
        else:
            self._answer(404, {"message": "No such image"})

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        self.server.asked.append({name: values[0] for name, values in query.items()})
        if self.server.headers:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for each in self.server.said:
                text = (each if isinstance(each, str) else json.dumps(each)).encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.server.then(self)

    def whole(self) -> None:
        """All is heard, and the image is here."""
        self.server.here = True
        self.end()

    def end(self) -> None:
        """All is heard."""
        self.wfile.write(b"0\r\n\r\n")

    def silent(self) -> None:
        """Say no more."""
        self.server.over.wait(5)
        self.close_connection = True

    def cut(self) -> None:
        """Go in the middle of it."""
        self.close_connection = True

    def _answer(self, code: int, content: object) -> None:
        text = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Say nothing."""


@pytest.fixture
def docker_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    """An engine on a port of this machine, which DOCKER_HOST names."""
    with Engine() as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{LOOPBACK}:{server.server_port}")
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        monkeypatch.setenv("NO_PROXY", LOOPBACK)
        for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            serving.join()


def fetch(image: str = IMAGE) -> None:
    """As a start of the backend does."""
    with closing(containers.connect()) as client:
        containers.fetch(client, image, "KAFKA_IMAGE")


def test_an_image_that_is_here_is_not_pulled(docker_engine: Engine) -> None:
    docker_engine.here = True
    fetch()

    assert [] == docker_engine.asked


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("apache/kafka:4.3.1", "apache/kafka", "4.3.1"),
        ("kafka", "kafka", "latest"),
        ("registry.example:5000/kafka", "registry.example:5000/kafka", "latest"),
        ("registry.example:5000/kafka:4.3.1", "registry.example:5000/kafka", "4.3.1"),
        (f"apache/kafka@sha256:{'0' * 64}", "apache/kafka", f"sha256:{'0' * 64}"),
        (f"r:5000/kafka:4.3.1@sha256:{'0' * 64}", "r:5000/kafka", f"sha256:{'0' * 64}"),
    ],
)
def test_one_image_is_pulled_whatever_its_name_is(
    docker_engine: Engine, image: str, repository: str, tag: str
) -> None:
    docker_engine.said = [PROGRESS]
    docker_engine.then = _Answers.whole
    fetch(image)

    assert [(repository, tag)] == [(each["fromImage"], each["tag"]) for each in docker_engine.asked]


WHY = "toomanyrequests: slow down"
REFUSED = f"{WHY})"
SILENT = "its registry did not answer for 0.3"


@pytest.mark.parametrize(
    ("said", "then", "says"),
    [
        # What the registry refuses amid a pull is reported in its words.
        ([PROGRESS, {"errorDetail": {"message": WHY}, "error": "…"}], _Answers.end, REFUSED),
        ([PROGRESS, {"errorDetail": {"message": WHY}}], _Answers.end, REFUSED),
        ([PROGRESS, {"error": WHY}], _Answers.end, REFUSED),
        # One that says nothing is given up: before it has answered at all, and amid its answer.
        (None, _Answers.silent, SILENT),
        ([PROGRESS], _Answers.silent, SILENT),
        # A pull that breaks off.
        *(
            (said, then, "")
            for said in ([PROGRESS], ['{"status": "Pull'], [])
            for then in (_Answers.cut, _Answers.end)
        ),
    ],
)
def test_an_image_that_cannot_be_pulled_is_one_sentence(
    docker_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    said: list[object] | None,
    then: Callable[[_Answers], None],
    says: str,
) -> None:
    monkeypatch.setattr(containers, "_SILENCE_S", 0.3 if says == SILENT else 60)
    docker_engine.headers = said is not None
    docker_engine.said = said or []
    docker_engine.then = then

    with pytest.raises(SetupError) as refused:
        fetch()
    sentence = str(refused.value)
    assert sentence.startswith(f"the image {IMAGE} is not here and cannot be pulled ({says}")
    assert sentence.endswith("): pull or load it, or name another one by KAFKA_IMAGE")


class FakeEngine:
    """An engine whose containers are never anything but made."""

    def __init__(self, options: list[str] | None = None) -> None:
        self.options = options
        self.looked = 0
        self.made: list[dict[str, Any]] = []
        self.networks = SimpleNamespace(create=lambda name, **_: _Made(name))
        self.containers = SimpleNamespace(create=self._create)
        self.api = SimpleNamespace(containers=self._running)

    def info(self) -> dict[str, Any]:
        self.looked += 1
        return {"SecurityOptions": self.options}

    def _create(self, _image: str, _command: list[str], **how: Any) -> _Made:
        self.made.append(how)
        return _Made(how["name"])

    def _running(self, **_: Any) -> list[dict[str, str]]:
        return [{"Id": each["name"], "State": "running"} for each in self.made]


class _Made:
    """A container or a network."""

    def __init__(self, name: str) -> None:
        self.id = self.name = name

    def start(self) -> None: ...

    def connect(self, _container: object, aliases: list[str]) -> None: ...


Start = Callable[[FakeEngine], None]


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Start]:
    """Starts a cluster whose nodes answer at once and log what Kafka 4.3.1 does, or nothing."""
    (tmp_path / "template").mkdir()
    tools: Any = SimpleNamespace(kafka_version="4.3.1", controller_template=tmp_path / "template")
    monkeypatch.setattr(containers, "fetch", lambda *_: None)
    monkeypatch.setattr(DockerCluster, "await_serving", lambda *_: None)
    monkeypatch.setattr("harness.cluster.proxies.Toxiproxy.await_up", lambda *_: None)

    with Ports() as ports:
        plan = draw_plan(Cluster(), ("members",), "run", ports, IN_CONTAINERS)

        def start(docker_engine: FakeEngine) -> None:
            monkeypatch.setattr(containers, "connect", lambda: docker_engine)
            DockerCluster(plan, tools, tmp_path, tmp_path / "logs", IMAGE).start()

        yield start


@pytest.fixture
def logged(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for node in ("controller-101", "broker-1", "broker-2", "broker-3"):
        (tmp_path / "logs" / f"{node}.server.log").write_text("INFO Kafka version: 4.3.1\n")


OURS = "1234:5678"


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who is not root, whatever user runs the tests."""
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    monkeypatch.setattr(os, "getgid", lambda: 5678)


@pytest.mark.parametrize(
    ("options", "user", "remapped"),
    [
        (None, OURS, None),
        ([], OURS, None),
        (["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"], OURS, None),
        (["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"], "0:0", None),
        (["name=seccomp,profile=builtin", "name=userns"], OURS, "host"),
    ],
)
@pytest.mark.usefixtures("logged", "ours")
def test_containers_run_as_who_has_the_mounted_folders(
    starting: Start, options: list[str] | None, user: str, remapped: str | None
) -> None:
    docker_engine = FakeEngine(options)
    starting(docker_engine)

    assert 9 == len(docker_engine.made)
    assert {(user, remapped)} == {
        (made["user"], made.get("userns_mode")) for made in docker_engine.made
    }
    assert [["ALL"]] * 9 == [made["cap_drop"] for made in docker_engine.made]
    assert 1 == docker_engine.looked


def test_an_image_that_writes_no_log_is_refused(
    monkeypatch: pytest.MonkeyPatch, starting: Start
) -> None:
    monkeypatch.setattr(docker, "check_version", partial(check_version, timeout_s=0))
    with pytest.raises(SetupError, match="logs no version"):
        starting(FakeEngine())


class LateEngine:
    """An engine with a container of a dead run, which makes others (`late`) a moment later."""

    def __init__(self, late: list[str]) -> None:
        self.there, self.late, self.owner = ["broker-1"], late, "999999999:0.00"
        self.networks = SimpleNamespace(list=lambda **_: [])
        self.api = SimpleNamespace(
            containers=self._containers,
            networks=lambda **_: [],
            remove_container=self._remove_container,
        )

    def _containers(self, **how: Any) -> list[dict[str, Any]]:
        wanted = (containers.RUN_LABEL, [f"{containers.RUN_LABEL}=left"])
        assert how["filters"]["label"] in wanted
        labels = {containers.RUN_LABEL: "left", containers.OWNER_LABEL: self.owner}
        return [{"Id": each, "Labels": labels} for each in self.there]

    def _remove_container(self, container: str, *, v: bool, force: bool) -> None:
        assert v  # the image's volumes go with it
        assert force
        self.there.remove(container)

    def pass_time(self, _seconds: float) -> None:
        assert [] == self.there
        self.there, self.late = self.late, []


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Any:
    docker_engine = LateEngine(["broker-2", "broker-3"])
    monkeypatch.setattr(containers, "time", SimpleNamespace(sleep=docker_engine.pass_time))
    monkeypatch.setattr(containers, "connect", lambda: docker_engine)
    return docker_engine


@pytest.mark.parametrize(
    ("remove", "removed"),
    [
        (lambda engine: containers.remove_left(engine, containers.left(engine)), {"left": 3}),
        (lambda _engine: backend_of("docker").remove("left"), 3),
    ],
    ids=["sweep", "watchdog"],
)
def test_what_the_engine_was_just_making_is_removed_too(
    late: Any, remove: Callable[[Any], Any], removed: Any
) -> None:
    assert removed == remove(late)
    assert [] == late.there


@pytest.mark.parametrize("owner", ["", "another"])
def test_a_container_that_does_not_say_whose_it_is_stays(late: Any, owner: str) -> None:
    late.owner = owner

    assert {} == containers.remove_left(late, containers.left(late))
    assert ["broker-1"] == late.there


def test_who_ends_its_own_run_waits_for_nothing(late: Any) -> None:
    """It asks for nothing any more."""
    assert 1 == containers.remove_run(late, "left")
    assert ["broker-2", "broker-3"] == late.late


def test_where_nothing_is_left_no_one_waits(late: Any) -> None:
    late.there = []

    assert {} == containers.remove_left(late, containers.left(late))
    assert ["broker-2", "broker-3"] == late.late
