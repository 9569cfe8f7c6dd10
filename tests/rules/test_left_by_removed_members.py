"""R19 at its edges: what a removed member left, and who could have read it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def evicted() -> History:
    """member-1 read 0 to 29 and committed 20 of them; it is evicted at 10 s."""
    history = History().member("member-1").member("member-2")
    history.says("member_added", 0, "member-1").join("member-1", 5).join("member-2", 5)
    history.delivered("member-1", 0, 0, 29, 1_000).commit_request("member-1", 1_500, 0, 20)
    return history.says("evicted", 10_000, "member-1").rebalance(10_001, 2, 1)


def test_what_it_read_as_it_was_removed_is_of_the_stay_that_ended(judge: Judge) -> None:
    """It is read again after that, and is no work of the next stay."""
    history = evicted().delivered("member-1", 0, 30, 34, 10_000)
    history.delivered("member-2", 0, 20, 34, 13_000).says("member_added", 14_000, "member-1")
    history.delivered("member-1", 0, 35, 39, 15_000).says("evicted", 20_000, "member-1")
    verdict = judge(history.delivered("member-2", 0, 35, 39, 21_000), "R19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_single_record_is_work_too(judge: Judge) -> None:
    history = evicted()
    history.rows["requests"], history.rows["deliveries"] = history.rows["requests"][:2], []
    history.delivered("member-1", 0, 0, 0, 1_000).told("member-2", "assigned", 10_100, [0])
    assert "VIOLATED" == judge(history, "R19")["verdict"]
    assert "HOLDS" == judge(history.delivered("member-2", 0, 0, 0, 13_000), "R19")["verdict"]


@pytest.mark.parametrize(("arrived_ms", "verdict"), [(10_050, "HOLDS"), (10_051, "VIOLATED")])
def test_a_commit_whose_write_timed_out_may_have_come_within_the_slack_of_the_removal(
    judge: Judge, arrived_ms: float, verdict: str
) -> None:
    history = evicted().delivered("member-2", 0, 25, 29, 13_000)
    history.commit_request("member-1", 10_060, 0, 25, error=15, arrived_at=at(arrived_ms))
    found = {row["subject"]: row["ok"] for row in judge(history, "R19")["rows"]}
    assert (verdict == "HOLDS") == found["t-0 after member-1"]


def test_what_a_commit_under_way_may_cover_whole_need_not_come_again(judge: Judge) -> None:
    history = evicted().delivered("member-2", 0, 30, 39, 13_000)
    history.commit_request("member-1", 10_060, 0, 30, error=15, arrived_at=at(9_990))
    found = {row["subject"]: row["ok"] for row in judge(history, "R19")["rows"]}
    assert found["t-0 after member-1"]


def test_the_last_record_comes_again_if_it_alone_is_left(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 1_600, 0, 29)
    found = judge(history, "R19")
    assert "UNKNOWN" == found["verdict"]  # nobody could have read it
    history.delivered("member-2", 0, 30, 39, 13_000)
    assert "VIOLATED" == judge(history, "R19")["verdict"]
    history.delivered("member-2", 0, 29, 29, 14_000)
    (row,) = judge(history, "R19")["rows"]
    assert (True, "1 records read and not committed") == (row["ok"], row["why"])


def test_how_much_was_left_is_told(judge: Judge) -> None:
    (row,) = judge(evicted().delivered("member-2", 0, 20, 29, 13_000), "R19")["rows"]
    assert (True, "10 records read and not committed") == (row["ok"], row["why"])


def test_who_reads_in_the_moment_of_a_removal_is_not_its_next_owner(judge: Judge) -> None:
    """member-3 hands out what it had fetched before it was removed itself; member-2 has t-0 next.

    Where nobody has it next, nobody could have read it.
    """
    history = evicted().delivered("member-3", 0, 20, 29, 10_000)
    assert "UNKNOWN" == judge(history, "R19")["verdict"]
    history.told("member-2", "assigned", 10_100, [0])
    assert "VIOLATED" == judge(history, "R19")["verdict"]


@pytest.mark.parametrize(
    ("again_ms", "verdict"), [(12_000, "VIOLATED"), (13_000, "VIOLATED"), (13_001, "HOLDS")]
)
def test_what_it_hands_out_before_it_is_back_it_had_fetched_before(
    judge: Judge, again_ms: float, verdict: str
) -> None:
    history = evicted().says("member_added", 13_000, "member-1")
    assert verdict == judge(history.delivered("member-1", 0, 20, 29, again_ms), "R19")["verdict"]


def test_a_commit_that_the_coordinator_never_answered_cannot_be_judged(judge: Judge) -> None:
    history = evicted().delivered("member-2", 0, 20, 29, 13_000)
    history.commit_request("member-1", 12_000, 0, 30)
    history.rows["requests"][-1]["positions"][0]["error_code"] = None
    verdict = judge(history, "R19")
    assert ("UNKNOWN", 2) == (verdict["verdict"], verdict["examined"])
    assert "was never answered" in verdict["reason"]


@pytest.mark.parametrize(("error", "told"), [(None, "never answered"), (25, "refused: 25")])
def test_what_the_client_heard_of_its_commit_is_told(
    judge: Judge, error: int | None, told: str
) -> None:
    history = evicted().asked_commit("member-1", 12_000, 0, 30, error=error)
    rows = judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["rows"]
    assert [told] == [row["why"] for row in rows if "(client)" in row["subject"]]
