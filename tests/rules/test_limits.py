"""What is promised of our own members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, member_id

Judge = Callable[[History, str], dict[str, Any]]
DRAIN = 57_000  # when the producer has stopped


# L1


def crashed(standstill_s: float, *, end: int = 13_000) -> History:
    """member-1 is killed at 10,000; member-2 has its partition and reads from 17,000 to 20,000."""
    history = History(limits={"standstill_s": standstill_s})
    for member in ("member-1", "member-2"):
        history.member(member, process_us=10)
    history.rebalance(1, 1, 2)
    for ms in range(1_000, 10_000, 100):
        history.delivered("member-1", 0, ms, ms + 99, ms)
    history.fault("kill-consumer", "member-1", 10_000).heartbeats("member-1", 9_900)
    reason = f"removing member {member_id('member-1')} on heartbeat expiration"
    history.says("evicted", 15_900, "member-1")
    history.rebalance(15_901, 2, 1, reason=reason).told("member-2", "assigned", 16_500, [0])
    for ms in range(17_000, 20_000, 100):
        history.delivered("member-2", 0, ms - 7_000, ms - 6_901, ms)
    return history.end_offset(0, end)


@pytest.mark.parametrize(("standstill_s", "verdict"), [(7.2, "HOLDS"), (7.0, "VIOLATED")])
def test_a_standstill_is_held_against_what_is_promised(
    judge: Judge, standstill_s: float, verdict: str
) -> None:
    found = judge(crashed(standstill_s), "L1")
    assert (verdict, 7_099) == (found["verdict"], found["measured_max"])
    assert "t-0 after kill-consumer of member-1" == found["rows"][0]["subject"]


@pytest.mark.parametrize(("standstill_s", "verdict"), [(40.2, "HOLDS"), (40.0, "VIOLATED")])
def test_a_partition_that_nobody_comes_back_to_stands_still_until_the_end(
    judge: Judge, standstill_s: float, verdict: str
) -> None:
    found = judge(crashed(standstill_s, end=13_001), "L1")
    assert (verdict, 40_098) == (found["verdict"], found["measured_max"])
    assert "1 records from 13000 on were never read" in found["rows"][0]["why"]


def test_a_partition_that_was_read_and_never_stopped_keeps_any_promise(judge: Judge) -> None:
    history = History(limits={"standstill_s": 0}).delivered("member-1", 0, 0, 9, 1_000)
    found = judge(history.end_offset(0, 10).end_offset(1, 0), "L1")
    assert ("HOLDS", 1, 0) == (found["verdict"], found["examined"], found["measured_max"])


def test_a_partition_that_nobody_ever_read_keeps_none(judge: Judge) -> None:
    history = History(limits={"standstill_s": 100}).delivered("member-1", 0, 0, 9, 1_000)
    found = judge(history.end_offset(0, 10).end_offset(1, 5), "L1")
    assert ("VIOLATED", 1) == (found["verdict"], found["violations"])
    assert "was never read, and has 5 records" in found["reason"]


def test_a_single_record_that_nobody_ever_read_keeps_none_either(judge: Judge) -> None:
    history = History(limits={"standstill_s": 100}).delivered("member-1", 0, 0, 0, 1_000)
    found = judge(history.end_offset(0, 1).end_offset(1, 1), "L1")
    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "was never read, and has 1 records" in found["reason"]


def test_to_gather_is_no_standstill(judge: Judge) -> None:
    history = crashed(1)
    history.steady_ms = 17_100
    assert ("HOLDS", 0) == tuple(judge(history, "L1")[name] for name in ("verdict", "measured_max"))


def test_a_machine_that_stood_still_keeps_and_breaks_no_promise(judge: Judge) -> None:
    history = crashed(7).tick(12_000, late_ms=500)
    assert "UNKNOWN" == judge(history, "L1")["verdict"]


def test_a_standstill_without_end_offsets_is_not_known(judge: Judge) -> None:
    history = History(limits={"standstill_s": 10}).delivered("member-1", 0, 0, 9, 1_000)
    assert ("UNKNOWN", 0) == tuple(judge(history, "L1")[name] for name in ("verdict", "examined"))


# L2


def repeated(limit: int) -> History:
    """Records 5 to 9 come to both members, and 15 to 17 of the other partition."""
    history = History(limits={"repeats": limit})
    history.delivered("member-1", 0, 0, 9, 1_000).delivered("member-2", 0, 5, 14, 2_000)
    return history.delivered("member-1", 1, 0, 17, 3_000).delivered("member-2", 1, 15, 19, 4_000)


@pytest.mark.parametrize(("limit", "verdict"), [(8, "HOLDS"), (7, "VIOLATED")])
def test_all_that_comes_again_counts(judge: Judge, limit: int, verdict: str) -> None:
    found = judge(repeated(limit), "L2")
    assert (verdict, 8) == (found["verdict"], found["measured_max"])
    assert "of 43 that were delivered" in found["rows"][0]["why"]


def test_a_run_in_which_nothing_came_again_keeps_the_promise(judge: Judge) -> None:
    history = History(limits={"repeats": 0}).delivered("member-1", 0, 0, 9, 1_000)
    assert ("HOLDS", 0) == tuple(judge(history, "L2")[name] for name in ("verdict", "measured_max"))


def test_a_run_with_a_single_record_keeps_the_promise_as_well(judge: Judge) -> None:
    history = History(limits={"repeats": 0}).delivered("member-1", 0, 0, 0, 1_000)
    (row,) = judge(history, "L2")["rows"]
    assert (True, "of 1 that were delivered") == (row["ok"], row["why"])


def test_a_run_in_which_nothing_was_read_says_nothing_of_repeats(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(limits={"repeats": 0}), "L2")["verdict"]


# L3


def sent(limit: int, *, upto: int = 20) -> History:
    """Of 20 and 20 acknowledged records two and three were passed over."""
    history = History(limits={"lost": limit}).acknowledged(0, 0, 19).acknowledged(1, 0, 19)
    history.delivered("member-1", 0, 0, 4, 100).delivered("member-1", 0, 7, upto - 1, 200)
    return history.delivered("member-1", 1, 3, 19, 300).end_offset(0, 20).end_offset(1, 20)


@pytest.mark.parametrize(("limit", "verdict"), [(5, "HOLDS"), (4, "VIOLATED"), (0, "VIOLATED")])
def test_what_was_lost_is_counted_over_all_partitions(
    judge: Judge, limit: int, verdict: str
) -> None:
    found = judge(sent(limit), "L3")
    assert (verdict, 5) == (found["verdict"], found["measured_max"])
    assert "of 40 that were acknowledged" in found["rows"][0]["why"]


@pytest.mark.parametrize(("limit", "verdict"), [(5, "UNKNOWN"), (4, "VIOLATED")])
def test_what_nobody_came_to_may_be_lost(judge: Judge, limit: int, verdict: str) -> None:
    found = judge(sent(limit, upto=16), "L3")
    assert (verdict, 5) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(("upto", "unseen"), [(19, 1), (16, 4)])
def test_what_was_not_come_to_is_not_what_was_passed_over(
    judge: Judge, upto: int, unseen: int
) -> None:
    """Five records were passed over, in both partitions, and the end of one was not reached."""
    found = judge(sent(5, upto=upto), "L3")
    assert ("UNKNOWN", 5) == (found["verdict"], found["measured_max"])
    assert f"{unseen} records lie past the last position read" in found["reason"]


def test_where_nothing_was_passed_over_nothing_is_lost(judge: Judge) -> None:
    """But it read no further than to the last record but two."""
    history = History(limits={"lost": 0}).acknowledged(0, 0, 19).end_offset(0, 20)
    found = judge(history.delivered("member-1", 0, 0, 17, 100), "L3")
    assert ("UNKNOWN", 0) == (found["verdict"], found["measured_max"])
    assert "2 records lie past the last position read" in found["reason"]


@pytest.mark.parametrize(("processed_ms", "verdict"), [(101, "HOLDS"), (None, "VIOLATED")])
def test_a_single_record_is_lost_or_not(
    judge: Judge, processed_ms: float | None, verdict: str
) -> None:
    history = History(limits={"lost": 0}).acknowledged(0, 0, 0).end_offset(0, 1)
    found = judge(history.delivered("member-1", 0, 0, 0, 100, processed_ms), "L3")
    assert (verdict, 1) == (found["verdict"], found["examined"])


def test_a_run_in_which_nothing_was_acknowledged_says_nothing_of_loss(judge: Judge) -> None:
    history = History(limits={"lost": 10}).delivered("member-1", 0, 0, 9, 100).end_offset(0, 10)
    assert "UNKNOWN" == judge(history, "L3")["verdict"]


# L4


@pytest.mark.parametrize(
    ("done_ms", "drained_s", "verdict", "measured"),
    [
        (50_000, 0, "HOLDS", 0),
        (DRAIN + 1_500, 1.5, "HOLDS", 1_500),
        (DRAIN + 1_500, 1.4, "VIOLATED", 1_500),
        (None, 60, "VIOLATED", None),
    ],
)
def test_the_end_is_reached_in_the_time_that_is_promised(
    judge: Judge, done_ms: float | None, drained_s: float, verdict: str, measured: float | None
) -> None:
    history = History(limits={"drained_s": drained_s}).end_offset(0, 10).end_offset(1, 0)
    found = judge(history.delivered("member-1", 0, 0, 9, 49_000, done_ms), "L4")
    assert (verdict, 2, measured) == (found["verdict"], found["examined"], found["measured_max"])


def test_the_first_to_process_the_last_record_reaches_the_end(judge: Judge) -> None:
    """The last record comes alone, and again to another member."""
    history = History(limits={"drained_s": 1.5}).end_offset(0, 10)
    history.delivered("member-1", 0, 0, 8, 49_000).delivered("member-1", 0, 9, 9, DRAIN + 1_499)
    found = judge(history.delivered("member-2", 0, 9, 9, DRAIN + 2_499), "L4")
    assert ("HOLDS", 1_500) == (found["verdict"], found["measured_max"])


def test_how_far_a_partition_was_processed_is_told(judge: Judge) -> None:
    history = History(limits={"drained_s": 60}).end_offset(0, 10).end_offset(1, 1)
    history.delivered("member-1", 0, 0, 3, 48_000).delivered("member-1", 0, 4, 6, 49_000)
    found = judge(history, "L4")
    assert ("VIOLATED", 2) == (found["verdict"], found["violations"])
    assert {
        "was processed to 7 of 10 when the run ended",
        "was processed to 0 of 1 when the run ended",
    } == {row["why"] for row in found["rows"]}


def test_a_run_without_end_offsets_says_nothing_of_the_end(judge: Judge) -> None:
    history = History(limits={"drained_s": 60}).delivered("member-1", 0, 0, 9, 100)
    assert "UNKNOWN" == judge(history, "L4")["verdict"]


def test_a_stop_that_ends_as_the_group_is_steady_is_of_its_start(judge: Judge) -> None:
    history = crashed(1)
    history.steady_ms = 17_000
    assert "HOLDS" == judge(history, "L1")["verdict"]
