"""X32a, X32b and X32d at their edges: single records, and what comes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

Judge = Callable[[History, str], dict[str, Any]]


# X32a


@pytest.mark.parametrize(("first_kept", "verdict"), [(1, "HOLDS"), (0, "VIOLATED")])
def test_a_single_record_may_be_deleted_on_purpose(
    judge: Judge, first_kept: int, verdict: str
) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 1, 19, 100)
    history.commit_request("admin", 300, 0, first_kept)
    history.rows["requests"][-1]["api"] = "DELETE_RECORDS"
    assert verdict == judge(history.end_offset(0, 20), "X32a")["verdict"]


@pytest.mark.parametrize(
    ("sent", "read_to", "missing"), [((10, 29), 19, 10), ((0, 10), 9, 1), ((500, 509), 508, 1)]
)
def test_what_lies_past_the_last_read_is_unseen_wherever_the_partition_begins(
    judge: Judge, sent: tuple[int, int], read_to: int, missing: int
) -> None:
    first, last = sent
    history = History().acknowledged(0, first, last).delivered("member-1", 0, first, read_to, 100)
    verdict = judge(history.end_offset(0, last + 1), "X32a")
    assert ("UNKNOWN", missing) == (verdict["verdict"], verdict["measured_max"])


# X32b


def test_a_poll_is_compared_with_the_furthest_that_came_in_it_before(judge: Judge) -> None:
    history = History()
    for first, last in ((0, 9), (20, 29), (25, 27), (26, 26)):
        history.delivered("member-1", 0, first, last, 100, poll=1)
    verdict = judge(history, "X32b")
    assert "VIOLATED" == verdict["verdict"]
    assert "member-1 had offset 25 twice in its poll 1" in verdict["reason"]


# X32d


def handed_over(again_from: int, **group: Any) -> History:
    """member-1 read 0 to 299 in three batches; member-2 takes over and reads from `again_from`."""
    history = History(group=group).member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "lost", 9_000, [0])
    for batch in range(3):
        history.delivered("member-1", 0, batch * 100, batch * 100 + 99, 1_000 + batch * 2_000)
    history.told("member-2", "assigned", 9_500, [0])
    return history.delivered("member-2", 0, again_from, 399, 10_000)


def read_again_in_two_polls(**group: Any) -> History:
    """member-2 reads 100 to 199 again, and then all that follows."""
    history = handed_over(100, **group)
    history.rows["deliveries"][-1].update(last_offset=199, count=100)
    return history.delivered("member-2", 0, 200, 399, 10_100)


def test_the_last_that_the_one_before_read_ends_its_last_interval(judge: Judge) -> None:
    """It read 100 to 199 at 3 s and 200 to 299 at 5 s, and something else just before that."""
    history = read_again_in_two_polls(commit="auto", auto_commit_interval_ms=500)
    history.delivered("member-1", 0, 1_000, 1_009, 4_900)
    verdict = judge(history, "X32d")
    assert ("HOLDS", 200, 210) == (
        verdict["verdict"], verdict["measured_max"], verdict["bound_high"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("again_from", "count", "bound"),
    [(299, 1, 200), (300, 0, 100)],  # nothing was open, so an interval allows no more than a batch
)
def test_one_record_that_comes_again_was_of_the_last_interval(
    judge: Judge, again_from: int, count: int, bound: int
) -> None:
    history = handed_over(again_from, commit="auto", auto_commit_interval_ms=500)
    verdict = judge(history, "X32d")
    assert (count, bound) == (verdict["measured_max"], verdict["bound_high"])


@pytest.mark.parametrize(("again_ms", "count"), [(12_000, 100), (12_001, 0)])
def test_what_it_reads_as_it_loses_the_partition_is_the_hand_overs(
    judge: Judge, again_ms: float, count: int
) -> None:
    history = handed_over(300).told("member-2", "lost", 12_000, [0])
    history.delivered("member-2", 0, 200, 299, again_ms)
    assert count == judge(history, "X32d")["measured_max"]
