"""How the first members of a group are started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.experiment import Experiment, Group
from harness.run import joining
from harness.run.scene import Scene


@dataclass
class Started:
    """A member that is ready once it has been waited for."""

    name: str
    started: bool = False
    foreign: bool = False


@dataclass
class Starting:
    """A scene in which each wait has one more member come up; `most` were starting at one time."""

    experiment: Experiment
    members: list[Started] = field(default_factory=list)
    most: int = 0

    @property
    def fleet(self) -> Any:
        return SimpleNamespace(start_member=self._start)

    def _start(self, name: str, *, joins_when_told: bool) -> Started:
        assert joins_when_told
        self.members.append(Started(name))
        self.most = max(self.most, sum(not each.started for each in self.members))
        return self.members[-1]

    def wait(self, _what: str, condition: Callable[[], bool], _timeout_s: float) -> None:
        while not condition():
            next(each for each in self.members if not each.started).started = True


@pytest.mark.parametrize(("members", "most"), [(3, 3), (8, 8), (200, 8)])
def test_hundreds_of_members_start_a_few_at_a_time(members: int, most: int) -> None:
    """All at once they leave brokers and observer no processor."""
    scene = Starting(Experiment(claim="x.", group=Group(members=members)))
    ready = joining.start_ready(cast(Scene, scene))

    assert [f"member-{number}" for number in range(1, members + 1)] == [m.name for m in ready]
    assert all(each.started for each in ready)
    assert most == scene.most


def test_programs_of_which_no_one_knows_how_far_they_are_wait_for_nothing() -> None:
    scene = Starting(Experiment(claim="x."))
    joining.await_room(cast(Scene, scene), cast(Any, [Started("x", foreign=True)] * 200))

    assert not scene.members


def test_members_that_come_apart_are_not_started_ahead() -> None:
    group = Group(members=3, arrive_every_ms=500)

    assert [] == joining.start_ready(cast(Scene, Starting(Experiment(claim="x.", group=group))))
