"""Which thing a role is, and when each fault is injected and healed. Clock and cluster are ours."""

from __future__ import annotations

import io
import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers.journal import Journal, JournalError, read_journal
from harness.base.errors import BadInput, ClusterError, VoidRun, WaitTimeout
from harness.base.wait import wait_until
from harness.catalogue import registry
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run import interrupts, nemesis
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.targets import Target, resolve
from harness.run.roles import lanes
from harness.run.scene import Scene

KILL = Fault(kind="kill-broker", target="any broker", lasts_s=3)


def scene(*, brokers: set[int], members: set[int], leaders: tuple[int, ...] = ()) -> Any:
    """Three brokers and three members, of which these run; broker 1 was the coordinator."""
    names = [f"member-{number}" for number in (1, 2, 3)]
    fleet = {
        name: SimpleNamespace(name=name, running=number in members)
        for number, name in enumerate(names, start=1)
    }
    nodes = [SimpleNamespace(id=number, name=f"broker-{number}") for number in (1, 2, 3)]
    return SimpleNamespace(
        cluster=SimpleNamespace(
            plan=SimpleNamespace(brokers=nodes, controllers=[]),
            running=lambda number: number in brokers,
        ),
        fleet=SimpleNamespace(
            members=fleet,
            live=lambda: [each for each in fleet.values() if each.running],
            lane_of=lambda name: name,
        ),
        view=SimpleNamespace(
            group={"coordinator": 1},
            partitions={("t", number): {"leader": at} for number, at in enumerate(leaders)},
        ),
        topic="t",
        random=random.Random(1),
        describe=lambda: "the state of the group",
    )


def resolved(target: str, of: Any, **more: Any) -> Target:
    fault = Fault(kind="kill-broker", target=target, **more)
    return resolve(cast("Scene", of), fault, on_link=False)


def test_what_is_dead_is_no_target() -> None:
    alone = scene(brokers={3}, members={2}, leaders=(1, -1, 3))

    for _ in range(20):
        assert "broker-3" == resolved("any broker", alone).name
        assert "broker-3" == resolved("any leader", alone).name
        assert "member-2" == resolved("any member", alone).name
    for role in ("coordinator", "broker 1", "leader of t-0", "leader of t-1", "member 1"):
        with pytest.raises(ClusterError, match=f"nothing is '{role}' now"):
            resolved(role, alone)


def test_what_lives_is_one() -> None:
    all_of_it = scene(brokers={1, 2, 3}, members={1, 2, 3}, leaders=(1, 2, 3))

    assert "broker-1" == resolved("coordinator", all_of_it).name
    assert "member-3" == resolved("member 3", all_of_it).name
    for _ in range(20):
        assert "broker-1" != resolved("any leader", all_of_it, not_target="coordinator").name


def test_what_is_not_to_be_hit_has_to_be_known() -> None:
    failing_over = scene(brokers={1, 2, 3}, members={1, 2, 3}, leaders=(1, 2, 3))
    failing_over.view.group = {}

    with pytest.raises(
        ClusterError, match="nothing is 'coordinator' right now, so kill-broker might"
    ):
        resolved("any leader", failing_over, not_target="coordinator")


def test_a_lane_is_called_after_the_member_that_has_it_now() -> None:
    """Of an app: member-2 has the lane of a process that has ended, and the third shares one."""
    of = scene(brokers={1}, members={2, 3})
    of.fleet.lane_of = {"member-2": "member-9", "member-3": "members"}.__getitem__
    latency = Fault(kind="latency", target="member 2", latency_ms=100, lasts_s=3)

    own = resolve(cast("Scene", of), latency, on_link=True)
    shared = resolve(cast("Scene", of), replace(latency, target="member 3"), on_link=True)

    assert ("lane", "member-2", "member-9") == (own.kind, own.name, own.link)
    assert ("lane", "members", "members") == (shared.kind, shared.name, shared.link)


def test_each_member_that_may_be_cut_off_has_a_lane_of_its_own() -> None:
    isolate = Fault(kind="isolate", target="any member", lasts_s=8)
    start = Fault(kind="start-consumer", target="new member")
    experiment = replace(registry.load("baseline"), faults=(start, start, isolate))

    assert {f"member-{number}" for number in range(1, 6)} <= set(lanes(experiment))


