"""What a program of somebody else's reads, commits and repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
DRAIN = 57_000  # when the producer has stopped


# P1


def committed(*positions: tuple[float, int], end: int = 100) -> History:
    history = an_app("member-1").end_offset(0, end)
    for ms, position in positions:
        history.commit_request("member-1", ms, 0, position)
    return history


@pytest.mark.parametrize(
    ("positions", "end", "verdict", "measured"),
    [
        ([(50_000, 100)], 100, "HOLDS", 0),
        ([(50_000, 90), (58_500, 100)], 100, "HOLDS", 1_500),
        ([(50_000, 90)], 100, "VIOLATED", None),
        ([], 100, "VIOLATED", None),
        ([], 0, "HOLDS", None),
    ],
)
def test_a_partition_is_committed_to_its_end(
    judge: Judge,
    positions: list[tuple[float, int]],
    end: int,
    verdict: str,
    measured: float | None,
) -> None:
    found = judge(committed(*positions, end=end), "P1")
    assert (verdict, measured) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(("drained_s", "verdict"), [(1.5, "HOLDS"), (1.4, "VIOLATED")])
def test_the_time_is_what_was_promised(judge: Judge, drained_s: float, verdict: str) -> None:
    history = committed((DRAIN + 1_500, 100))
    history.limits["drained_s"] = drained_s
    assert verdict == judge(history, "P1")["verdict"]


@pytest.mark.parametrize(("last", "verdict"), [(99, "HOLDS"), (98, "VIOLATED")])
def test_a_program_that_shows_its_work_need_not_have_committed_it(
    judge: Judge, last: int, verdict: str
) -> None:
    history = committed((50_000, 50)).shows("member-1", 0, 0, last, 58_000)
    assert verdict == judge(history, "P1")["verdict"]


def test_without_end_offsets_nothing_is_known(judge: Judge) -> None:
    assert "UNKNOWN" == judge(an_app("member-1"), "P1")["verdict"]


# P2


@pytest.mark.parametrize(
    ("position", "verdict"), [(50, "HOLDS"), (100, "HOLDS"), (101, "VIOLATED")]
)
def test_a_commit_is_below_what_was_fetched(judge: Judge, position: int, verdict: str) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.fetch("member-1", 0, 0, 1_000, upto=100).fetch("member-1", 0, 100, 1_100)
    history.commit_request("member-1", 2_000, 0, position)
    assert verdict == judge(history, "P2")["verdict"]


@pytest.mark.parametrize(("late_ms", "verdict"), [(290, "HOLDS"), (310, "VIOLATED")])
def test_a_fetch_may_be_stamped_after_the_commit_that_follows_it(
    judge: Judge, late_ms: int, verdict: str
) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 2_000 + late_ms, upto=100)
    assert verdict == judge(history.commit_request("member-1", 2_000, 0, 100), "P2")["verdict"]


@pytest.mark.parametrize(("committed", "verdict"), [(100, "HOLDS"), (101, "VIOLATED")])
@pytest.mark.parametrize("again_from", [0, 60])
def test_what_was_queued_before_a_rebalance_may_be_committed_after_it(
    judge: Judge, again_from: int, committed: int, verdict: str
) -> None:
    """It had 0 to 99 in its queue, is given t-0 again at 60, and goes on with its queue."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.told_position("member-1", 0, again_from, 5_000)
    history.commit_request("member-1", 5_010, 0, committed)
    history.fetch("member-1", 0, again_from, 9_000, upto=200)
    assert verdict == judge(history, "P2")["verdict"]


def test_what_the_group_had_committed_may_be_committed_again(judge: Judge) -> None:
    history = an_app("member-1", "member-2").fetch("member-1", 0, 0, 1_000, upto=100)
    history.commit_request("member-1", 2_000, 0, 100).commit_request("member-2", 3_000, 0, 100)
    assert "HOLDS" == judge(history, "P2")["verdict"]


