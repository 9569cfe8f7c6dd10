"""Whether clients worked, and the machine that they ran on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, at_work

Judge = Callable[[History, str], dict[str, Any]]


# E02


@pytest.mark.parametrize(("read", "verdict"), [(True, "HOLDS"), (False, "UNKNOWN")])
def test_who_left_no_word_of_its_start_is_judged_by_what_it_read(
    judge: Judge, read: bool, verdict: str
) -> None:
    history = at_work().member("member-2", started_at=None)
    if read:
        history.delivered("member-2", 1, 0, 9, 100)
    assert verdict == judge(history, "E02")["verdict"]


@pytest.mark.parametrize(("members", "verdict"), [(6, "VIOLATED"), (7, "HOLDS")])
def test_of_as_many_members_as_partitions_each_has_one(
    judge: Judge, members: int, verdict: str
) -> None:
    """The last of them reads nothing."""
    history = at_work()
    for number in range(2, members + 1):
        history.member(f"member-{number}")
        if number < members:
            history.delivered(f"member-{number}", number - 1, 0, 9, 100)
    assert verdict == judge(history, "E02")["verdict"]


@pytest.mark.parametrize(("started_ms", "verdict"), [(49_999, "VIOLATED"), (50_000, "HOLDS")])
def test_who_started_ten_seconds_before_the_drain_has_read_something(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = at_work().member("member-2", started_at=at(started_ms))
    assert verdict == judge(history, "E02")["verdict"]


def test_the_producer_worked_from_its_first_record_on(judge: Judge) -> None:
    history = at_work().acknowledged(1, 0, 4, first_sent_at=at(2_000))
    history.acknowledged(2, 0, 4, first_sent_at=at(1_000))
    history.acknowledged(3, 0, 99, first_sent_at=at(3_000), outcome="failed")
    (row,) = (row for row in judge(history, "E02")["rows"] if row["subject"] == "producer")
    assert (20, at(0)) == (row["measured"], row["at"])


# E04


def test_one_tick_is_a_record_of_the_clock(judge: Judge) -> None:
    verdict = judge(History().tick(100, 3.0), "E04")
    assert ("HOLDS", 3.0) == (verdict["verdict"], verdict["measured_max"])


def test_the_worst_of_several_changes_of_the_clock_and_of_several_gaps_is_told(
    judge: Judge,
) -> None:
    """The time of day is set ahead by 3 s and by 0.9 s; ticks are missing for 2 s and for 1 s."""
    history = History()
    ticks = (
        (100, 100), (3_200, 200), (4_200, 300), (6_300, 2_400), (7_400, 3_500), (7_500, 3_600),
    )  # fmt: skip
    for ms, clock_ms in ticks:
        history.add("host", at=at(ms), late_ms=0.0, clock_us=clock_ms * 1_000)
    (row,) = judge(history, "E04")["rows"]
    told = (
        "; the time of day was set 2 times, by 3000.0 ms at most; ticks are missing for 2000.0 ms"
    )
    assert row["note"].endswith(told)