class Stage:
    """Kinds of faults that are only noted, as one nemesis plays them, by a clock that is ours."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.now_s = 0.0
        self.took_s: dict[str, float] = {}  # so long the proof of a fault of this target takes
        self.played: list[tuple[str, str, float]] = []
        self.scene = scene(brokers={1, 2, 3}, members={1})
        self.scene.steady_at = self.scene.late_s = self.scene.missed_until = 0.0
        self.scene.faults, self.scene.steps = {}, []
        self.scene.say, self.scene.follow = lambda _text: None, lambda: None
        self.scene.pass_time = self.pass_time
        self.path = folder / "faults.journal"
        self.journal = Journal(self.path, member="nemesis")
        self.kinds: dict[str, Kind] = {}
        monkeypatch.setattr(nemesis, "KINDS", self.kinds)
        clock = SimpleNamespace(monotonic=lambda: self.now_s, time_ns=int)
        monkeypatch.setattr(nemesis, "time", clock)

    def kind(self, name: str, *, heals: bool = True, **effects: Any) -> None:
        """Have a kind of fault by this name."""
        self.kinds[name] = Kind(
            name,
            ("broker", "member"),
            lambda _scene, fault, _target: self.note("inject", fault),
            lambda _scene, fault, _target: self.prove(fault),
            effects=Effects(**{"breaks": Breaks.BROKER, **effects}),
        )
        if heals:
            self.kinds[name] = replace(
                self.kinds[name], heal=lambda _scene, fault, _target: self.note("heal", fault)
            )

    def plan(self, *faults: Fault, **more: Any) -> nemesis.Nemesis:
        experiment = Experiment(claim="x.", faults=faults, **more)
        self.planned = nemesis.plan_faults(experiment, random.Random(1))
        return nemesis.Nemesis(self.journal, self.planned)

    def note(self, what: str, fault: Fault) -> None:
        self.played.append((what, fault.target, self.now_s))

    def prove(self, fault: Fault) -> Evidence:
        self.now_s += self.took_s.get(fault.target, 0)
        return Evidence(True, "seen")

    def pass_time(self, until_s: float) -> None:
        self.now_s = max(self.now_s, until_s)

    def phases(self, name: str) -> list[str]:
        frames = read_journal(self.path).frames
        return [frame["phase"] for frame in frames if frame.get("fault") == name]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    return Stage(monkeypatch, tmp_path)


def fault_of(kind: str, number: int, at_s: float, lasts_s: float | None = None) -> Fault:
    return Fault(kind=kind, target=f"broker {number}", at_s=at_s, lasts_s=lasts_s, jitter_s=0)


TWO = (fault_of("kill-broker", 1, 1, 15), fault_of("kill-broker", 2, 3, 5))


def test_a_fault_that_had_to_wait_lasts_as_long_as_it_was_to_last(stage: Stage) -> None:
    """The proof of the first takes 10 s, and the second is due during it."""
    followed: list[float] = []
    stage.kind("kill-broker")
    stage.took_s = {"broker 1": 10}
    stage.scene.follow = lambda: followed.append(stage.now_s)

    stage.plan(*TWO).play(stage.scene)

    assert [
        ("inject", "broker 1", 1.0),
        ("inject", "broker 2", 11.0),
        ("heal", "broker 1", 16.0),
        ("heal", "broker 2", 16.0),
    ] == stage.played
    assert [1.0, 11.0] == followed
    assert [16.0, 16.0] == [state.heal_s for state in stage.scene.faults.values()]


@pytest.mark.parametrize(("app", "due_s"), [(True, 25.0), (False, 15.0)])
def test_what_follows_programs_that_start_slowly_comes_as_much_later(
    app: bool, due_s: float, stage: Stage
) -> None:
    """Else a process that takes 10 s is asked to end 2 s after it came."""
    stage.kind("pause-broker")
    stage.kind("scale", heals=False, starts_process=True)
    stage.kind("kill-broker", heals=False)
    stage.took_s = {"broker 1": 10}
    stage.scene.experiment = SimpleNamespace(app="a program" if app else None)

    stage.plan(
        fault_of("pause-broker", 2, 1, 13),
        fault_of("scale", 1, 3),
        fault_of("kill-broker", 3, 15),
    ).play(stage.scene)

    assert [
        ("inject", "broker 2", 1.0),
        ("inject", "broker 1", 3.0),
        ("heal", "broker 2", 14.0),  # it lasts as long as it was to last
        ("inject", "broker 3", due_s),
    ] == stage.played
    assert (10.0 if app else 0.0) == stage.scene.late_s


@pytest.mark.parametrize(
    ("effects", "session_s", "missed_until"),
    [
        ({"killed": True, "ends_member": True}, 30.0, 35.0),
        ({"killed": True, "ends_member": True}, None, 0.0),
        ({"ends_member": True}, 30.0, 0.0),
        ({"killed": True}, 30.0, 0.0),
    ],
)
def test_who_is_killed_for_good_is_missed_for_its_session(
    effects: dict[str, Any], session_s: float | None, missed_until: float, stage: Stage
) -> None:
    stage.kind("kill-consumer", heals=False, breaks=Breaks.MEMBER, **effects)
    stage.scene.fleet.brokers = SimpleNamespace(session_s=lambda _name: session_s)
    played = stage.plan(Fault(kind="kill-consumer", target="member 1", jitter_s=0))

    played.inject(stage.scene, stage.planned[0], Target("member", "member-1"))

    assert missed_until == stage.scene.missed_until


class OneByOne:
    """Two faults of a stage that wait for each other; the group is well so long after a fault."""

    def __init__(self, stage: Stage, *well_after_s: float) -> None:
        self._stage, self._well = stage, [*well_after_s]
        stage.kind("kill-broker")
        stage.scene.wait, stage.scene.well = self._wait, lambda: True
        self.nemesis = stage.plan(*TWO, one_by_one=True)

    def _wait(self, what: str, _condition: Any, timeout_s: float) -> None:
        took_s = self._well.pop(0)
        self._stage.now_s += min(took_s, timeout_s)
        if took_s > timeout_s:
            raise WaitTimeout(f"no {what} after {timeout_s:g} s")

    def play(self) -> None:
        self.nemesis.play_one_by_one(self._stage.scene, 60)


def test_a_fault_comes_so_long_after_all_was_well_and_is_healed_before_the_next(
    stage: Stage,
) -> None:
    """The first is due 1 s after 2 s; the second 3 s after all was well again, 40 s after that."""
    played = OneByOne(stage, 2, 40)

    played.play()

    assert [
        ("inject", "broker 1", 3.0),
        ("heal", "broker 1", 18.0),
        ("inject", "broker 2", 61.0),
        ("heal", "broker 2", 66.0),
    ] == stage.played
    assert [("healed", 3.0, 18.0), ("healed", 61.0, 66.0)] == [
        (state.phase, state.inject_s, state.heal_s) for state in stage.scene.faults.values()
    ]
    assert stage.scene.well_since is None
    assert [] == played.nemesis.heal_all(stage.scene)


def test_where_a_group_does_not_get_well_the_faults_after_that_stay_planned(stage: Stage) -> None:
    played = OneByOne(stage, 0, 61)

    with pytest.raises(WaitTimeout, match="no steady state before 2-kill-broker after 60 s"):
        played.play()

    whole = ["planned", "injecting", "injected", "healing", "healed"]
    assert (whole, ["planned"]) == (stage.phases("1-kill-broker"), stage.phases("2-kill-broker"))
    assert "planned" == stage.scene.faults["2-kill-broker"].phase
    assert [] == played.nemesis.heal_all(stage.scene)


class Broken:
    """A stage with one fault that is injected, whose journal or heals fail as often as noted."""

    def __init__(self, stage: Stage) -> None:
        self.heals, self.broken = 0, False
        self.fails: list[BaseException] = []
        self.lingers: list[BaseException] = []  # what its heal is followed by
        stage.kinds["pause-broker"] = Kind(
            "pause-broker",
            ("broker",),
            lambda *_: setattr(self, "broken", True),
            lambda *_: Evidence(True, "seen"),
            lambda *_: self._heal(),
            lambda *_: self._settle(),
            effects=Effects(breaks=Breaks.BROKER, broker_gone=True),
        )
        self.stage = stage
        self.nemesis = stage.plan(fault_of("pause-broker", 1, 0, 9))
        (self.item,) = stage.planned
        self.inject(self.item)
        assert self.broken

    def inject(self, item: nemesis.PlannedFault) -> None:
        self.nemesis._inject(self.stage.scene, item)

    def _heal(self) -> None:
        self.heals += 1
        if self.fails:
            raise self.fails.pop(0)
        self.broken = False

    def _settle(self) -> str:
        if self.lingers:
            raise self.lingers.pop(0)
        return "broker-1 answers"

    def heal(self) -> None:
        self.nemesis._heal(self.stage.scene, self.item)

    def heal_all(self) -> list[str]:
        return self.nemesis.heal_all(self.stage.scene)

    def phases(self) -> list[str]:
        return self.stage.phases("1-pause-broker")


@pytest.fixture
def broken(stage: Stage) -> Broken:
    return Broken(stage)


def test_a_heal_is_tried_although_the_disk_is_full(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> int:
        raise JournalError("no space left on device")

    monkeypatch.setattr(broken.stage.journal, "write", full)

    [problem] = broken.heal_all()

    assert not broken.broken
    assert "is healed, but not on record: no space left on device" in problem
    assert [] == broken.heal_all()


@pytest.mark.parametrize(
    ("error", "raised", "phases"),
    [
        (ClusterError("the engine refused"), VoidRun, ["failed", "healing", "healed"]),
        (interrupts.Interrupted(), interrupts.Interrupted, ["healing", "healing", "healed"]),
    ],
    ids=["failed", "interrupted"],
)
def test_a_heal_that_failed_or_was_interrupted_is_tried_again_at_the_end(
    error: BaseException, raised: type[BaseException], phases: list[str], broken: Broken
) -> None:
    broken.fails = [error]

    with pytest.raises(raised, match=r"could not be healed: the engine refused|^$"):
        broken.heal()

    assert [] == broken.heal_all()
    assert not broken.broken
    assert phases == broken.phases()[-3:]


def test_a_heal_after_which_the_effect_goes_on_is_said(broken: Broken) -> None:
    broken.lingers = [ClusterError("broker-1 does not answer")]

    with pytest.raises(VoidRun, match="is healed, but its effect was not seen to end: broker-1"):
        broken.heal()

    assert not broken.broken
    assert "failed" == broken.phases()[-1]
    assert [] == broken.heal_all()


def test_a_heal_that_breaks_down_keeps_no_other_from_being_tried(broken: Broken) -> None:
    broken.fails = [KeyError("what was not thought of")]

    assert ["1-pause-broker: KeyError: 'what was not thought of'"] == broken.heal_all()
    assert [] == broken.heal_all()
    assert 2 == broken.heals


def test_what_was_healed_is_not_healed_again_and_how_that_is_known_is_on_record(
    broken: Broken,
) -> None:
    said: list[str] = []
    broken.stage.scene.say = said.append
    broken.heal()

    assert [] == broken.heal_all()
    assert 1 == broken.heals
    assert ["healing", "healed"] == broken.phases()[-2:]
    healed = read_journal(broken.stage.path).frames[-1]
    assert ("healed", "broker-1 answers") == (healed["phase"], healed["evidence"])
    assert ["  pause-broker of broker-1: healed: broker-1 answers"] == said


def test_a_target_under_a_fault_of_the_same_kind_is_none() -> None:
    """The heal of one would end the other; "any" means one that is free."""
    of = scene(brokers={1, 2, 3}, members={1, 2, 3})
    taken = [Target("broker", "broker-1", 1), Target("broker", "broker-3", 3)]
    any_broker = Fault(kind="pause-broker", target="any broker")

    for _ in range(20):
        found = resolve(cast("Scene", of), any_broker, on_link=False, taken=taken)
        assert "broker-2" == found.name
    with pytest.raises(ClusterError, match="broker-1 of 'coordinator' already has a fault"):
        resolve(
            cast("Scene", of), replace(any_broker, target="coordinator"), on_link=False, taken=taken
        )


def test_links_to_one_broker_are_among_those_to_all() -> None:
    to_all = Target("lane", "member-1", 0, "member-1")
    to_one = Target("lane", "member-1", 1, "member-1")

    assert to_all.overlaps(to_one)
    assert to_one.overlaps(to_all)
    assert not to_one.overlaps(replace(to_one, id=2))
    assert not to_all.overlaps(replace(to_all, name="member-2", lane="member-2"))


def test_a_fault_is_not_played_on_what_another_holds(broken: Broken) -> None:
    again = replace(broken.item, name="2-pause-broker")

    with pytest.raises(ClusterError, match="start one of them later"):
        broken.inject(again)

    assert [] == broken.heal_all()
    assert not broken.broken


class InterruptedInTheEnd:
    """Its finalizer meets a signal, and what is raised in a finalizer is ignored."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self._number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_of_a_finalizer_is_not_lost(number: int) -> None:
    hook, before = sys.unraisablehook, signal.getsignal(number)
    ignored: list[InterruptedInTheEnd] = [InterruptedInTheEnd(number)]

    def play() -> None:
        with interrupts.interruptible():
            ignored.clear()
            wait_until("an interruption", lambda: False, timeout_s=10)

    with pytest.raises(interrupts.Interrupted):
        play()
    assert (hook, before) == (sys.unraisablehook, signal.getsignal(number))


