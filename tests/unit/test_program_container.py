"""A container of a program, by an engine that is no more than its answers.

The real one is in tests/docker; it breaks no stream when a test would like it to.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker.errors import APIError, NotFound
from requests.exceptions import ConnectionError as Broken
from testcontainers.core.config import testcontainers_config as config

from harness.base.errors import ClusterError, HarnessError, SetupError
from harness.base.wait import wait_until
from harness.cluster import containers, images
from harness.cluster.backends import backend_of
from harness.cluster.images import ProgramContainer
from harness.experiment.app import App

SOON_S = 10.0
PRINTED = [b"done id=0\ndone i", b"d=1\n", b"done id=2\n", b"last words"]
ENDED = "2026-11-24T10:30:51.586655123Z"
ENDED_US = 1_795_516_251_586_655


class Engine:
    """Says of one container what a test wants."""

    def __init__(self, log: Path) -> None:
        self.over, self.log = threading.Event(), log
        self.state: dict[str, Any] = {
            "Pid": 4711, "Status": "running", "Running": True, "Paused": False,
            "ExitCode": 0, "OOMKilled": False, "FinishedAt": "0001-01-01T00:00:00Z",
        }  # fmt: skip
        # Of each stream that is followed, how many pieces it gives before it breaks.
        self.breaks: list[int] = []
        self.streams = 0
        self.orders: list[str] = []
        self.refuses: Exception | None = None
        self.gone: Exception | None = None

    def inspect_container(self, _id: str) -> dict[str, Any]:
        if self.gone is not None:
            raise self.gone
        return {"State": self.state}

    def wait(self, _id: str, timeout: float) -> dict[str, Any]:
        if not self.over.wait(SOON_S):
            raise Broken("timed out")
        return {"StatusCode": self.state["ExitCode"]}

    def logs(self, _id: str, *, follow: bool, **_how: Any) -> Iterator[bytes]:
        if not follow:
            yield b"".join(PRINTED)
            return
        self.streams += 1
        upto = self.breaks.pop(0) if self.breaks else None
        yield from PRINTED[:upto]
        if upto is not None:
            raise Broken("the stream broke")
        self.over.wait(SOON_S)

    def kill(self, _id: str, signal: str) -> None:
        self._do(signal)

    def pause(self, _id: str) -> None:
        self._do("pause")

    def unpause(self, _id: str) -> None:
        self._do("unpause")

    def ping(self) -> bool:
        return True

    def _do(self, what: str) -> None:
        self.orders.append(what)
        if self.refuses is not None:
            raise self.refuses

    def end(self, code: int = 0, **state: Any) -> None:
        self.state |= {
            "Status": "exited", "Running": False, "Pid": 0, "ExitCode": code, "FinishedAt": ENDED,
            **state,
        }  # fmt: skip
        self.over.set()

    def start(self) -> ProgramContainer:
        """Its one container."""
        api = cast("Any", SimpleNamespace(api=self))
        self.container = ProgramContainer(api, "f" * 64, "member-1", self.log)
        return self.container

    def printed(self) -> bytes:
        return self.log.read_bytes()


@pytest.fixture
def engine_of_one(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "log")
    yield made
    made.end(made.state["ExitCode"])
    made.container._watcher.join(SOON_S)


@pytest.mark.parametrize("breaks", [[], [1], [0, 2], [3, 1, 0, 2], [4]])
def test_a_stream_that_breaks_loses_nothing_and_nothing_comes_twice(
    engine_of_one: Engine, breaks: list[int]
) -> None:
    engine_of_one.breaks = list(breaks)

    container = engine_of_one.start()

    wait_until(
        "all of it, while it runs",
        lambda: (
            engine_of_one.printed() == b"".join(PRINTED) and engine_of_one.streams > len(breaks)
        ),
        timeout_s=SOON_S,
    )
    assert container.poll() is None
    engine_of_one.end()
    assert 0 == container.wait(SOON_S)
    assert b"".join(PRINTED) == engine_of_one.printed()


def test_what_no_stream_brought_is_read_at_the_end(engine_of_one: Engine) -> None:
    engine_of_one.breaks = [1] * 1_000

    container = engine_of_one.start()
    wait_until("the first piece", lambda: engine_of_one.printed(), timeout_s=SOON_S)
    assert PRINTED[0] == engine_of_one.printed()
    engine_of_one.end(3)

    assert 3 == container.wait(SOON_S)
    assert b"".join(PRINTED) == engine_of_one.printed()
    assert ENDED_US == container.ended_at


@pytest.mark.parametrize(
    ("code", "sent", "oom", "heard"),
    [
        (0, None, False, 0),
        (137, None, False, 137),
        (137, signal.SIGKILL, False, -9),
        (137, signal.SIGTERM, False, 137),
        (137, None, True, -9),
        (143, signal.SIGTERM, False, 143),
        (1, signal.SIGKILL, False, 1),
    ],
)
def test_an_exit_code_is_a_signals_where_that_is_known(
    engine_of_one: Engine,
    code: int,
    sent: signal.Signals | None,
    *,
    oom: bool,
    heard: int,
) -> None:
    container = engine_of_one.start()
    if sent is not None:
        container.send_signal(sent)
        assert [sent.name] == engine_of_one.orders

    engine_of_one.end(code, OOMKilled=oom)

    assert heard == container.wait(SOON_S)
    assert container.gone


def refused(status: int, words: str) -> APIError:
    response: Any = SimpleNamespace(status_code=status, reason=words, url="")
    return APIError(words, response=response, explanation=words)


@pytest.mark.parametrize("do", ["kill", "freeze", "thaw"])
@pytest.mark.parametrize(
    "words", [f"Container {'f' * 64} is not running", "Container f is not paused"]
)
def test_what_is_over_already_is_no_trouble(engine_of_one: Engine, do: str, words: str) -> None:
    container = engine_of_one.start()
    engine_of_one.refuses = refused(409, words)

    getattr(container, do)()

    assert 1 == len(engine_of_one.orders)


def test_what_the_engine_refuses_is_a_sentence(engine_of_one: Engine) -> None:
    container = engine_of_one.start()
    engine_of_one.refuses = refused(500, "the disk is full")

    with pytest.raises(ClusterError, match="refused to pause member-1: the disk is full"):
        container.freeze()


def test_how_it_is_is_the_engines_word(engine_of_one: Engine) -> None:
    container = engine_of_one.start()
    engine_of_one.state |= {"Paused": True, "Status": "paused"}

    assert container.frozen
    assert "the engine says paused of container ffffffffffff" == str(container)


@pytest.mark.parametrize("how", ["not found", "removing"])
def test_who_was_removed_by_another_program_is_known_no_more(
    engine_of_one: Engine, how: str
) -> None:
    container = engine_of_one.start()
    if how == "removing":
        engine_of_one.end(137, Status="removing")
    else:
        engine_of_one.gone = NotFound("no such container")
        engine_of_one.over.set()
    container._watcher.join(SOON_S)

    with pytest.raises(HarnessError, match="of member-1 was removed by another program"):
        container.poll()


@pytest.mark.parametrize(
    ("nspid", "caught", "dropped"),
    [
        ("4711\t1", 0, True),
        ("4711\t1", 1 << 14, False),  # SIGTERM is 15
        ("4711\t1", 1 << 13, True),
        ("900\t4711\t1", 0, True),
        ("4711", 0, False),  # a process of this machine
        ("4711\t7", 0, False),  # not the first of its container
        (None, 0, False),  # it cannot be looked at
    ],
)
def test_a_first_process_without_a_handler_hears_no_signal(
    engine_of_one: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nspid: str | None,
    caught: int,
    *,
    dropped: bool,
) -> None:
    container = engine_of_one.start()
    (tmp_path / "4711").mkdir()
    status = f"Name:\tx\nNSpid:\t{nspid}\nSigIgn:\t0000000000000000\nSigCgt:\t{caught:016x}\n"
    if nspid is not None:
        (tmp_path / "4711" / "status").write_text(status)
    monkeypatch.setattr(images, "_PROC", tmp_path)

    assert dropped == container.drops(signal.SIGTERM)


# The engine whose containers are on this machine's own network.


@pytest.mark.parametrize(
    ("host", "info", "there"),
    [
        (None, {}, True),
        ("unix:///run/docker.sock", {}, True),
        ("tcp://127.0.0.1:2375", {}, True),
        ("tcp://far.example:2375", {}, False),
        ("ssh://far.example", {}, False),
        (None, {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}, False),
        (None, {"OperatingSystem": "Docker Desktop"}, False),
    ],
)
def test_only_an_engine_of_this_machine_can_start_programs(
    monkeypatch: pytest.MonkeyPatch, host: str | None, info: dict[str, Any], *, there: bool
) -> None:
    engine = SimpleNamespace(info=lambda: info)
    monkeypatch.setattr(containers, "connect", lambda _otherwise: engine)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if host is not None:
        monkeypatch.setenv("DOCKER_HOST", host)

    if there:
        assert engine is images.connect()
        return
    with pytest.raises(SetupError, match="are not on this machine's own network"):
        images.connect()


def test_a_container_is_made_as_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reaper and no other engine or image, whatever the user's own settings say."""
    made: list[Any] = []

    class Container:
        def __init__(self, image: str, **how: Any) -> None:
            made.append({"image": image, **how})

        def with_kwargs(self, **how: Any) -> Container:
            made[-1] |= how
            return self

        def with_command(self, command: list[str]) -> None:
            made[-1]["command"] = command

        def with_volume_mapping(self, here: str, there: str, mode: str) -> None:
            made[-1]["mounted"] = (here, there, mode)

        def start(self) -> Container:
            return self

        def get_container_id(self) -> str:
            return "f" * 64

        def get_docker_client(self) -> Any:
            return SimpleNamespace(client=SimpleNamespace(close=lambda: None))

    for name, value in (("hub_image_name_prefix", "theirs/"), ("ryuk_disabled", False)):
        monkeypatch.setattr(config, name, value)
    monkeypatch.setattr(config, "tc_properties", {"tc.host": "tcp://far.example:2375"})
    monkeypatch.setattr(images, "DockerContainer", Container)
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    program = object.__new__(images.ProgramImage)
    program.run, program._users, program.engine = "run", {}, None
    program.app = App(name="orders", image="orders:1.4", folder="/")
    program.image = images.Image("orders:1.4", "sha256:00ff", (), ())

    monkeypatch.setattr(images, "ProgramContainer", lambda *_: None)
    log = Path("member-1.log")

    program.start("member-1", (), ("--fast",), {"TOKEN": "hunter2"}, log, ["/run/ca.pem"])

    (one,) = made
    assert ("sha256:00ff", "host", "member-1") == (one["image"], one["network"], one["hostname"])
    assert ("kafka-chaos-run-member-1", ["--fast"]) == (one["name"], one["command"])
    assert {"run", "member-1"} < set(one["labels"].values())
    assert "hunter2" not in str(one["labels"])
    assert ("/run/ca.pem", "/run/ca.pem", "ro") == one["mounted"]
    assert not {"entrypoint", "mem_limit", "privileged", "volumes", "ports"} & one.keys()
    assert (True, {}, "") == (
        config.ryuk_disabled,
        config.tc_properties,
        config.hub_image_name_prefix,
    )


def test_a_run_with_images_has_containers_to_remove_whatever_its_brokers_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    removed: list[list[str]] = []

    def remove_left(_engine: Any, runs: list[str]) -> dict[str, int]:
        removed.append(runs)
        return dict.fromkeys(runs, 3)

    monkeypatch.setattr(containers, "connect", lambda: None)
    monkeypatch.setattr(containers, "remove_left", remove_left)

    assert 0 == backend_of("embedded").remove("run")
    assert 3 == backend_of("embedded", images=True).remove("run")
    assert 3 == backend_of("docker", images=True).remove("run")
    assert [["run"], ["run"]] == removed
