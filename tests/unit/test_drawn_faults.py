"""Faults that are drawn by the seed, one after the other, until the time is over or enough is seen.

Clock and cluster are ours.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers.journal import Journal, read_journal
from harness.base.errors import BadInput, WaitTimeout
from harness.catalogue import registry
from harness.catalogue.refusals import check_together
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run import nemesis
from harness.run.estimate import estimate_s
from harness.run.faults.kind import Evidence, Kind
from harness.run.interrupts import Interrupted, heard, interruptible
from harness.run.roles import headcount, lanes
from harness.run.run import ExperimentRun
from harness.run.scene import Scene

SOAK = registry.load("soak")
KILL = Fault(kind="pause-broker", target="broker 1", at_s=2, jitter_s=6, lasts_s=4)
PATIENCE_S = 60.0


def drawn(seed: int, times: int) -> list[tuple[str, float, int]]:
    """Faults of a soak in turn: kind, phase, and how many members there are after it."""
    randomness, members, found = random.Random(seed), SOAK.group.members, []
    change = {"start-consumer": 1, "kill-consumer": -1, "close-consumer": -1}
    for _ in range(times):
        fault, phase_s = nemesis.draw(SOAK, members, randomness)
        members += change.get(fault.kind, 0)
        found.append((fault.kind, phase_s, members))
    return found


def test_the_seed_decides_which_faults_come() -> None:
    assert drawn(5, 50) == drawn(5, 50)
    assert drawn(5, 50) != drawn(6, 50)
    assert {fault.kind for fault in SOAK.faults} == {kind for kind, _, _ in drawn(5, 500)}
    assert all(0 <= phase_s <= 20 for _, phase_s, _ in drawn(5, 500))


def test_the_group_stays_about_as_large_as_it_was_declared() -> None:
    sizes = Counter(members for _, _, members in drawn(5, 2_000))

    assert {2, 3, 4} == set(sizes)
    assert sum(kind == "kill-consumer" for kind, _, _ in drawn(5, 2_000)) > 50


class Drawing:
    """A stage on which a fault of 4 s is drawn again and again, until `over_s`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        folder.mkdir()
        self.now_s, self.well_after_s = 0.0, 3.0
        self.played: list[tuple[str, float]] = []
        self.at: dict[float, Callable[[], None]] = {}  # what happens once the clock is there
        kind = Kind(
            "pause-broker",
            ("broker",),
            lambda *_: self.played.append(("inject", round(self.now_s, 3))),
            lambda *_: Evidence(True, "seen"),
            lambda *_: self.played.append(("heal", round(self.now_s, 3))),
            effects=Effects(breaks=Breaks.BROKER, broker_gone=True),
        )
        monkeypatch.setattr(nemesis, "KINDS", {"pause-broker": kind})
        monkeypatch.setattr(nemesis, "changes", lambda _: [(KILL, 0, SimpleNamespace(
            started=0, ended=0))])  # fmt: skip
        monkeypatch.setattr(
            nemesis, "time", SimpleNamespace(monotonic=lambda: self.now_s, time_ns=int)
        )
        self.path = folder / "faults.journal"
        experiment = Experiment(
            claim="x.", faults=(KILL,), one_by_one=True, at_random=True, duration_s=100
        )
        broker = SimpleNamespace(id=1, name="broker-1")
        self.stage = SimpleNamespace(
            experiment=experiment,
            cluster=SimpleNamespace(running=lambda _: True, plan=SimpleNamespace(brokers=[broker])),
            fleet=SimpleNamespace(live=lambda: [None] * 3, members={}),
            random=random.Random(3),
            view=SimpleNamespace(group={}),
            steady_at=0.0,
            faults={},
            steps=[],
            leaving=False,
            say=lambda _text: None,
            follow=lambda: None,
            well=lambda: True,
            wait=self._wait,
            pass_time=self._pass_time,
        )
        journal = Journal(self.path, member="nemesis")
        self.nemesis = nemesis.Nemesis(journal, nemesis.plan_faults(experiment, random.Random(1)))

    def _wait(self, what: str, _condition: Any, timeout_s: float) -> None:
        if self.well_after_s > timeout_s:
            raise WaitTimeout(f"no {what} after {timeout_s:g} s")
        self.now_s += self.well_after_s

    def _pass_time(self, until_s: float, unless: Callable[[], bool] = lambda: False) -> None:
        while self.now_s < until_s and not unless():
            self.now_s = min(until_s, self.now_s + 0.5)
            for moment in [each for each in self.at if each <= self.now_s]:
                self.at.pop(moment)()

    def leave(self) -> None:
        self.stage.leaving = True

    def play(self) -> None:
        self.nemesis.play_at_random(cast("Scene", self.stage), PATIENCE_S)

    def phases(self) -> Counter[str]:
        return Counter(frame["phase"] for frame in list(read_journal(self.path).frames)[1:])


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Drawing:
    return Drawing(monkeypatch, tmp_path / "drawing")


