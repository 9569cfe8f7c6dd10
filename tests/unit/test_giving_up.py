"""A client library that gives up for good is what the group did; whatever else ends is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers.journal import Journal
from harness.base.errors import VoidRun, WaitTimeout
from harness.run.fleet import Fleet
from harness.run.member import Member, ProcessTree
from harness.run.run import ExperimentRun, _reach
from harness.run.scene import Scene

FENCED = {"code": 82, "name": "FENCED_INSTANCE_ID", "text": "fenced"}
Ended = Callable[..., Member]


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    """A member whose process has ended with this exit code, after this error of its client."""

    def make(code: int = 1, name: str = "member-1", **error: Any) -> Member:
        journal = Journal(str(tmp_path / f"{name}.journal"), name)
        journal.write("error", where="library", **{**FENCED, "fatal": True, **error})
        journal.close()
        process = subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
        process.wait()
        return Member(name, ProcessTree(process), tmp_path / f"{name}.journal")

    return make


def fleet_of(*members: Member, settled: bool = True) -> Fleet:
    fleet: Any = SimpleNamespace(
        members={member.name: member for member in members},
        settled=settled,
        producer=None,
        last_words=lambda _name: "its last words",
    )
    fleet.unplanned_ends = lambda spared: Fleet.unplanned_ends(fleet, spared)
    fleet.live = lambda: Fleet.live(fleet)

    def follow() -> None:
        for member in members:
            member.follow()

    fleet.follow = follow
    return cast("Fleet", fleet)


def scene_of(*members: Member, settled: bool = True, heard: list[str] | None = None) -> Scene:
    nothing = SimpleNamespace(unplanned_ends=list, follow=lambda: None, poll=lambda: None)
    scene = Scene(
        cast("Any", SimpleNamespace(app=None)),
        cast("Any", nothing),
        fleet_of(*members, settled=settled),
        cast("Any", nothing),
        cast("Any", nothing),
        "t",
        cast("Any", None),
        say=(heard if heard is not None else []).append,
    )
    scene.steady = lambda: False  # type: ignore[method-assign]
    scene.describe = lambda: "none"  # type: ignore[method-assign]
    return scene


def run_of() -> Any:
    return SimpleNamespace(
        _experiment=SimpleNamespace(app=None), _manifest={"phases": [{}]}, _say=lambda _text: None
    )


def test_a_fatal_error_and_the_exit_code_for_it_make_one_that_gave_up(ended: Ended) -> None:
    member = ended()

    assert member.gave_up
    assert "FENCED_INSTANCE_ID: fenced" == member.fatal_error


@pytest.mark.parametrize(("code", "error"), [(3, {}), (137, {}), (1, {"fatal": False})])
def test_another_end_is_none(ended: Ended, code: int, error: dict[str, Any]) -> None:
    member = ended(code, **error)
    assert not member.gave_up

    running = cast("Any", SimpleNamespace(poll=lambda: None))
    assert not replace(member, instance=running, fatal_error="fenced").gave_up


def test_it_ends_no_run_once_the_group_was_steady_and_is_reported_once(ended: Ended) -> None:
    heard: list[str] = []
    scene = scene_of(ended(), heard=heard)

    scene.follow()
    scene.follow()

    assert ["member-1 gave up for good: FENCED_INSTANCE_ID: fenced"] == heard


def test_before_that_or_with_another_end_it_makes_the_run_void(ended: Ended) -> None:
    member = ended()
    with pytest.raises(VoidRun, match=r"member-1 \(exit code 1: its last words\) ended outside"):
        scene_of(member, settled=False).follow()
    with pytest.raises(VoidRun, match="member-2"):
        scene_of(member, ended(3, "member-2")).follow()


def test_one_that_was_to_end_gave_up_as_planned(ended: Ended) -> None:
    member = ended()
    member.expected_end = True

    assert [] == scene_of(member).given_up()


def test_no_one_is_waited_for_where_every_client_has_given_up(ended: Ended) -> None:
    scene = scene_of(ended())

    with pytest.raises(WaitTimeout, match="no records: the client of every member has given up"):
        _reach(scene, "records", lambda: False, 60)
    _reach(scene, "records", lambda: True, 60)


def test_what_a_group_does_not_reach_is_for_rules_where_a_client_gave_up(ended: Ended) -> None:
    def phase() -> None:
        raise WaitTimeout("no steady state")

    run = run_of()
    ExperimentRun._as_far_as_it_goes(run, scene_of(ended()), phase)
    assert "no steady state" == run._manifest["phases"][-1]["missed"]
    with pytest.raises(WaitTimeout):
        ExperimentRun._as_far_as_it_goes(run_of(), scene_of(), phase)


@pytest.mark.parametrize(("code", "stuck"), [(1, 0), (3, 1)])
def test_one_that_gives_up_as_it_closes_is_not_stuck(
    ended: Ended, code: int, stuck: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = ended(code)
    fleet: Any = fleet_of(member)
    monkeypatch.setattr(member, "close", lambda: None)
    fleet.live = lambda: [member]
    fleet.restarts = SimpleNamespace(forget=lambda: None)
    fleet._programs = None
    fleet._ended_badly = lambda *given: Fleet._ended_badly(fleet, *given)

    assert stuck == len(Fleet.close_members(fleet))
