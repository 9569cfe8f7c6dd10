"""The live view: what a person sees of a run on a terminal, and that others see plain lines."""

from __future__ import annotations

import io
import os
import pty
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console, RenderableType

from harness.base.wait import wait_until
from harness.cli import stored
from harness.cli.main import main
from harness.experiment import Experiment, Fault
from harness.run.faults.targets import Target
from harness.run.member import Instance, Member
from harness.run.nemesis import PlannedFault
from harness.run.scene import ClusterView, Scene
from harness.run.screen import LATER_S, RunView, Screen
from tests.report.sample_logs import storm_of_a_slow_member, write
from tests.report.sample_run import write_run


class Process:
    """A process that runs, or has ended."""

    def __init__(self, code: int | None = None) -> None:
        self._code = code

    def poll(self) -> int | None:
        return self._code


def member(number: int, *partitions: int, ended: int | None = None, **more: Any) -> Member:
    process = cast("Instance", Process(ended))
    return Member(
        f"member-{number}", process, Path("none"), assigned=set(partitions), generation=2, **more
    )


@pytest.fixture
def scene() -> Scene:
    view = ClusterView(Path("none"), brokers={1: True, 2: False, 3: True})
    view.group = {"state": "Stable", "members": 2, "coordinator": 3}
    nodes = [SimpleNamespace(id=number) for number in (1, 2, 3)]
    members = [member(1, 5, 0), member(2), member(3, ended=-9), member(4, ended=0, closed=True)]
    return Scene(
        Experiment(claim="It holds."),
        cast("Any", SimpleNamespace(plan=SimpleNamespace(brokers=nodes))),
        cast("Any", SimpleNamespace(members={each.name: each for each in members})),
        view,
        cast("Any", Process()),
        "t",
        random.Random(1),
    )


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.delenv("CI", raising=False)
    return Console(file=io.StringIO(), force_terminal=True, width=100, _environ={"TERM": "xterm"})


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class Clock:
    """What time it is, in seconds."""

    now_s = 1_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.monotonic", lambda: made.now_s)
    return made


def drawn(terminal: Console, scene: Scene) -> str:
    screen = Screen(terminal)
    with screen.watch("broker-kill", scene.experiment) as watch:
        watch.phase("faults")
        watch.look(scene)
    return shown(terminal)


def test_brokers_group_and_members_are_shown(terminal: Console, scene: Scene) -> None:
    text = drawn(terminal, scene)
    for part in ("broker-kill", "faults", "s to go", "● 1", "○ 2", "down", "coordinator"):
        assert part in text
    for part in ("Stable, generation 2, 2 members", "partitions 0 5", "no partitions"):
        assert part in text
    assert "dead" in text
    assert "closed" in text
    scene.fleet.members |= {f"member-{n}": member(n) for n in range(5, 31)}
    assert "and 18 more" in drawn(terminal, scene)  # a big group fits the screen


def planned(
    kind: str, target: str | None, phase: str, inject_s: float, heal_s: float | None
) -> PlannedFault:
    fault = Fault(kind=kind, target="any broker")
    resolved = Target("broker", target) if target else None
    return PlannedFault("1", fault, inject_s, heal_s, phase, resolved)


@pytest.mark.parametrize(
    ("fault", "heard"),
    [
        (planned("kill-broker", None, "planned", 5, 9), "of any broker: planned, in 5 s"),
        (planned("kill-broker", "broker-2", "injected", 0, 9), "of broker-2: injected, heals in"),
        (planned("kill-consumer", "member-3", "injected", 0, None), "of member-3: injected"),
        (planned("kill-broker", "broker-2", "healed", 0, 9), "of broker-2: healed"),
    ],
)
def test_each_fault_has_how_far_it_is(
    clock: Clock, terminal: Console, scene: Scene, fault: PlannedFault, heard: str
) -> None:
    scene.steady_at = clock.now_s
    scene.faults["1"] = fault
    assert heard in drawn(terminal, scene)


def test_the_rate_is_of_the_last_seconds(clock: Clock, terminal: Console, scene: Scene) -> None:
    with Screen(terminal).watch("x", scene.experiment) as watch:
        for second in range(10):
            scene.fleet.members["member-1"].records = 300 * min(second, 5)
            watch.look(scene)
            clock.now_s += 1
            if second == 5:
                assert "300 records/s" in shown(terminal)
    assert shown(terminal).rstrip().rfind(" 0 records/s") > shown(terminal).rfind("300 records/s")


def test_it_is_drawn_four_times_a_second_however_often_the_harness_looks(
    clock: Clock, scene: Scene
) -> None:
    views: list[RenderableType] = []
    watch = RunView("x", scene.experiment, views.append)
    for tick in range(100):
        clock.now_s = 1_000.0 + tick / 100
        watch.look(scene)
    assert 4 == len(views)


