"""How long programs may take, by what their owner says and by what they announce."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.base.errors import WaitTimeout
from harness.base.wait import wait_until
from harness.catalogue.apps import with_app
from harness.experiment import Experiment, Fault, Group
from harness.experiment.app import App
from harness.run import joining
from harness.run.faults import KINDS, member_faults
from harness.run.faults.member_faults import how_it_came, is_lost
from harness.run.faults.targets import Target
from harness.run.scene import Patience, Scene


def scene(
    *,
    held_up_s: float = 0.0,
    session_s: float | None = None,
    silent: bool = False,
    refused: int | None = None,
    **said: Any,
) -> Any:
    app = App(name="orders", command=("orders",), folder=".", **said)
    brokers = SimpleNamespace(
        held_up_s=lambda: held_up_s,
        session_s=lambda _name: session_s,
        requests=SimpleNamespace(get=lambda _name: int(not silent)),
        refused=SimpleNamespace(get=lambda _name: refused),
    )
    fleet = SimpleNamespace(brokers=brokers)
    view = SimpleNamespace(group={"state": "PreparingRebalance"})
    return SimpleNamespace(
        experiment=with_app(Experiment(claim="x."), app), fleet=fleet, view=view, partitions=6
    )


def seconds(found: Patience) -> float:
    return found() if callable(found) else found


def test_a_join_may_take_as_long_as_members_announced() -> None:
    """Java and librdkafka announce five minutes, Sarama one."""
    unknown, java = scene(), scene(held_up_s=300)

    assert (90, 90) == (joining.join_s(unknown), seconds(joining.steady_s(unknown)))
    assert (390, 390) == (joining.join_s(java), seconds(joining.steady_s(java)))
    assert (120, 360) == (
        seconds(joining.recover_s(unknown)),
        seconds(joining.recover_s(java)),
    )
    assert 30 == joining.commits_s(java)


def test_what_its_owner_says_counts() -> None:
    said = scene(held_up_s=60, start_s=20, steady_s=400)

    assert (20, 80) == (joining.start_s(said), joining.join_s(said))
    assert (400, 400) == (seconds(joining.steady_s(said)), seconds(joining.recover_s(said)))
    assert 400 == joining.commits_s(said)
    assert 80 == seconds(joining.steady_s(scene(held_up_s=60, start_s=20)))
    assert 150 == seconds(joining.steady_s(scene(start_s=150, steady_s=30)))


def test_of_our_own_members_everything_is_declared() -> None:
    declared = Experiment(claim="x.", group=Group(max_poll_interval_ms=70_000))
    ours = cast("Scene", SimpleNamespace(experiment=declared))

    assert (90, 130, 30) == (
        joining.steady_s(ours),
        joining.recover_s(ours),
        joining.commits_s(ours),
    )


def test_who_was_killed_is_missed_for_the_session_that_it_announced() -> None:
    assert 0 == joining.missed_s(scene(), "member-1")
    assert 35 == joining.missed_s(scene(session_s=30), "member-1")


def test_a_wait_grows_with_what_is_seen() -> None:
    asked: list[float] = []

    def limit_s() -> float:
        asked.append(0.0)
        return 0.0 if len(asked) > 3 else 60.0

    with pytest.raises(WaitTimeout, match="no end after 0 s"):
        wait_until("end", lambda: False, timeout_s=limit_s, every_s=0)
    assert 4 == len(asked)


def process(**more: Any) -> Any:
    known = {
        "asked_at": 0,
        "running": True,
        "foreign": True,
        "started": False,
        "closed": False,
        "exit_code": None,
    }
    return SimpleNamespace(name="member-4", started_at=1_000_000, **known | more)


@pytest.mark.parametrize(
    ("member", "stage", "took_effect", "says"),
    [
        (process(asked_at=9_200_000), scene(), True, "asked to join 8.2 s after its start, and is"),
        (process(started=True), scene(), True, "a coordinator let member-4 into the group"),
        (
            process(started=True, closed=True),
            scene(),
            True,
            "a coordinator let member-4 into the group, and it has left again",
        ),
        (process(), scene(refused=24), False, "asked to join, was refused with error 24"),
        (
            process(asked_at=9_200_000),
            scene(refused=81),
            True,
            "asked to join 8.2 s after its start, and was refused with error 81",
        ),
        (
            process(running=False, exit_code=3),
            scene(refused=24),
            False,
            "asked to join, was refused with error 24, and ended with exit code 3",
        ),
        (
            process(),
            scene(),
            False,
            "has spoken to the brokers, and no JoinGroup of it was answered",
        ),
        (
            process(),
            scene(silent=True, start_s=40),
            False,
            "for nothing within 40 s of its start: if it takes longer, say how long by start_s",
        ),
        (
            process(running=False, exit_code=3),
            scene(silent=True),
            False,
            "ended with exit code 3 before it asked to join",
        ),
    ],
)
def test_a_join_on_record_is_proof_enough_that_a_process_was_started(
    member: Any, stage: Any, took_effect: bool, says: str
) -> None:
    found = how_it_came(stage, member)

    assert took_effect == found.took_effect
    assert says in found.text


def test_who_is_in_the_group_was_let_in() -> None:
    stage = scene()
    stage.view.group = {"state": "Stable"}

    found = how_it_came(stage, process(started=True))

    assert (True, "a coordinator let member-4 into the group") == (found.took_effect, found.text)


def test_only_who_has_asked_for_nothing_in_its_time_is_given_up() -> None:
    never, long_ago = float("inf"), -1_000.0

    assert is_lost(scene(), process(running=False), never)
    assert not is_lost(scene(silent=True), process(), never)
    assert not is_lost(scene(silent=False), process(), long_ago)
    assert is_lost(scene(silent=True), process(), long_ago)
    assert not is_lost(scene(silent=True), process(foreign=False), long_ago)


@pytest.mark.parametrize(("asked_at", "waited_s"), [(9_000_000, 30.0), (0, 210.0)])
def test_who_has_asked_to_join_is_not_waited_for_until_others_let_it_in(
    asked_at: int, waited_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is to be healed then would be late by as long as one member is stuck."""
    clock = SimpleNamespace(now_s=0.0)
    stage, member = scene(held_up_s=120), process(asked_at=asked_at)

    def wait(what: str, condition: Any, timeout_s: Any) -> None:
        while not condition():
            clock.now_s += 1
            if clock.now_s >= timeout_s():
                raise WaitTimeout(f"no {what}")

    stage.wait, stage.fleet.members = wait, {"member-4": member}
    monkeypatch.setattr(member_faults, "time", SimpleNamespace(monotonic=lambda: clock.now_s))

    fault = Fault(kind="start-consumer", target="new member")
    found = KINDS["start-consumer"].prove(stage, fault, Target("member", "member-4"))

    assert (waited_s, bool(asked_at)) == (clock.now_s, found.took_effect)
