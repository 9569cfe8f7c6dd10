from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, beat

Judge = Callable[[History, str], dict[str, Any]]


def epochs() -> History:
    """The group is in epoch 2 from 0 s and in epoch 3 from 5 s on; member-1 follows."""
    history = History(group={"protocol": "consumer"})
    history.says("epoch_bumped", 0, generation=2).says("epoch_bumped", 5_000, generation=3)
    beat(history, "member-1", 10, 0, 2)
    beat(history, "member-1", 4_000, 2, 2)
    beat(history, "member-1", 6_000, 2, 3)
    return history


# X35


def test_epochs_that_count_up_hold(judge: Judge) -> None:
    verdict = judge(epochs(), "X35")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("generation", "broker", "verdict"),
    [
        (4, 1, "HOLDS"),
        (5, 1, "VIOLATED"),
        (3, 1, "VIOLATED"),
        (2, 1, "VIOLATED"),
        (3, 2, "HOLDS"),
        (2, 2, "VIOLATED"),
    ],
)
def test_a_group_epoch_is_neither_left_out_nor_used_again(
    judge: Judge, generation: int, broker: int, verdict: str
) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=generation, broker=broker)
    assert verdict == judge(history, "X35")["verdict"]


def test_an_epoch_that_could_not_be_written_may_be_used_again(judge: Judge) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=3)
    history.fault("kill-broker", "broker-3", 15_000, 18_000)
    assert "HOLDS" == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("names", "told", "verdict"),
    [
        (3, 3, "HOLDS"),
        (2, 3, "VIOLATED"),
        (3, 2, "VIOLATED"),
        (3, 4, "VIOLATED"),
        (0, 3, "HOLDS"),
        (0, 2, "HOLDS"),
        (-1, -1, "HOLDS"),
    ],
)
def test_a_member_names_what_it_was_told_and_is_told_no_less(
    judge: Judge, names: int, told: int, verdict: str
) -> None:
    history = epochs()
    beat(history, "member-1", 8_000, names, told)
    assert verdict == judge(history, "X35")["verdict"]


def test_an_answer_that_was_lost_leaves_the_epoch_before(judge: Judge) -> None:
    history = epochs().member("member-1")
    beat(history, "member-1", 8_000, 2, 3)
    lost = history.fault("isolate", "member-1", 6_500, 7_000)
    assert "HOLDS" == judge(lost, "X35")["verdict"]


def test_a_group_that_changes_its_protocol_is_not_judged_by_its_epochs(judge: Judge) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=7).says("upgraded", 19_000)
    verdict = judge(history, "X35")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_epochs_or_members_x35_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(group={"protocol": "consumer"}), "X35")["verdict"]
