"""What ends by itself is started again: at once, and then after longer and longer pauses."""

from __future__ import annotations

import pytest

from harness.run.app_processes import CAME_UP_S, LONGEST_PAUSE_S, MOST, MOST_AT_FIRST, Restarts


def line_of(lived_s: list[float], *, settled: bool = True) -> list[float]:
    """Pauses before each process that takes the place of one which lived for so long."""
    restarts, name, pauses = Restarts(), "member-1", []
    for number, each_s in enumerate(lived_s):
        restarts.ended(name, None, each_s, 100.0, settled=settled)
        tenths = next(tenths for tenths in range(1_000) if due(restarts, 100 + tenths / 10, number))
        pauses.append(tenths / 10)
        name = f"line-{number}"
    return pauses


def due(restarts: Restarts, now_s: float, number: int) -> bool:
    found = list(restarts.due(now_s))
    for _, soon in found:
        restarts.started(f"line-{number}", soon)
    return bool(found)


def test_what_had_come_up_is_started_again_at_once() -> None:
    assert [0.0, 0.0] == line_of([CAME_UP_S, 3_600.0])


def test_what_ends_soon_is_waited_for_twice_as_long_each_time() -> None:
    pauses = line_of([60.0, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04])
    assert [0.0, 0.0, 1.0, 2.0, 4.0, 8.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S] == pauses


def test_a_controller_may_miss_a_broker_in_between() -> None:
    """Three processes that end with their coordinator are there when it has been replaced."""
    pauses = line_of([60.0, 0.04, 0.04, 0.04, 0.04, 0.04])
    assert sum(pauses) > 9.0
    assert 3 * len(pauses) <= MOST


def test_one_that_came_up_begins_anew() -> None:
    assert [0.0, 1.0, 0.0, 0.0, 1.0] == line_of([0.1, 0.1, CAME_UP_S, 0.1, 0.1])


def test_nothing_waits_before_the_group_was_steady() -> None:
    assert [0.0] * 4 == line_of([0.1] * 4, settled=False)


@pytest.mark.parametrize(("settled", "most"), [(True, MOST), (False, MOST_AT_FIRST)])
def test_there_is_an_end_to_it(settled: bool, most: int) -> None:
    restarts = Restarts()
    for number in range(most):
        assert not restarts.exhausted(settled=settled)
        restarts.ended(f"member-{number}", None, 60.0, 0.0, settled=settled)
        assert [(None, 0)] == list(restarts.due(0.0))
    assert restarts.exhausted(settled=settled)
    assert most == restarts.done


def test_each_line_has_its_own_pauses_and_its_instance_id() -> None:
    restarts = Restarts()
    restarts.ended("member-1", "one", 0.1, 0.0, settled=True)
    assert [("one", 1)] == list(restarts.due(0.0))
    restarts.started("member-3", 1)
    restarts.ended("member-3", "one", 0.1, 0.0, settled=True)
    restarts.ended("member-2", "two", 0.1, 0.0, settled=True)

    assert [("two", 1)] == list(restarts.due(0.9))
    assert restarts.pending
    assert [("one", 2)] == list(restarts.due(1.0))
    assert not restarts.pending


def test_what_is_forgotten_never_comes() -> None:
    restarts = Restarts()
    restarts.ended("member-1", None, 60.0, 0.0, settled=True)
    restarts.forget()
    assert not restarts.pending
    assert [] == list(restarts.due(9.0))
