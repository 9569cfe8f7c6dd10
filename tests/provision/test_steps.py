from __future__ import annotations

import threading
from pathlib import Path

import pytest

from harness.base.errors import SetupError
from harness.provision import aot, kafka, setup_steps
from harness.provision.java import Java
from harness.provision.setup_steps import Step
from harness.provision.shell import Shell

Capture = pytest.CaptureFixture[str]


def fail(_: Shell) -> None:
    raise SetupError("no room left")


def nothing(_: Shell) -> None:
    return


def noted(title: str, order: list[str], *after: str) -> Step:
    """A step that is never done already, and that notes when it is its turn."""
    return Step(title, lambda: False, lambda _: order.append(title), after=after)


def use(monkeypatch: pytest.MonkeyPatch, *chosen: Step) -> None:
    monkeypatch.setattr(setup_steps, "steps", lambda _version="", **_: list(chosen))


def test_only_what_is_not_done_is_done(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, Step("one", lambda: True, fail), Step("two", lambda: False, nothing))

    assert setup_steps.ensure() == ["two: 0.0 s"]
    assert capsys.readouterr().err == "set-up 2/2: two …\nset-up 2/2: two: 0.0 s\n"


def test_failure_of_a_needed_step_ends_the_set_up_and_of_an_optional_one_is_a_warning(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    order: list[str] = []
    use(monkeypatch, Step("one", lambda: False, fail), noted("two", order, "one"))
    with pytest.raises(SetupError, match="no room left"):
        setup_steps.ensure()
    assert [] == order

    use(monkeypatch, Step("one", lambda: False, fail, optional=True), noted("two", order, "one"))
    assert setup_steps.ensure() == ["one: failed, going on without", "two: 0.0 s"]
    assert "warning: no room left; runs start more slowly without it" in capsys.readouterr().err


def test_steps_that_do_not_need_each_other_are_done_side_by_side(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=30)
    order: list[str] = []

    def meet(_: Shell) -> None:
        both.wait()
        order.append("both")

    use(
        monkeypatch,
        Step("last", lambda: False, lambda _: order.append("last"), late=True),
        Step("one", lambda: False, meet),
        Step("two", lambda: False, meet),
        Step("three", lambda: False, lambda _: order.append("three"), after=("one", "two")),
    )

    assert 4 == len(setup_steps.ensure())
    assert ["both", "both", "three", "last"] == order


def test_a_step_waits_for_what_its_needs_need_and_may_have_more_to_do_then(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    python = noted("Python", order)
    java = Step("Java", lambda: True, fail, after=("Python",))
    use(monkeypatch, python, java, noted("Kafka", order, "Java"))
    setup_steps.ensure()
    assert ["Python", "Kafka"] == order

    order.clear()
    cache = Step("cache", lambda: not order, lambda _: order.append("cache"), after=("Python",))
    use(monkeypatch, python, cache)
    assert ["Python: 0.0 s", "cache: 0.0 s"] == setup_steps.ensure()
    assert ["Python", "cache"] == order


def test_what_can_wait_is_left_for_the_run_after_the_first_verdict(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    done: list[str] = []
    use(
        monkeypatch,
        Step("needed", lambda: "needed" in done, lambda _: done.append("needed")),
        Step("late", lambda: "late" in done, lambda _: done.append("late"), late=True),
    )

    setup_steps.ensure(late=False)
    assert ["needed"] == done
    assert setup_steps.is_complete(late=False)
    assert not setup_steps.is_complete()

    setup_steps.do_the_rest()  # of the first run, which has no verdict yet
    assert ["needed"] == done
    capsys.readouterr()

    setup_steps.leave_the_rest()
    assert ["needed"] == done
    said = capsys.readouterr().err
    assert said.startswith("set-up: the next run begins with what is left, two minutes of it, once")
    assert said.endswith("setup` does it now\n")
    assert 1 == said.count("\n")

    setup_steps.do_the_rest()
    assert ["needed", "late"] == done
    assert "set-up: what an earlier run left is done now" in capsys.readouterr().err
    setup_steps.leave_the_rest()
    setup_steps.do_the_rest()
    assert "" == capsys.readouterr().err


def test_what_set_up_has_done_itself_is_no_rest_and_what_killed_ones_left_is_swept(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (empty_cache / "kafka-chaos-tmp-left").mkdir()
    done: list[str] = []
    use(monkeypatch, Step("late", lambda: "late" in done, lambda _: done.append("late"), late=True))
    setup_steps.leave_the_rest()
    setup_steps.ensure()
    capsys.readouterr()

    setup_steps.do_the_rest()

    assert "" == capsys.readouterr().err
    assert not (empty_cache / "set-up-has-a-rest").exists()
    assert not (empty_cache / "kafka-chaos-tmp-left").exists()


def test_a_failure_ends_what_is_done_beside_it(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def endless(shell: Shell) -> None:
        begun.set()
        shell.run("the other", ["tail", "-f", "/dev/null"], log="other.log")

    def fail_later(_: Shell) -> None:
        assert begun.wait(30)
        raise SetupError("no room left")

    use(monkeypatch, Step("one", lambda: False, endless), Step("two", lambda: False, fail_later))

    with pytest.raises(SetupError, match="no room left"):
        setup_steps.ensure()


def test_failed_training_is_noted_and_forgotten_on_demand(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = Java(Path("/bin/false"), "25.0.2")
    monkeypatch.setattr(setup_steps, "find_java", lambda: java)
    monkeypatch.setattr(aot, "env_python", lambda _env: Path("/bin/false"))
    cache = aot.cache_of("kafka", kafka.DEFAULT_VERSION, java)
    assert cache is not None
    assert not aot.is_settled(cache)

    with pytest.raises(SetupError, match="the Kafka AOT training failed"):
        aot.train("kafka", kafka.DEFAULT_VERSION, java, Shell(empty_cache / "logs"))
    assert aot.is_settled(cache)

    setup_steps.forget_failures()
    assert not aot.is_settled(cache)


def test_a_terminal_has_one_line_of_what_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for drawn in (False, True):
        monkeypatch.setattr(setup_steps, "_drawn", lambda drawn=drawn: drawn)
        setup_steps._say("set-up: Java, 10 s so far", stays=False)
        setup_steps._say("set-up 2/7: Java: 10.5 s")

    lines = "set-up: Java, 10 s so far\nset-up 2/7: Java: 10.5 s\n"
    drawn_lines = "\r\x1b[Kset-up: Java, 10 s so far\r\x1b[Kset-up 2/7: Java: 10.5 s\n"
    assert lines + drawn_lines == capsys.readouterr().err


def test_this_machine_is_set_up_and_an_empty_cache_is_not(request: pytest.FixtureRequest) -> None:
    assert setup_steps.is_complete()
    request.getfixturevalue("empty_cache")
    assert not setup_steps.is_complete()
