"""Faults of a group as a whole, step by step: which processes start and end, in which order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from consumers.journal import Journal, read_journal
from harness.base.errors import BadInput, WaitTimeout
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.experiment import Expect, Experiment, Fault, Group
from harness.experiment.app import App
from harness.run import nemesis
from harness.run.faults import deploys
from harness.run.member import Ending
from harness.run.roles import SPARE_LANES, headcount, lanes
from harness.run.scene import Scene

RULE = Expect(rule="R02")
START, END = "start-consumer", "terminate-consumer"


@dataclass
class Process:
    """A member that ends when it is asked to, and is in the group at once unless it is broken."""

    name: str
    instance_id: str | None = None
    ever_assigned: bool = True
    running: bool = True
    started: bool = True
    foreign: bool = False
    closed: bool = False
    started_at: int = 0
    asked_at: int = 0
    exit_code: int | None = None
    ending: Ending | None = None

    @property
    def gone(self) -> bool:
        return not self.running


class Fleet:
    """Three members, and what was done to them in its order."""

    def __init__(self, *, broken: tuple[str, ...] = (), static: bool = False) -> None:
        self.members: dict[str, Process] = {}
        self.done: list[str] = []
        self._broken = broken
        self._static = static
        for number in (1, 2, 3):
            self.start_member(f"member-{number}")
        self.done.clear()

    def start_member(self, name: str, instance_id: str | None = None) -> Process:
        given = instance_id or (name if self._static else None)
        self.members[name] = Process(name, given, ever_assigned=name not in self._broken)
        self.done.append(f"start {name}" + (f" as {given}" if given else ""))
        return self.members[name]

    def end_in_order(self, *members: Process, follow: Any) -> None:
        follow()
        self.done.append("end " + ", ".join(member.name for member in members))
        for member in members:
            member.running = False
            member.ending = Ending("SIGTERM", 0.5, False, 0, 7)

    def live(self) -> list[Process]:
        return [member for member in self.members.values() if member.running]

    def next_name(self) -> str:
        return f"member-{len(self.members) + 1}"


def played(
    fault: Fault, folder: Path, fleet: Fleet, comes: Callable[[], None] | None = None
) -> list[dict[str, Any]]:
    """The marks of the fault and its steps, after the plan."""
    experiment = Experiment(claim="x.", faults=(fault,), group=Group(static=fleet._static))
    if isinstance(fleet, Programs):
        experiment = with_app(experiment, App(name="orders", command=("orders",), folder="."))
    view = SimpleNamespace(group={"state": "Stable"})

    def follow() -> None:
        view.group["members"] = len(fleet.live())

    def wait(what: str, condition: Any, _timeout_s: float) -> None:
        for _ in range(10 if comes else 1):
            follow()
            if condition():
                return
            if comes:
                comes()
        else:
            raise WaitTimeout(f"{what} not so in time")

    scene = SimpleNamespace(
        experiment=experiment, fleet=fleet, view=view, partitions=6, steady_at=0.0, faults={},
        late_s=0.0, missed_until=0.0,
        steps=[], follow=follow, wait=wait, pass_time=lambda _until: None, say=lambda _text: None,
        random=random.Random(1), describe=lambda: "the state",
    )  # fmt: skip
    journal = folder / "faults.journal"
    item = nemesis.plan_faults(experiment, random.Random(1))
    nemesis.Nemesis(Journal(journal, member="nemesis"), item).play(cast("Scene", scene))
    marks = [frame for frame in read_journal(journal).frames if frame["kind"] == "fault"]
    return [mark for mark in marks if mark["phase"] != "planned"]


def steps(marks: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was done to whom, by the steps that are on record as done."""
    return [
        (mark["fault_kind"], mark["resolved"])
        for mark in marks
        if mark["phase"] == "injected" and mark["resolved"] != "group"
    ]


def deploy(how: str | None) -> Fault:
    return Fault(kind="deploy", target="group", how=how)


ROLLING: Final = "start 4, end 1, start 5, end 2, start 6, end 3"


