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


class Clock:
    """Seconds since the start, moved by all that takes time."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def pass_time(self, until_s: float) -> None:
        self.now_s = max(self.now_s, until_s)


def test_a_fault_that_had_to_wait_lasts_as_long_as_it_was_to_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The proof of the first takes 10 s, and the second is due during it."""
    clock = Clock()
    played: list[tuple[str, str, float]] = []

    def prove(_scene: Scene, fault: Fault, _target: Target) -> Evidence:
        clock.now_s += 10 if fault.target == "broker 1" else 0
        return Evidence(True, "seen")

    kind = Kind(
        "kill-broker",
        ("broker",),
        lambda _scene, fault, _target: played.append(("inject", fault.target, clock.now_s)),
        prove,
        lambda _scene, fault, _target: played.append(("heal", fault.target, clock.now_s)),
        effects=Effects(breaks=Breaks.BROKER),
    )
    monkeypatch.setattr(nemesis, "KINDS", {"kill-broker": kind})
    monkeypatch.setattr(
        nemesis, "time", SimpleNamespace(monotonic=lambda: clock.now_s, time_ns=int)
    )
    first = Fault(kind="kill-broker", target="broker 1", at_s=1, lasts_s=15, jitter_s=0)
    second = Fault(kind="kill-broker", target="broker 2", at_s=3, lasts_s=5, jitter_s=0)
    experiment = Experiment(claim="x.", faults=(first, second))
    journal = Journal(tmp_path / "faults.journal", member="nemesis")
    stage = scene(brokers={1, 2, 3}, members=set())
    followed: list[float] = []
    stage.steady_at, stage.faults = 0.0, {}
    stage.late_s, stage.pass_time, stage.say = 0.0, clock.pass_time, lambda _text: None
    stage.steps = []
    stage.follow = lambda: followed.append(clock.now_s)

    planned = nemesis.plan_faults(experiment, random.Random(1))
    nemesis.Nemesis(journal, planned).play(cast("Scene", stage))

    assert [
        ("inject", "broker 1", 1.0),
        ("inject", "broker 2", 11.0),
        ("heal", "broker 1", 16.0),
        ("heal", "broker 2", 16.0),
    ] == played
    assert [1.0, 11.0] == followed
    assert [16.0, 16.0] == [state.heal_s for state in stage.faults.values()]


