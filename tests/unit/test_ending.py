"""How a member is asked to end: by a signal, with time to do it, and by force after that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.base.wait import wait_until
from harness.experiment.app import App, Stop
from harness.run.faults import KINDS
from harness.run.faults.kind import Evidence
from harness.run.faults.targets import Target
from harness.run.fleet import Fleet
from harness.run.member import Member, ProcessTree
from harness.run.scene import Scene

GRACE_S = 0.3
WAITS = "import signal, time, sys\n{}\nprint('ready', flush=True)\ntime.sleep(60)"
ENDS = WAITS.format("signal.signal(signal.SIGTERM, lambda *_: sys.exit({code}))")
IGNORES = WAITS.format("signal.signal(signal.SIGTERM, signal.SIG_IGN)")
Start = Callable[..., Member]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a member whose program is this text, once the program has its handlers."""
    started: list[subprocess.Popen[bytes]] = []

    def start(program: str, *, foreign: bool = True) -> Member:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        tree = ProcessTree(process, "no-run", "member-1" if foreign else "")
        return Member("member-1", tree, None if foreign else Path("none"))

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def terminated(member: Member, heard: list[str] | None = None) -> Evidence:
    """The member's end by the fault, with little patience."""
    app = App(name="a", command=("a",), folder=".", stop=Stop(grace_s=GRACE_S))
    fleet: Any = SimpleNamespace(
        _experiment=SimpleNamespace(app=app),
        note=lambda _member, what: heard.append(what) if heard is not None else None,
        members={member.name: member},
    )
    fleet.end_in_order = lambda *members, **more: Fleet.end_in_order(fleet, *members, **more)
    scene = cast("Scene", SimpleNamespace(fleet=fleet, follow=lambda: None))
    kind, target = KINDS["terminate-consumer"], Target("member", member.name)
    kind.inject(scene, cast("Any", None), target)
    return kind.prove(scene, cast("Any", None), target)


@pytest.mark.parametrize(
    ("program", "signals", "ended"),
    [
        (ENDS.format(code=0), ["SIGTERM"], "after SIGTERM, with exit code 0"),
        (ENDS.format(code=3), ["SIGTERM"], "after SIGTERM, with exit code 3"),  # for the judge
        (IGNORES, ["SIGTERM", "SIGKILL"], "after SIGTERM, by SIGKILL, with exit code -9"),
    ],
    ids=["in order", "otherwise", "not in time"],
)
def test_a_program_is_killed_if_it_does_not_end_when_asked(
    start: Start, program: str, signals: list[str], ended: str
) -> None:
    heard: list[str] = []
    member = start(program)

    evidence = terminated(member, heard)

    assert evidence.took_effect
    assert ended in evidence.text
    assert signals == heard
    assert member.ending is not None
    assert member.ending.after_s >= (GRACE_S if "SIGKILL" in heard else 0)


@pytest.mark.parametrize("program", [ENDS.format(code=3), IGNORES])
def test_ours_that_does_not_end_in_order_is_no_orderly_end(start: Start, program: str) -> None:
    evidence = terminated(start(program, foreign=False))

    assert not evidence.took_effect
    assert "exit code" in evidence.text


def test_a_member_is_gone_with_its_last_process(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = start(ENDS.format(code=0))
    left: list[Any] = ["a child"]
    monkeypatch.setattr("harness.run.member.processes.of_member", lambda *_: left)

    os.kill(member.instance.pid, signal.SIGTERM)
    wait_until("the end of the program", lambda: not member.running, timeout_s=10)

    assert not member.gone
    left.clear()
    assert member.gone
