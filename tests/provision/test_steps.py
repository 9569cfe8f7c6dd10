from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import aot, steps
from harness.provision.java import Java
from harness.provision.shell import Shell
from harness.provision.steps import Step

Capture = pytest.CaptureFixture[str]


def fail(_: Shell) -> None:
    raise SetupError("no room left")


def nothing(_: Shell) -> None:
    return


def use(monkeypatch: pytest.MonkeyPatch, *chosen: Step) -> None:
    monkeypatch.setattr(steps, "steps", lambda _version="": list(chosen))


def test_only_what_is_not_done_is_done(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, Step("one", lambda: True, fail), Step("two", lambda: False, nothing))

    assert steps.ensure() == ["two: 0.0 s"]
    assert capsys.readouterr().err == "set-up 2/2: two … 0.0 s\n"


def test_failure_of_a_needed_step_ends_the_set_up(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Shell) -> None:
        pytest.fail("ran after a failure")

    use(monkeypatch, Step("one", lambda: False, fail), Step("two", lambda: False, never))

    with pytest.raises(SetupError, match="no room left"):
        steps.ensure()


def test_failure_of_an_optional_step_is_a_warning(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(
        monkeypatch,
        Step("one", lambda: False, fail, optional=True),
        Step("two", lambda: False, nothing),
    )

    assert steps.ensure() == ["one: failed, going on without", "two: 0.0 s"]
    assert "warning: no room left; runs start more slowly without it" in capsys.readouterr().err


def test_what_killed_set_ups_left_is_swept(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_cache / "kafka-chaos-tmp-left").mkdir()
    use(monkeypatch)

    steps.ensure()

    assert not (empty_cache / "kafka-chaos-tmp-left").exists()


def test_failed_training_is_noted_and_forgotten_on_demand(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = Java(Path("/bin/false"), "25.0.2")
    monkeypatch.setattr(steps, "find_java", lambda: java)
    monkeypatch.setattr(aot, "env_python", lambda _env: Path("/bin/false"))
    cache = aot.kafka_cache("4.3.1", java)
    assert cache is not None
    assert not aot.is_settled(cache)

    with pytest.raises(SetupError, match="the Kafka AOT training failed"):
        aot.train_kafka("4.3.1", java, Shell(empty_cache / "logs"))
    assert aot.is_settled(cache)

    steps.forget_failures()
    assert not aot.is_settled(cache)


def test_this_machine_is_set_up() -> None:
    assert steps.is_complete()


def test_empty_cache_is_not_complete(empty_cache: Path) -> None:
    assert not steps.is_complete()
