"""R12 and R20: whom a generation keeps, what stops a coordinator, and which rebalance is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

Judge = Callable[[History, str], dict[str, Any]]


# R12


@pytest.mark.parametrize(
    ("added_ms", "removed_ms", "verdict"),
    [
        (10, None, "HOLDS"),
        (11, None, "VIOLATED"),
        (-50, 20_000, "HOLDS"),
        (-50, 10, "HOLDS"),  # it was kept, and removed in the same moment
        (-50, 9, "VIOLATED"),
    ],
)
def test_a_static_member_is_kept_that_is_in_the_group_when_all_have_joined(
    judge: Judge, added_ms: float, removed_ms: float | None, verdict: str
) -> None:
    """That is at 10 ms; two of its three members have joined this generation."""
    history = History().rebalance(0, 1, 3).join("member-1", 5).join("member-2", 8)
    history.says("member_added", added_ms, "member-3").join("member-3", -60, 0, instance_id="a")
    if removed_ms is not None:
        history.says("evicted", removed_ms, "member-3")
    assert verdict == judge(history, "R12")["verdict"]


def test_one_member_that_joined_does_not_make_three(judge: Judge) -> None:
    verdict = judge(History().rebalance(0, 1, 3).join("member-1", 5), "R12")
    assert "has 3 members, of whom 1 joined it" in verdict["reason"]


# R20b


@pytest.mark.parametrize(
    ("broker", "from_ms", "to_ms", "verdict"),
    [
        (1, 9_000, 9_500, "HOLDS"),
        (2, 9_000, 9_500, "VIOLATED"),
        (1, 2_000, 3_000, "VIOLATED"),
    ],
)
def test_a_coordinator_that_was_stopped_then_may_start_a_rebalance_late(
    judge: Judge, broker: int, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = History().says("left", 10_000, "member-2").rebalance(10_300, 2, 2)
    history.fault("pause-broker", f"broker-{broker}", from_ms, to_ms)
    judged = judge(history, "R20b")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_the_reason_of_the_first_rebalance_after_a_silent_close_is_told(judge: Judge) -> None:
    history = History().member("member-2", instance_id="member-2")
    history.told("member-2", "closing", 10_000).rebalance(10_010, 2, 1, "a session ended")
    judged = judge(history.rebalance(12_000, 3, 1, "zero members"), "R20b")
    assert ["a static member does not announce that it leaves; a session ended"] == [
        row["why"] for row in judged["rows"]
    ]