class ClosedByPython(io.RawIOBase):
    """What is raised as such a file is closed by its finalizer is ignored without a word."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interruption_of_the_end_of_a_file_is_not_lost() -> None:
    def play() -> None:
        with interrupts.interruptible():
            ClosedByPython()
            wait_until("an interruption", lambda: False, timeout_s=10)

    with pytest.raises(interrupts.Interrupted):
        play()


def test_what_a_library_makes_of_an_interruption_is_an_interruption() -> None:
    """DuckDB's own loop looks for signals, and raises a RuntimeError where one had a handler."""

    def fail() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except interrupts.Interrupted:
            raise RuntimeError("Query interrupted") from None

    def play(*, goes_on: bool) -> None:
        with interrupts.interruptible():
            with suppress(RuntimeError) if goes_on else nullcontext():
                fail()
            wait_until("an interruption", lambda: False, timeout_s=10)

    for goes_on in (True, False):
        with pytest.raises(interrupts.Interrupted):
            play(goes_on=goes_on)


@pytest.mark.parametrize("made", [RuntimeError, BadInput])
def test_whatever_is_made_of_an_interruption_of_a_query_is_ctrl_c(made: type[Exception]) -> None:
    def query(*, number: int | None) -> None:
        with interrupts.keyboard_interrupts():
            with suppress(interrupts.Interrupted):
                if number is not None:
                    os.kill(os.getpid(), number)
            raise made("Query interrupted")

    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt) as raised:
            query(number=number)
        assert KeyboardInterrupt is raised.type
    with pytest.raises(made):
        query(number=None)
    with ThreadPoolExecutor() as beside, pytest.raises(made):  # that no signal interrupts
        beside.submit(query, number=None).result()