@pytest.mark.parametrize(
    ("how", "done"),
    [
        (None, ROLLING),
        ("rolling", ROLLING),
        ("old first", "end 1, start 4, end 2, start 5, end 3, start 6"),
        ("at once", "end 1 and 2 and 3, start 4, start 5, start 6"),
        ("same ids", "end 1, start 4 as 1, end 2, start 5 as 2, end 3, start 6 as 3"),
    ],
)
def test_a_deploy_starts_and_ends_members_in_its_order(
    how: str | None, done: str, tmp_path: Path
) -> None:
    fleet = Fleet(static=how == "same ids")

    marks = played(deploy(how), tmp_path, fleet)

    assert done == ", ".join(each.replace(", ", " and ") for each in fleet.done).replace(
        "member-", ""
    )
    if how != "at once":  # whose ends are one step
        names = {START: "start", END: "end"}
        assert re.sub(r" as \d", "", done) == ", ".join(
            f"{names[kind]} {resolved.removeprefix('member-')}" for kind, resolved in steps(marks)
        )
    # Its record names the way, whether the experiment does or not.
    assert (how or "rolling") == json.loads(marks[0]["parameters"])["way"]


def test_each_step_is_on_record_as_a_fault_of_its_own(tmp_path: Path) -> None:
    marks = played(deploy("rolling"), tmp_path, Fleet())

    first, last = marks[0], marks[-1]
    assert {"fault": "1-deploy", "phase": "injecting", "resolved": "group"}.items() <= first.items()
    assert {"fault": "1-deploy", "phase": "injected", "took_effect": True}.items() <= last.items()
    assert "member-1, member-2, member-3 ended; member-4" in last["evidence"]
    assert "the coordinator counts 3 members" in last["evidence"]
    assert [f"1.{number + 1}-{kind}" for number, kind in enumerate([START, END] * 3)] == [
        mark["fault"] for mark in marks[1:-1:2]
    ]
    ended, *_, done = (mark for mark in marks if mark["fault"] == "1.2-terminate-consumer")
    assert ("injecting", "member-1") == (ended["phase"], ended["resolved"])
    said = "member-1 ended 0.50 s after SIGTERM, with exit code 0"
    assert (7, said) == (done["at_us"], done["evidence"])
    effects = json.loads(done["parameters"])["effects"]
    assert (True, "silence") == (effects["ends_member"], effects["proof"])


@pytest.mark.parametrize(
    ("how", "done"),
    [
        ("rolling", ["start member-4"]),
        ("old first", ["end member-1", "start member-4"]),
    ],
)
def test_a_rollout_stops_where_a_new_process_does_not_get_into_the_group(
    how: str, done: list[str], tmp_path: Path
) -> None:
    fleet = Fleet(broken=("member-4",))

    marks = played(deploy(how), tmp_path, fleet)

    assert done == fleet.done
    assert not marks[-1]["took_effect"]
    assert "member-4 did not get into the group" in marks[-1]["evidence"]


def test_scaling_starts_so_many_and_ends_those_that_came_last(tmp_path: Path) -> None:
    up, down = Fleet(), Fleet()

    played(scale("up", 2), tmp_path, up)
    (tmp_path / "faults.journal").unlink()
    marks = played(scale("down", 2), tmp_path, down)

    assert ["start member-4", "start member-5"] == up.done
    assert ["end member-2, member-3"] == down.done
    assert "member-2, member-3 ended; the coordinator counts 1 member" == marks[-1]["evidence"]


class Programs(Fleet):
    """Processes of a program, of which some ask to join and are not let in.

    Others have asked for nothing yet, and others end as they come.
    """

    mute: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def start_member(self, name: str, instance_id: str | None = None) -> Process:
        member = super().start_member(name, instance_id)
        member.foreign, member.running = True, name not in self.ends
        if name not in (*self.mute, *self.ends):
            member.asked_at = 2_000_000
            member.started = name not in self._broken
        else:
            member.started = False
        return member

    @property
    def brokers(self) -> Any:
        asked = SimpleNamespace(get=lambda name: int(name not in self.mute))
        return SimpleNamespace(requests=asked, refused={}, held_up_s=lambda: 60.0)


