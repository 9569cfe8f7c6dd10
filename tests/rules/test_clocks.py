from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def commits(off_ms: float, count: int = 3) -> History:
    """Each takes 3 ms to arrive, is answered 4 ms later, and known 3 ms after that."""
    history = History()
    for number in range(count):
        ms = 1_000.0 * number
        history.asked_commit("member-1", ms, 0, number, answered_at=at(ms + 10))
        stamps: dict[str, Any] = dict.fromkeys(("processed_at", "answered_at"), at(ms + 7 + off_ms))
        history.commit_request("member-1", ms + 3 + off_ms, 0, number, **stamps)
    return history


# E10


@pytest.mark.parametrize(
    ("off_ms", "measured", "verdict"),
    [
        (0, 0, "HOLDS"),
        (-3, 0, "HOLDS"),
        (3, 0, "HOLDS"),
        (4, 1, "HOLDS"),
        (-53, -50, "HOLDS"),
        (-54, -51, "UNKNOWN"),
        (53, 50, "HOLDS"),
        (54, 51, "UNKNOWN"),
        (3_600_000, 3_599_997, "UNKNOWN"),
    ],
)
def test_a_clock_is_bounded_by_commits(
    judge: Judge, off_ms: float, measured: float, verdict: str
) -> None:
    judged = judge(commits(off_ms), "E10")
    assert (verdict, measured) == (judged["verdict"], judged["rows"][0]["measured"])


def test_one_line_that_was_stamped_late_is_no_clock(judge: Judge) -> None:
    history = commits(0, 5)
    for row in history.rows["requests"][:2]:
        for name in ("arrived_at", "processed_at", "answered_at"):
            row[name] += at(200) - at(0)
    assert "HOLDS" == judge(history, "E10")["verdict"]


def test_a_clock_that_is_set_ahead_during_a_run_is_ahead(judge: Judge) -> None:
    """The first commit arrives in the same millisecond; all others show it 100 ms ahead."""
    history = commits(103, 5)
    for name in ("arrived_at", "processed_at", "answered_at"):
        history.rows["requests"][0][name] = at(0)
    judged = judge(history, "E10")
    assert ("UNKNOWN", 100) == (judged["verdict"], judged["rows"][0]["measured"])


def test_two_commits_and_those_that_cannot_be_told_apart_bound_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(commits(0, 2), "E10")["verdict"]
    assert 0 == judge(commits(0, 2), "E10")["examined"]
    assert 0 == judge(commits(0, 3).commit_request("member-1", 9_000, 0, 1), "E10")["examined"]