def test_an_interruption_that_is_being_handled_does_not_come_again() -> None:
    cleaned = []

    def clean(*, fails: bool) -> None:
        with suppress(ZeroDivisionError):
            wait_until("nothing", lambda: 1 // int(not fails) < 0, timeout_s=0.2)
        cleaned.append(fails)

    def play(*, fails: bool) -> None:
        with interrupts.interruptible():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                with suppress(WaitTimeout):
                    clean(fails=fails)
                with suppress(WaitTimeout):
                    wait_until("nothing", lambda: False, timeout_s=0.2)
                cleaned.append(fails)

    with pytest.raises(interrupts.Interrupted):
        play(fails=True)
    assert [True, True] == cleaned


def test_an_interruption_that_was_heard_is_over() -> None:
    before = signal.getitimer(signal.ITIMER_REAL)
    with interrupts.interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except interrupts.Interrupted:
            interrupts.heard()
        with suppress(WaitTimeout):
            wait_until("nothing", lambda: False, timeout_s=0.2)
    assert before == signal.getitimer(signal.ITIMER_REAL)


def test_an_interruption_that_was_ignored_at_the_very_end_is_not_lost() -> None:
    def play() -> None:
        with interrupts.interruptible(), suppress(interrupts.Interrupted):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(interrupts.Interrupted):
        play()


def test_what_else_is_ignored_is_reported_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []

    class Broken:
        def __del__(self) -> None:
            raise ValueError

    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: noted.append(ignored.exc_type))
    with interrupts.interruptible():
        Broken()
    assert [ValueError] == noted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_cleaning_up_comes_after_it(number: int) -> None:
    said: list[str] = []
    before = signal.getsignal(number)
    cleaned: list[bool] = []

    def clean() -> None:
        with interrupts.uninterrupted(said.append):
            os.kill(os.getpid(), number)
            cleaned.append(True)

    with pytest.raises(interrupts.Interrupted):
        clean()
    assert cleaned
    assert ["healing and cleaning up, a moment please"] == said
    assert before == signal.getsignal(number)


def test_cleaning_up_that_fails_and_is_interrupted_is_interrupted() -> None:
    def clean() -> None:
        with interrupts.uninterrupted(lambda _text: None):
            os.kill(os.getpid(), signal.SIGINT)
            raise ClusterError("the engine refused")

    with pytest.raises(interrupts.Interrupted):
        clean()