def test_a_killed_broker_may_have_answered_what_it_did_not_log(judge: Judge) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.fault("kill-broker", "broker-2", 1_500, 9_000)
    history.commit_request("member-1", 2_000, 0, 120)
    assert "UNKNOWN" == judge(history, "P2")["verdict"]


def test_a_refused_commit_is_none(judge: Judge) -> None:
    history = an_app("member-1").commit_request("member-1", 2_000, 0, 120, error=25)
    assert ("UNKNOWN", 0) == tuple(judge(history, "P2")[name] for name in ("verdict", "examined"))


# P3


def taken_over(first: int, committed: int) -> History:
    """member-2 is told a position of t-0, and begins to fetch."""
    history = an_app("member-1", "member-2")
    history.holds("member-1", 0).fetch("member-1", 0, 0, 1_000, upto=100)
    history.holds("member-2", 0, ms=5_000, generation=2)
    history.told_position("member-2", 0, committed, 5_010)
    return history.fetch("member-2", 0, first, 5_020, upto=200)


@pytest.mark.parametrize(
    ("first", "verdict", "measured"),
    [(80, "HOLDS", 0), (79, "VIOLATED", -1), (81, "VIOLATED", 1)],
)
def test_a_new_owner_begins_where_the_group_is(
    judge: Judge, first: int, verdict: str, measured: float
) -> None:
    found = judge(taken_over(first, 80), "P3")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


def test_what_comes_again_is_told(judge: Judge) -> None:
    (row,) = judge(taken_over(80, 80), "P3")["rows"]
    assert "20 records that member-1 had fetched and not committed come again" == row["why"]


def test_a_group_that_committed_nothing_begins_anywhere(judge: Judge) -> None:
    found = judge(taken_over(7, -1), "P3")
    assert ("HOLDS", True) == (found["verdict"], "auto.offset.reset" in found["reason"])


def test_an_application_that_asks_for_its_position_goes_on(judge: Judge) -> None:
    history = taken_over(80, 80).told_position("member-2", 0, 90, 7_000)
    found = judge(history.fetch("member-2", 0, 200, 7_010, upto=300), "P3")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("committed", "verdict", "measured"), [(80, "HOLDS", 0), (79, "VIOLATED", 1)]
)
def test_in_a_fetch_session_a_partition_that_comes_back_is_not_named_again(
    judge: Judge, committed: int, verdict: str, measured: float
) -> None:
    """Its first fetch after the rebalance is known from the answer alone."""
    history = an_app("member-1").holds("member-1", 0)
    history.fetch("member-1", 0, 0, 1_000, upto=80).fetch("member-1", 0, 80, 1_100)
    history.holds("member-1", 0, ms=5_000, generation=2)
    history.told_position("member-1", 0, committed, 5_010)
    history.fetch("member-1", 0, None, 5_020, upto=90).fetch("member-1", 0, 90, 5_030)
    found = judge(history, "P3")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


@pytest.mark.parametrize(
    ("first", "before_ms", "verdict", "measured"),
    [
        (80, 1, "HOLDS", 0),
        (80, 50, "HOLDS", 0),
        (80, 51, "VIOLATED", 120),
        (79, 1, "VIOLATED", 120),
    ],
)
def test_the_answer_that_told_the_position_may_be_stamped_after_the_fetch_from_there(
    judge: Judge, first: int, before_ms: float, verdict: str, measured: float
) -> None:
    """Two brokers log them, and one of them may be late."""
    history = an_app("member-1", "member-2")
    history.holds("member-1", 0).fetch("member-1", 0, 0, 1_000, upto=100)
    history.holds("member-2", 0, ms=5_011, generation=2)
    history.fetch("member-2", 0, first, 5_010 - before_ms, upto=200)
    history.told_position("member-2", 0, 80, 5_010)
    found = judge(history.fetch("member-2", 0, 200, 5_070, upto=210), "P3")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