def test_a_program_that_asked_to_join_was_started_though_the_rollout_stops_there(
    tmp_path: Path,
) -> None:
    fleet = Programs(broken=("member-5",))

    marks = played(deploy("rolling"), tmp_path, fleet)

    assert ["start member-4", "end member-1", "start member-5"] == fleet.done
    assert marks[-1]["took_effect"]
    assert (
        "member-1 ended; member-4 got into the group; member-5 asked to join, and did not get into "
        "the group"
    ) == marks[-1]["evidence"]
    came = [mark for mark in marks if mark["fault"] == "1.3-start-consumer"][-1]
    assert (True, "member-5 asked to join 2.0 s after its start, and is not in the group") == (
        came["took_effect"], came["evidence"]
    )  # fmt: skip


def test_a_program_that_ends_does_not_cut_short_the_time_that_another_has(
    tmp_path: Path,
) -> None:
    """Of one that was still within its time it was said that it had asked for nothing in all."""
    fleet = Programs()
    fleet.ends = ("member-4",)
    fleet.mute = ("member-5",)
    waits = 0

    def comes() -> None:
        nonlocal waits
        waits += 1
        if waits == 5:
            member = fleet.members["member-5"]
            fleet.mute, member.asked_at, member.started = (), 2_000_000, True

    marks = played(scale("up", 2), tmp_path, fleet, comes=comes)

    heard = {mark["fault"]: mark for mark in marks if mark["phase"] == "injected"}
    assert not heard["1.1-start-consumer"]["took_effect"]
    assert heard["1.2-start-consumer"]["took_effect"]
    assert "member-5 was in the group" in heard["1.2-start-consumer"]["evidence"]


def experiment(*faults: Fault) -> Experiment:
    return Experiment(claim="x.", faults=faults, rules=(RULE,))


def scale(how: str | None, by: int | None, at_s: float = 3) -> Fault:
    return Fault(kind="scale", target="group", how=how, by=by, at_s=at_s)


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ([deploy("same ids")], "same ids is about the group.instance.id"),
        ([deploy("quickly")], "has no variant 'quickly': use how='rolling' or 'old first'"),
        ([Fault(kind="deploy", target="member 1")], "deploy cannot hit 'member 1': use group"),
        ([Fault(kind="deploy", target="group", by=2)], "takes no by: leave by out"),
        ([Fault(kind="kill-consumer", target="group")], "cannot hit 'group'"),
        ([scale(None, None)], "by None changes nothing: say by"),
        ([scale(None, 0)], "by 0 changes nothing: say by"),
        ([scale("down", 3)], "3 members, 0 started and 3 ended by faults: no member is left"),
        (
            [scale("down", 4, at_s=3), scale("up", 4, at_s=9)],
            "scale of group ends 4 members when there are only 3",
        ),
        (
            [deploy("rolling"), Fault(kind="kill-consumer", target="member 7", at_s=30)],
            "the experiment has member 1 to 6",
        ),
    ],
)
def test_what_no_group_can_have_is_refused(faults: list[Fault], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(experiment(*faults))


def test_who_comes_in_anothers_place_is_counted_and_can_be_a_target() -> None:
    count = headcount(experiment(deploy("rolling"), scale("up", 2, at_s=9)))
    assert (8, 5, 5) == (count.ever, count.most, count.left)

    kill = Fault(kind="kill-consumer", target="member 6", at_s=30)
    registry.checked(experiment(deploy("rolling"), kill))


def test_a_deploy_of_an_app_needs_a_lane_for_those_that_live_at_one_time() -> None:
    app = App(name="orders", command=("orders",), folder=".", instances=4)
    of_app = with_app(Experiment(claim="x.", faults=(deploy("rolling"),)), app)

    members = [lane for lane in lanes(of_app) if lane.startswith("member-")]
    assert 4 + SPARE_LANES == len(members)


def test_of_many_members_the_line_names_the_first_and_counts_the_others() -> None:
    names = [f"member-{number}" for number in range(1, 10)]
    assert ", ".join(names[:8]) == deploys._listed(names[:8])
    assert "member-1 and 8 others" == deploys._listed(names)