@pytest.mark.parametrize(("app", "due_s"), [(True, 25.0), (False, 15.0)])
def test_what_follows_programs_that_start_slowly_comes_as_much_later(
    app: bool, due_s: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else a process that takes 10 s is asked to end 2 s after it came."""
    clock = Clock()
    played: list[tuple[str, float]] = []

    def kind(name: str, took_s: float, **effects: Any) -> Kind:
        def prove(*_: Any) -> Evidence:
            clock.now_s += took_s
            return Evidence(True, "seen")

        kind = Kind(
            name,
            ("broker",),
            lambda *_: played.append((name, clock.now_s)),
            prove,
            effects=Effects(breaks=Breaks.MEMBER, **effects),
        )
        if name != "pause-broker":
            return kind
        return replace(kind, heal=lambda *_: played.append((f"heal {name}", clock.now_s)))

    kinds = {
        "pause-broker": kind("pause-broker", 0),
        "scale": kind("scale", 10, starts_process=True),
        "kill-broker": kind("kill-broker", 0),
    }
    monkeypatch.setattr(nemesis, "KINDS", kinds)
    monkeypatch.setattr(
        nemesis, "time", SimpleNamespace(monotonic=lambda: clock.now_s, time_ns=int)
    )
    faults = (
        Fault(kind="pause-broker", target="broker 2", at_s=1, lasts_s=13, jitter_s=0),
        Fault(kind="scale", target="broker 1", at_s=3, jitter_s=0),
        Fault(kind="kill-broker", target="broker 3", at_s=15, jitter_s=0),
    )
    experiment = Experiment(claim="x.", faults=faults)
    stage = scene(brokers={1, 2, 3}, members=set())
    stage.experiment = SimpleNamespace(app="a program" if app else None)
    stage.steady_at, stage.faults, stage.steps = 0.0, {}, []
    stage.pass_time, stage.say, stage.follow = clock.pass_time, lambda _text: None, lambda: None
    stage.late_s = 0.0

    planned = nemesis.plan_faults(experiment, random.Random(1))
    journal = Journal(tmp_path / "faults.journal", member="nemesis")
    nemesis.Nemesis(journal, planned).play(cast("Scene", stage))

    assert [
        ("pause-broker", 1.0),
        ("scale", 3.0),
        ("heal pause-broker", 14.0),  # it lasts as long as it was to last
        ("kill-broker", due_s),
    ] == played
    assert (10.0 if app else 0.0) == stage.late_s


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
    effects: dict[str, Any],
    session_s: float | None,
    missed_until: float,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    kill = Kind(
        "kill-consumer",
        ("member",),
        lambda *_: None,
        lambda *_: Evidence(True, "gone"),
        effects=Effects(breaks=Breaks.MEMBER, **effects),
    )
    monkeypatch.setattr(nemesis, "KINDS", {"kill-consumer": kill})
    monkeypatch.setattr(nemesis, "time", SimpleNamespace(monotonic=lambda: 0.0, time_ns=int))
    stage = scene(brokers={1}, members={1})
    stage.fleet.brokers = SimpleNamespace(session_s=lambda _name: session_s)
    stage.faults, stage.steps, stage.say, stage.missed_until = {}, [], lambda _text: None, 0.0
    fault = Fault(kind="kill-consumer", target="member 1", jitter_s=0)
    item = nemesis.plan_faults(Experiment(claim="x.", faults=(fault,)), random.Random(1))[0]
    played = nemesis.Nemesis(Journal(tmp_path / "faults.journal", member="nemesis"), [])

    played.inject(cast("Scene", stage), item, Target("member", "member-1"))

    assert missed_until == stage.missed_until


class OneByOne:
    """A stage on which two faults wait for each other; the group is well so long after a fault."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, well_after_s: tuple[float, ...]
    ) -> None:
        self.clock, self.said, self._well = Clock(), list[tuple[str, str, float]](), [*well_after_s]
        kind = Kind(
            "kill-broker",
            ("broker",),
            lambda _scene, fault, _target: self._say("inject", fault.target),
            lambda _scene, _fault, _target: Evidence(True, "seen"),
            lambda _scene, fault, _target: self._say("heal", fault.target),
            effects=Effects(breaks=Breaks.BROKER),
        )
        monkeypatch.setattr(nemesis, "KINDS", {"kill-broker": kind})
        monkeypatch.setattr(
            nemesis, "time", SimpleNamespace(monotonic=lambda: self.clock.now_s, time_ns=int)
        )
        first = Fault(kind="kill-broker", target="broker 1", at_s=1, lasts_s=15, jitter_s=0)
        second = Fault(kind="kill-broker", target="broker 2", at_s=3, lasts_s=5, jitter_s=0)
        experiment = Experiment(claim="x.", faults=(first, second), one_by_one=True)
        self._journal = tmp_path / "faults.journal"
        planned = nemesis.plan_faults(experiment, random.Random(1))
        self.nemesis = nemesis.Nemesis(Journal(self._journal, member="nemesis"), planned)
        self.stage = scene(brokers={1, 2, 3}, members=set())
        self.stage.steady_at, self.stage.faults, self.stage.steps = 0.0, {}, []
        self.stage.pass_time, self.stage.say = self.clock.pass_time, lambda _text: None
        self.stage.follow = lambda: None
        self.stage.wait, self.stage.well = self._wait, lambda: True

    def _say(self, what: str, target: str) -> None:
        self.said.append((what, target, self.clock.now_s))

    def _wait(self, what: str, _condition: Any, timeout_s: float) -> None:
        took_s = self._well.pop(0)
        self.clock.now_s += min(took_s, timeout_s)
        if took_s > timeout_s:
            raise WaitTimeout(f"no {what} after {timeout_s:g} s")

    def play(self) -> None:
        self.nemesis.play_one_by_one(cast("Scene", self.stage), 60)

    def phases(self, name: str) -> list[str]:
        frames = read_journal(self._journal).frames
        return [frame["phase"] for frame in frames if frame.get("fault") == name]


