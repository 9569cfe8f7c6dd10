from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat

Judge = Callable[[History, str], dict[str, Any]]


def given(*sizes: int, missing: int = 0) -> History:
    """One generation; member-1 leads and gives so many partitions to each member of six in all."""
    history = History().rebalance(0, 1, len(sizes))
    gives, number = [], 0
    for member, size in enumerate(sizes, start=1):
        name = f"member-{member}"
        history.says("member_added", 1, name).join(name, 5)
        gives += [(name, number + each) for each in range(size)]
        number += size
    assert 6 == number + missing
    return history.sync("member-1", 15, gives=gives)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3), (2, 2, 1, 1), (1, 1, 1, 1, 1, 1, 0), (6,)])
def test_an_even_spread_holds(judge: Judge, sizes: tuple[int, ...]) -> None:
    verdict = judge(given(*sizes), "R22")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("sizes", [(3, 2, 1), (4, 2), (6, 0)])
def test_two_more_than_another_violates(judge: Judge, sizes: tuple[int, ...]) -> None:
    assert "VIOLATED" == judge(given(*sizes), "R22")["verdict"]


def test_an_assignment_that_leaves_partitions_out_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(given(4, 0, missing=2), "R22")["verdict"]


def test_of_a_topic_that_has_grown_the_whole_is_more(judge: Judge) -> None:
    history = given(4, 2)
    assert "VIOLATED" == judge(history, "R22")["verdict"]
    for partition in range(8):
        history.add("topology", at=at(10), what="t", topic="t", partition=partition, leader=1)
    assert "UNKNOWN" == judge(history, "R22")["verdict"]


def test_a_group_that_knows_of_more_partitions_than_the_observer_does_is_examined(
    judge: Judge,
) -> None:
    verdict = judge(given(4, 3, missing=-1), "R22")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_process_that_comes_later_in_the_place_of_another_is_not_counted(judge: Judge) -> None:
    history = given(3, 3).says("replaced", 9_000, "member-2", instance_id="member-2")
    history.join("member-2", 9_001, life=2, instance_id="member-2")
    assert "HOLDS" == judge(history, "R22")["verdict"]


def told(first: int, second: int, *, completed: bool = True) -> History:
    """KIP-848: member-1 has all six, and keeps `first` of them when member-2 gets `second`."""
    history = History(group={"protocol": "consumer"})
    for number, ms in ((1, 0), (2, 5_000)):
        history.says("member_added", ms, f"member-{number}")
        history.says("epoch_bumped", ms, generation=number, reason="hash")
        history.says("target_computed", ms, generation=number, reason="uniform")
    beat(history, "member-1", 0, 0, 1, *range(6))
    beat(history, "member-2", 5_000, 0, 2)
    beat(history, "member-1", 6_000, 1, 2, *range(first))
    if completed:
        beat(history, "member-2", 8_000, 2, 2, *range(6 - second, 6))
    return history


@pytest.mark.parametrize(
    ("first", "second", "worst"), [(3, 3, "HOLDS"), (4, 2, "VIOLATED"), (6, 0, "VIOLATED")]
)
def test_in_the_consumer_protocol_the_broker_spreads_them(
    judge: Judge, first: int, second: int, worst: str
) -> None:
    verdict = judge(told(first, second), "R22")
    assert (worst, 2) == (verdict["verdict"], verdict["examined"])


def test_in_the_consumer_protocol_what_is_still_to_be_told_is_not_counted(judge: Judge) -> None:
    """The first epoch only: of the second, member-1 has let go of what nobody has been given."""
    verdict = judge(told(3, 3, completed=False), "R22")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_in_the_consumer_protocol_who_joins_after_the_target_is_in_the_next(judge: Judge) -> None:
    """member-2 is there before member-1 has been told of all six partitions."""
    history = History(group={"protocol": "consumer"})
    for number, ms in ((1, 0), (2, 50)):
        history.says("member_added", ms, f"member-{number}")
        history.says("epoch_bumped", ms, generation=number, reason="hash")
        history.says("target_computed", ms + 1_000 * (number - 1), generation=number, reason="x")
    beat(history, "member-1", 100, 0, 1, *range(6))
    beat(history, "member-2", 50, 0, 1)
    verdict = judge(history, "R22")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_in_the_consumer_protocol_who_has_not_heard_leaves_it_open(judge: Judge) -> None:
    """member-3 has heard nothing since the first epoch, and may have to give something up."""
    history = told(3, 3)
    history.says("member_added", 0, "member-3")
    beat(history, "member-3", 0.5, 0, 1)
    verdict = judge(history, "R22")
    assert 2 not in [int(row["subject"].split()[1]) for row in verdict["rows"]]