@pytest.mark.parametrize(
    ("terminal", "ci"),
    [
        (Console(file=io.StringIO(), force_terminal=False), ""),
        (Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "xterm"}), "1"),
        (Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"}), ""),
    ],
)
def test_without_a_terminal_there_are_plain_lines(
    terminal: Console,
    ci: str,
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CI", ci)
    screen = Screen(terminal)
    with screen.watch("x", scene.experiment) as watch:
        watch.look(scene)
        screen.say("faults")
    assert "" == shown(terminal)
    assert capsys.readouterr().err.endswith(" s  faults\n")


def test_lines_stay_above_the_view(terminal: Console, scene: Scene) -> None:
    screen = Screen(terminal)
    with screen.watch("x", scene.experiment) as watch:
        watch.look(scene)
        screen.say("kill-broker of broker-2: [refused]")
    assert "s  kill-broker of broker-2: [refused]" in shown(terminal)


def test_the_time_of_the_faults_is_over_once_no_one_is_missed_any_more(scene: Scene) -> None:
    scene.steady_at = 100.0
    assert 100 + scene.experiment.duration_s == scene.over_at

    scene.late_s, scene.missed_until = 10.0, 125.0
    assert 110 + scene.experiment.duration_s == scene.over_at
    scene.missed_until = 135.0
    assert 135.0 == scene.over_at


class Pseudo:
    """A pseudo terminal of 100 columns, and what was drawn on it."""

    def __init__(self) -> None:
        self._read, written = pty.openpty()
        self.file = os.fdopen(written, "w")
        self.console = Console(
            file=self.file, width=100, soft_wrap=True, _environ={"TERM": "xterm"}
        )
        self.seen = ""
        self._reading = threading.Thread(target=self._listen)
        self._reading.start()

    def _listen(self) -> None:
        with os.fdopen(self._read, "rb", buffering=0) as terminal:
            try:
                while said := terminal.read(4_096):
                    self.seen += said.decode(errors="replace")
            except OSError:  # so it ends on Linux
                return

    def close(self) -> None:
        self.file.close()
        self._reading.join()


@pytest.fixture
def pseudo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pseudo]:
    monkeypatch.delenv("CI", raising=False)
    made = Pseudo()
    yield made
    made.close()


def test_on_a_terminal_what_takes_long_has_a_bar(pseudo: Pseudo, clock: Clock) -> None:
    with Screen(pseudo.console).counting("check", LATER_S) as steps:
        steps("runs are judged", 1, 12)
    with Screen(pseudo.console).counting("check", LATER_S) as steps:
        clock.now_s += 4
        steps("runs are judged", 3, 12)
    with Screen(pseudo.console).counting("trend") as steps:
        steps("Spark starts", 0, 0)
    pseudo.close()

    assert "1 of 12" not in pseudo.seen  # it was soon over
    assert "━" in pseudo.seen
    assert "check: 3 of 12 runs are judged, 4 s" in pseudo.seen
    assert "trend: Spark starts, 0 s" in pseudo.seen


def test_the_clock_of_a_run_goes_on_where_the_harness_does_something_else(
    pseudo: Pseudo, scene: Scene
) -> None:
    with Screen(pseudo.console).watch("broker-kill", scene.experiment) as watch:
        watch.phase("start cluster")
        wait_until("views", lambda: pseudo.seen.count("start cluster") > 2, timeout_s=30)
    assert "━" in pseudo.seen


def test_without_a_terminal_what_takes_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Screen, "say", lambda _screen, text: said.append(text))
    now = 1_000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    screen = Screen(Console(file=io.StringIO()))
    with screen.counting("explain", LATER_S) as steps:
        for done in range(10):
            steps("MB of logs are read", done, 10)
            now += 1
        assert ["explain: 3 of 10 MB of logs are read"] == said
    monkeypatch.undo()
    monkeypatch.setattr(Screen, "say", lambda _screen, text: said.append(text))
    with screen.counting("sql", 0.01) as steps:
        steps("the query runs", 0, 0)
        wait_until("a line", lambda: len(said) > 1, timeout_s=30)
    assert "sql: the query runs" == said[-1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explain", "server.log"], ["explain: MB of logs are read", "explain: what happened"]),
        (["sql", "run", "SELECT 1"], ["sql: the runs are opened", "sql: the query runs"]),
        (["report", "run", "--json"], ["run: its pages"]),
        (["compare", "run", "run"], ["compare: both are read"]),
    ],
)
def test_commands_say_what_takes_long(
    words: list[str],
    says: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(stored, "LATER_S", 0.0)
    monkeypatch.chdir(tmp_path)
    write(tmp_path, storm_of_a_slow_member())
    write_run(tmp_path / "run")

    main(words)

    assert (
        says
        == [line.partition(" s  ")[2] for line in capsys.readouterr().err.splitlines()][: len(says)]
    )