@pytest.mark.parametrize(
    ("committed", "answered_ms", "verdict", "measured"),
    [
        (80, 5_020, "HOLDS", 0),
        (80, 5_009, "HOLDS", 0),
        (80, 4_949, "HOLDS", 0),
        (80, 4_948, "VIOLATED", 10),
        (79, 5_020, "VIOLATED", 11),
        (90, 5_020, "HOLDS", 0),
    ],
    ids=["taken", "buffered", "given up", "dropped", "begins elsewhere", "passed over"],
)
def test_a_fetch_that_waited_through_the_rebalance_may_be_the_first(
    judge: Judge, committed: int, answered_ms: float, verdict: str, measured: float
) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.fetch("member-1", 0, 80, 4_900, upto=90, answered_at=at(answered_ms))
    history.holds("member-1", 0, ms=5_000, generation=2)
    history.told_position("member-1", 0, committed, 5_010)
    history.fetch("member-1", 0, 90, 5_030, upto=95).fetch("member-1", 0, 95, 5_100)
    found = judge(history, "P3")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


def test_who_was_told_no_position_is_not_examined(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).fetch("member-1", 0, 5, 1_000, upto=9)
    assert "UNKNOWN" == judge(history, "P3")["verdict"]


# P4


def handed_over(standstill_s: float | None) -> History:
    """member-1 is killed at 10,000; member-2 has its partition and reads from 17,000 on."""
    history = an_app("member-1", "member-2")
    if standstill_s is not None:
        history.limits["standstill_s"] = standstill_s
    history.rows["members"][0].update(end="killed", exit_code=-9)
    history.rebalance(1, 1, 2).holds("member-1", 0).holds("member-2", 1)
    for ms in range(1_000, 10_000, 100):
        history.fetch("member-1", 0, ms, ms, upto=ms + 100)
    history.fault("kill-consumer", "member-1", 10_000).heartbeats("member-1", 9_900)
    reason = f"removing member {member_id('member-1')} on heartbeat expiration"
    history.says("evicted", 15_900, "member-1")
    history.rebalance(15_901, 2, 1, reason=reason).holds("member-2", 0, 1, ms=16_500, generation=2)
    for ms in range(17_000, 20_000, 100):
        history.fetch("member-2", 0, ms - 7_100, ms, upto=ms - 7_000)
    return history


@pytest.mark.parametrize(
    ("standstill_s", "verdict"), [(7.2, "HOLDS"), (7.0, "VIOLATED"), (None, "HOLDS")]
)
def test_a_standstill_is_held_against_what_was_promised(
    judge: Judge, standstill_s: float | None, verdict: str
) -> None:
    found = judge(handed_over(standstill_s), "P4")
    assert (verdict, 7_100) == (found["verdict"], found["measured_max"])


def test_a_run_in_which_nothing_stood_still_shows_nothing(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).fetch("member-1", 0, 0, 1_000, upto=100)
    assert "UNKNOWN" == judge(history, "P4")["verdict"]


@pytest.mark.parametrize(("read", "verdict"), [(True, "HOLDS"), (False, "UNKNOWN")])
def test_a_promise_is_kept_where_what_was_read_never_stood_still(
    judge: Judge, read: bool, verdict: str
) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.limits["standstill_s"] = 0
    if read:
        history.fetch("member-1", 0, 0, 1_000, upto=100).end_offset(0, 100)
    assert verdict == judge(history, "P4")["verdict"]


@pytest.mark.parametrize(("standstill_s", "verdict"), [(60, "HOLDS"), (57, "VIOLATED")])
def test_a_partition_that_is_never_read_again_stands_still_until_the_end(
    judge: Judge, standstill_s: float, verdict: str
) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.limits["standstill_s"] = standstill_s
    found = judge(history.fetch("member-1", 0, 0, 1_000, upto=100).end_offset(0, 120), "P4")
    assert (verdict, 58_998) == (found["verdict"], found["measured_max"])
    assert "20 records from 100 on were never read" in found["rows"][0]["why"]