def test_a_fault_comes_so_long_after_all_was_well_and_is_healed_before_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first is due 1 s after 2 s; the second 3 s after all was well again, 40 s after that."""
    played = OneByOne(monkeypatch, tmp_path, well_after_s=(2, 40))

    played.play()

    assert [
        ("inject", "broker 1", 3.0),
        ("heal", "broker 1", 18.0),
        ("inject", "broker 2", 61.0),
        ("heal", "broker 2", 66.0),
    ] == played.said
    assert [(3.0, 18.0), (61.0, 66.0)] == [
        (state.inject_s, state.heal_s) for state in played.stage.faults.values()
    ]
    assert {"healed"} == {state.phase for state in played.stage.faults.values()}
    assert played.stage.well_since is None
    assert [] == played.nemesis.heal_all(played.stage)


def test_where_a_group_does_not_get_well_the_faults_after_that_stay_planned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played = OneByOne(monkeypatch, tmp_path, well_after_s=(0, 61))

    with pytest.raises(WaitTimeout, match="no steady state before 2-kill-broker after 60 s"):
        played.play()

    whole = ["planned", "injecting", "injected", "healing", "healed"]
    assert (whole, ["planned"]) == (played.phases("1-kill-broker"), played.phases("2-kill-broker"))
    assert "planned" == played.stage.faults["2-kill-broker"].phase
    assert [] == played.nemesis.heal_all(played.stage)


class Broken:
    """A stage with one fault that is injected, whose journal or heals fail as often as noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.heals, self.broken = 0, False
        self.fails: list[BaseException] = []
        self.lingers: list[BaseException] = []  # what its heal is followed by
        kind = Kind(
            "pause-broker",
            ("broker",),
            lambda *_: setattr(self, "broken", True),
            lambda *_: Evidence(True, "seen"),
            lambda *_: self._heal(),
            lambda *_: self._settle(),
            effects=Effects(breaks=Breaks.BROKER, broker_gone=True),
        )
        monkeypatch.setattr(nemesis, "KINDS", {"pause-broker": kind})
        self.path = tmp_path / "faults.journal"
        self.journal = Journal(self.path, member="nemesis")
        fault = Fault(kind="pause-broker", target="broker 1", at_s=0, lasts_s=9, jitter_s=0)
        experiment = Experiment(claim="x.", faults=(fault,))
        planned = nemesis.plan_faults(experiment, random.Random(1))
        self.nemesis = nemesis.Nemesis(self.journal, planned)
        self.stage = scene(brokers={1, 2, 3}, members=set())
        self.stage.steady_at, self.stage.faults, self.stage.steps = 0.0, {}, []
        self.stage.follow, self.stage.say = lambda: None, lambda _text: None
        self.nemesis._inject(cast("Scene", self.stage), planned[0])
        self.item = planned[0]
        assert self.broken

    def _heal(self) -> None:
        self.heals += 1
        if self.fails:
            raise self.fails.pop(0)
        self.broken = False

    def _settle(self) -> None:
        if self.lingers:
            raise self.lingers.pop(0)

    def heal(self) -> None:
        self.nemesis._heal(cast("Scene", self.stage), self.item)

    def heal_all(self) -> list[str]:
        return self.nemesis.heal_all(cast("Scene", self.stage))

    def phases(self) -> list[str]:
        frames = read_journal(self.path).frames
        return [frame["phase"] for frame in frames if frame["kind"] == "fault"]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Broken:
    return Broken(monkeypatch, tmp_path)


def test_a_heal_is_tried_although_the_disk_is_full(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> int:
        raise JournalError("no space left on device")

    monkeypatch.setattr(broken.journal, "write", full)

    [problem] = broken.heal_all()

    assert not broken.broken
    assert "is healed, but not on record: no space left on device" in problem
    assert [] == broken.heal_all()


def test_a_heal_that_failed_is_tried_again_at_the_end(broken: Broken) -> None:
    broken.fails = [ClusterError("the engine refused")]

    with pytest.raises(VoidRun, match="could not be healed: the engine refused"):
        broken.heal()

    assert [] == broken.heal_all()
    assert not broken.broken
    assert ["failed", "healing", "healed"] == broken.phases()[-3:]


def test_a_heal_after_which_the_effect_goes_on_is_said(broken: Broken) -> None:
    broken.lingers = [ClusterError("broker-1 does not answer")]

    with pytest.raises(VoidRun, match="is healed, but its effect was not seen to end: broker-1"):
        broken.heal()

    assert not broken.broken
    assert "failed" == broken.phases()[-1]
    assert [] == broken.heal_all()


def test_a_heal_that_was_interrupted_is_tried_again_at_the_end(broken: Broken) -> None:
    broken.fails = [interrupts.Interrupted()]

    with pytest.raises(interrupts.Interrupted):
        broken.heal()

    assert [] == broken.heal_all()
    assert not broken.broken


def test_a_heal_that_breaks_down_keeps_no_other_from_being_tried(broken: Broken) -> None:
    broken.fails = [KeyError("what was not thought of")]

    assert ["1-pause-broker: KeyError: 'what was not thought of'"] == broken.heal_all()
    assert [] == broken.heal_all()
    assert 2 == broken.heals


def test_what_was_healed_is_not_healed_again(broken: Broken) -> None:
    broken.heal()

    assert [] == broken.heal_all()
    assert 1 == broken.heals
    assert ["healing", "healed"] == broken.phases()[-2:]


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
        broken.nemesis._inject(cast("Scene", broken.stage), again)

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