def test_faults_come_until_the_time_is_over_each_when_all_is_well_after_the_one_before(
    drawing: Drawing,
) -> None:
    drawing.play()

    injected = [at for what, at in drawing.played if what == "inject"]
    healed = [at for what, at in drawing.played if what == "heal"]
    assert len(injected) > 5
    assert [round(at + 4, 3) for at in injected] == healed
    waits = [after - before for before, after in zip(healed, injected[1:], strict=False)]
    assert all(3 + KILL.at_s <= wait_s <= 3 + KILL.at_s + KILL.jitter_s for wait_s in waits)
    assert len({round(wait_s, 1) for wait_s in waits}) > 3  # and not all alike
    assert injected[-1] < 100 <= drawing.now_s
    # What was not due before the end was never planned.
    assert {len(injected)} == set(drawing.phases().values())
    assert {} == drawing.stage.faults


def test_one_that_is_left_while_it_waits_plays_no_more(drawing: Drawing) -> None:
    drawing.at[4.0] = drawing.leave  # none comes before 3 + 2 s

    drawing.play()

    assert ([], 4.0) == (drawing.played, drawing.now_s)


def test_one_that_is_left_in_a_fault_plays_that_to_its_end(
    drawing: Drawing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawing.play()
    (_, injected_s), (_, healed_s) = drawing.played[:2]
    again = Drawing(monkeypatch, tmp_path / "again")
    again.at[injected_s + 1] = again.leave

    again.play()

    assert [("inject", injected_s), ("heal", healed_s)] == again.played


def test_a_group_that_does_not_get_well_ends_it(drawing: Drawing) -> None:
    drawing.well_after_s = 61

    with pytest.raises(WaitTimeout, match="no steady state before the next fault after 60 s"):
        drawing.play()


def test_ctrl_c_leaves_a_run_whose_faults_are_drawn_and_interrupts_it_the_second_time() -> None:
    asked = iter([True, False])

    with interruptible(lambda: next(asked)):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
        heard()


def test_sigterm_interrupts_at_once() -> None:
    with pytest.raises(Interrupted), interruptible(lambda: True):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(("to_be_left", "drawing", "left"), [
    (True, True, [True, False]),
    (True, False, [False, False]),  # before the first fault, and after the last
    (False, True, [False, False]),  # a night's
])  # fmt: skip
def test_a_run_can_be_left_once_while_faults_are_drawn(
    to_be_left: bool, drawing: bool, left: list[bool]
) -> None:
    run = object.__new__(ExperimentRun)
    run._to_be_left = to_be_left
    run._drawing = cast("Scene", SimpleNamespace(leaving=False)) if drawing else None

    assert left == [run._leave(), run._leave()]


def test_a_soak_has_lanes_for_as_many_members_as_there_can_be() -> None:
    assert {f"member-{number}" for number in range(1, 5)} <= set(lanes(SOAK))
    assert 2 == headcount(SOAK).left
    assert 600 < estimate_s(SOAK) < 620


def test_what_is_drawn_needs_faults_that_wait_for_each_other() -> None:
    for change in ({"one_by_one": False}, {"faults": ()}):
        with pytest.raises(BadInput, match="at_random draws one fault after the other"):
            replace(SOAK, **change)


def test_what_is_drawn_can_hit_no_member_by_its_number() -> None:
    faults = (*SOAK.faults, Fault(kind="stall-consumer", target="member 1", lasts_s=13))

    with pytest.raises(BadInput, match=r"may have ended already.*use any member"):
        registry.checked(replace(SOAK, faults=faults))


def test_a_group_of_one_cannot_lose_a_member() -> None:
    alone = replace(SOAK, group=replace(SOAK.group, members=1))

    with pytest.raises(BadInput, match="raise members"):
        check_together(alone)