# P10


def fetched(*ranges: tuple[int, int], committed: int = 100) -> History:
    history = an_app("member-1").holds("member-1", 0)
    for number, (first, upto) in enumerate(ranges):
        history.fetch("member-1", 0, first, 1_000 + 100 * number, upto=upto)
    return history.commit_request("member-1", 9_000, 0, committed)


@pytest.mark.parametrize(
    ("ranges", "lost"),
    [
        ([(0, 50), (50, 100)], 0),
        ([(0, 50), (60, 100)], 10),
        ([(0, 50), (40, 100)], 0),
        ([(0, 60)], 40),
        ([(30, 100)], 0),
        ([(0, 50), (60, 120)], 10),
    ],
)
def test_holes_below_the_committed_position_are_lost(
    judge: Judge, ranges: list[tuple[int, int]], lost: int
) -> None:
    found = judge(fetched(*ranges), "P10")
    assert ("VIOLATED" if lost else "HOLDS", lost) == (found["verdict"], found["measured_max"])


def test_what_is_not_committed_is_not_lost_yet(judge: Judge) -> None:
    assert "HOLDS" == judge(fetched((0, 50), (60, 100), committed=50), "P10")["verdict"]


@pytest.mark.parametrize(("last", "verdict"), [(99, "HOLDS"), (98, "VIOLATED")])
def test_what_a_program_shows_counts_and_not_what_it_fetched(
    judge: Judge, last: int, verdict: str
) -> None:
    history = fetched((0, 50), (50, 100)).shows("member-1", 0, 0, last, 2_000)
    assert verdict == judge(history, "P10")["verdict"]


@pytest.mark.parametrize(("first", "lost"), [(30, 0), (31, 1), (40, 10)])
def test_what_it_fetched_first_and_never_showed_is_lost(
    judge: Judge, first: int, lost: int
) -> None:
    history = fetched((30, 50), (50, 100)).shows("member-1", 0, first, 99, 2_000)
    assert lost == judge(history, "P10")["measured_max"]


def test_a_partition_that_is_committed_and_never_shown_is_lost(judge: Judge) -> None:
    history = fetched((0, 50), (50, 100)).fetch("member-1", 1, 0, 1_000, upto=70)
    history.commit_request("member-1", 9_000, 1, 60).shows("member-1", 0, 0, 99, 2_000)
    found = judge(history, "P10")
    assert ("VIOLATED", [0, 60]) == (
        found["verdict"],
        sorted(row["measured"] for row in found["rows"]),
    )


def test_a_loss_may_be_promised(judge: Judge) -> None:
    history = fetched((0, 50), (60, 100))
    history.limits["lost"] = 10
    assert "HOLDS" == judge(history, "P10")["verdict"]


# P11


@pytest.mark.parametrize(
    ("repeats", "verdict"), [(10, "HOLDS"), (9, "VIOLATED"), (None, "UNKNOWN")]
)
def test_repeats_are_held_against_what_was_promised(
    judge: Judge, repeats: float | None, verdict: str
) -> None:
    history = an_app("member-1")
    if repeats is not None:
        history.limits["repeats"] = repeats
    history.shows("member-1", 0, 0, 49, 1_000).shows("member-1", 0, 40, 99, 2_000)
    assert verdict == judge(history, "P11")["verdict"]


def test_a_program_that_read_nothing_keeps_no_promise_of_repeats(judge: Judge) -> None:
    history = an_app("member-1")
    history.limits["repeats"] = 0
    assert "UNKNOWN" == judge(history, "P11")["verdict"]


@pytest.mark.parametrize("rule", ["P1", "P2", "P3", "P4", "P10"])
def test_an_empty_history_shows_nothing(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(an_app(), rule)["verdict"]
