"""What a program of somebody else's reads, commits and repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app, at, beat, member_id, parts

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


def test_the_first_moment_at_the_end_counts(judge: Judge) -> None:
    """It commits the same again, as many clients do when they close."""
    history = committed((50_000, 90), (DRAIN + 1_500, 100), (DRAIN + 2_500, 100))
    assert 1_500 == judge(history, "P1")["measured_max"]


def test_how_far_it_came_at_most_is_told(judge: Judge) -> None:
    """Whoever took over committed less again."""
    found = judge(committed((40_000, 50), (45_000, 90), (50_000, 70)), "P1")
    assert "was committed to 90 of 100 when the run ended" in found["reason"]


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


@pytest.mark.parametrize(("position", "verdict"), [(60, "HOLDS"), (61, "VIOLATED")])
def test_the_next_fetch_tells_how_many_records_an_answer_brought(
    judge: Judge, position: int, verdict: str
) -> None:
    """There were a hundred by then, and the answer had room for sixty."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.commit_request("member-1", 1_100, 0, position)
    history.fetch("member-1", 0, 60, 9_000, upto=100)
    assert verdict == judge(history, "P2")["verdict"]


@pytest.mark.parametrize("back_to", [0, 60])
def test_who_is_told_a_position_may_have_kept_what_it_had(judge: Judge, back_to: int) -> None:
    """It is told one, and commits only after the fetches that follow."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.told_position("member-1", 0, back_to, 5_000)
    history.fetch("member-1", 0, back_to, 5_010, upto=100)
    history.fetch("member-1", 0, 80, 5_100)
    found = judge(history.commit_request("member-1", 6_000, 0, 100), "P2")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


def test_an_application_that_goes_back_has_read_what_it_read(judge: Judge) -> None:
    """It seeks to where it began, and commits what it had processed before."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.fetch("member-1", 0, 0, 2_000)
    assert "HOLDS" == judge(history.commit_request("member-1", 3_000, 0, 100), "P2")["verdict"]


def test_an_answer_without_records_brings_none_of_those_that_there_are(judge: Judge) -> None:
    """A transaction is open on them, so a reader of committed ones is not given them yet."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.fetch("member-1", 0, 100, 1_100, upto=150, bytes=0)
    found = judge(history.commit_request("member-1", 2_000, 0, 150), "P2")
    assert ("VIOLATED", 50) == (found["verdict"], found["measured_max"])
    assert "committed 150, and had fetched to 100" in found["reason"]


@pytest.mark.parametrize(("position", "verdict"), [(100, "HOLDS"), (101, "VIOLATED")])
def test_who_begins_at_the_end_of_the_log_may_commit_it(
    judge: Judge, position: int, verdict: str
) -> None:
    """Nothing is committed, and its auto.offset.reset is latest."""
    history = an_app("member-1").fetch("member-1", 0, 100, 1_000)
    found = judge(history.commit_request("member-1", 2_000, 0, position), "P2")
    assert verdict == found["verdict"]


def beyond() -> History:
    """Its commits are 10, 30 and 5 records beyond what it had fetched."""
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.commit_request("member-1", 2_000, 0, 110).commit_request("member-1", 3_000, 0, 140)
    history.fetch("member-1", 0, 140, 3_500, upto=200)
    return history.commit_request("member-1", 4_000, 0, 205)


def test_of_several_commits_the_one_that_is_furthest_beyond_counts(judge: Judge) -> None:
    found = judge(beyond(), "P2")
    assert ("VIOLATED", 30, at(3_000)) == (
        found["verdict"], found["measured_max"], found["rows"][0]["at"],
    )  # fmt: skip
    assert "committed 140, and had fetched to 100" in found["reason"]


@pytest.mark.parametrize(
    ("kind", "ms", "verdict"),
    [
        ("kill-broker", 1_000, "VIOLATED"),
        ("kill-broker", 1_001, "UNKNOWN"),  # when its last fetch before was answered
        ("pause-broker", 2_000, "VIOLATED"),
        ("kill-broker", 3_300, "UNKNOWN"),  # a fetch's line may be so late beside the commit's
        ("kill-broker", 3_301, "VIOLATED"),
    ],
)
def test_only_a_broker_that_was_killed_after_the_last_fetch_excuses_the_worst(
    judge: Judge, kind: str, ms: float, verdict: str
) -> None:
    history = beyond().fault(kind, "broker-2", ms + 5, 9_000, injecting_ms=ms)
    assert verdict == judge(history, "P2")["verdict"]


def test_the_last_fetch_shows_what_was_fetched_after_a_broker_was_killed(judge: Judge) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=50)
    history.fault("kill-broker", "broker-2", 2_000, 9_000)
    history.fetch("member-1", 0, 50, 3_000, upto=100)
    assert "VIOLATED" == judge(history.commit_request("member-1", 4_000, 0, 120), "P2")["verdict"]


@pytest.mark.parametrize(("position", "verdict"), [(100, "HOLDS"), (101, "UNKNOWN")])
def test_a_killed_broker_leaves_known_what_was_fetched_for_certain(
    judge: Judge, position: int, verdict: str
) -> None:
    history = an_app("member-1").fetch("member-1", 0, 0, 1_000, upto=100)
    history.fault("kill-broker", "broker-2", 1_500, 9_000)
    found = judge(history.commit_request("member-1", 2_000, 0, position), "P2")
    assert verdict == found["verdict"]


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


def test_of_several_that_fetched_before_the_one_that_got_furthest_is_named(judge: Judge) -> None:
    history = taken_over(80, 80).member("member-3", client="app")
    history.fetch("member-3", 0, 0, 500, upto=90)
    (row,) = judge(history, "P3")["rows"]
    assert "20 records that member-1 had fetched and not committed come again" == row["why"]


@pytest.mark.parametrize(("first", "verdict", "measured"), [(0, "HOLDS", 0), (5, "VIOLATED", 5)])
def test_a_group_may_have_committed_that_it_begins_at_the_first_record(
    judge: Judge, first: int, verdict: str, measured: float
) -> None:
    found = judge(taken_over(first, 0), "P3")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


def test_what_nobody_had_fetched_in_this_run_is_taken_over_as_well(judge: Judge) -> None:
    """The group has committed in an earlier one."""
    history = an_app("member-1").holds("member-1", 0).told_position("member-1", 0, 80, 900)
    found = judge(history.fetch("member-1", 0, 80, 1_000, upto=100), "P3")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


def test_an_answer_with_an_error_tells_no_position(judge: Judge) -> None:
    """It asks once more, and a transaction is pending on the partition by then."""
    history = an_app("member-1").holds("member-1", 0).told_position("member-1", 0, 80, 900)
    refused = {"topic": "t", "partition": 0, "committed": -1, "error_code": 88}
    history.request("OFFSET_FETCH", "member-1", 950, positions=[refused])
    found = judge(history.fetch("member-1", 0, 80, 1_000, upto=100), "P3")
    assert ("HOLDS", 1, 0) == (found["verdict"], found["examined"], found["measured_max"])


def test_an_application_that_asks_for_its_position_goes_on(judge: Judge) -> None:
    history = taken_over(80, 80).told_position("member-2", 0, 90, 7_000)
    found = judge(history.fetch("member-2", 0, 200, 7_010, upto=300), "P3")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


def test_who_was_given_it_again_and_asks_for_its_position_goes_on(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).fetch("member-1", 0, 0, 1_000, upto=100)
    history.holds("member-1", 0, ms=5_000, generation=2).told_position("member-1", 0, 80, 5_010)
    history.fetch("member-1", 0, 80, 5_020, upto=200).told_position("member-1", 0, 90, 7_000)
    found = judge(history.fetch("member-1", 0, 200, 7_010, upto=300), "P3")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("first_ms", "join_ms"),
    [(10, None), (11, 7_010)],
    ids=["begins in the moment it is given it", "goes on in the moment it joins again"],
)
def test_who_goes_on_until_it_joins_again_has_held_it_all_along(
    judge: Judge, first_ms: float, join_ms: float | None
) -> None:
    """Different brokers log fetches and the group, and a moment can be the same."""
    history = an_app("member-1").holds("member-1", 0, ms=10)
    history.fetch("member-1", 0, 0, first_ms, upto=100).told_position("member-1", 0, 90, 7_000)
    history.fetch("member-1", 0, 100, 7_010, upto=200)
    if join_ms is not None:
        history.holds("member-1", 1, ms=join_ms + 1, generation=2)
    found = judge(history, "P3")
    assert ("UNKNOWN", 0) == (found["verdict"], found["examined"])


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


@pytest.mark.parametrize(
    ("answered_ms", "verdict"), [(4_949, "HOLDS"), (4_948, "VIOLATED"), (2_500, "VIOLATED")]
)
def test_of_several_rebalances_the_last_counts_for_a_fetch_that_waited(
    judge: Judge, answered_ms: float, verdict: str
) -> None:
    """Nothing was committed between them, so it read 80 to 89 before each."""
    history = an_app("member-1").holds("member-1", 0)
    history.fetch("member-1", 0, 80, 1_000, upto=90).fetch("member-1", 0, 90, 1_100, upto=95)
    history.holds("member-1", 0, ms=2_000, generation=2).told_position("member-1", 0, 80, 2_010)
    history.fetch("member-1", 0, 80, 2_400, upto=90, answered_at=at(answered_ms))
    history.holds("member-1", 0, ms=5_000, generation=3).told_position("member-1", 0, 80, 5_010)
    history.fetch("member-1", 0, 90, 5_030, upto=95)
    found = judge(history, "P3")
    assert (verdict, 2) == (found["verdict"], found["examined"])


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
    ("standstill_s", "verdict"),
    [(7.2, "HOLDS"), (7.0, "VIOLATED"), (0, "VIOLATED"), (None, "HOLDS")],
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
        history.fetch("member-1", 0, 0, 1_000, upto=50).fetch("member-1", 0, 50, 2_000, upto=100)
        history.end_offset(0, 100)
    assert verdict == judge(history, "P4")["verdict"]


@pytest.mark.parametrize(
    ("standstill_s", "verdict"), [(60, "HOLDS"), (57, "VIOLATED"), (0, "VIOLATED")]
)
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


def reads_its_own(history: History, topic: str = "counts-repartition") -> History:
    """It fetches the first 60 records of partition 1, and commits 100, as Kafka Streams does."""
    history.fetch("member-1", 1, 0, 1_000, upto=60, topic=topic)
    position = {"topic": topic, "partition": 1, "committed": 100, "error_code": 0}
    return history.request("OFFSET_COMMIT", "member-1", 9_000, positions=[position])


@pytest.mark.parametrize(("topic", "lost"), [("t", 40), ("counts-repartition", 0)])
def test_only_records_of_the_topic_that_it_is_fed_are_lost(
    judge: Judge, topic: str, lost: int
) -> None:
    found = judge(reads_its_own(fetched((0, 100)), topic), "P10")
    assert (lost, 1 + (lost > 0)) == (found["measured_max"], found["examined"])


def test_what_it_shows_is_of_the_topic_that_it_is_fed(judge: Judge) -> None:
    history = reads_its_own(fetched((0, 100))).shows("member-1", 0, 0, 99, 2_000)
    found = judge(history, "P10")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(("topic", "examined"), [("t", 2), ("counts-repartition", 1)])
def test_commits_of_a_topic_of_its_own_are_its_own_affair(
    judge: Judge, topic: str, examined: int
) -> None:
    history = reads_its_own(fetched((0, 100)), topic)
    assert examined == judge(history, "P2")["examined"]


def test_the_first_of_several_holes_is_named(judge: Judge) -> None:
    found = judge(fetched((0, 50), (60, 70), (90, 100)), "P10")
    assert ("VIOLATED", 30) == (found["verdict"], found["measured_max"])
    assert "to the committed position 100; the first is at 50" in found["reason"]


def test_the_furthest_position_that_was_committed_counts(judge: Judge) -> None:
    """A member that had less committed it last."""
    history = fetched((0, 50), (60, 100)).commit_request("member-1", 9_500, 0, 50)
    found = judge(history, "P10")
    assert ("VIOLATED", 10) == (found["verdict"], found["measured_max"])


def test_a_partition_without_a_commit_has_lost_nothing(judge: Judge) -> None:
    history = fetched((0, 50), (50, 100)).fetch("member-1", 1, 0, 1_000, upto=50)
    found = judge(history.fetch("member-1", 1, 60, 1_100, upto=100), "P10")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


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


def test_the_last_that_came_again_is_the_moment_of_it(judge: Judge) -> None:
    history = an_app("member-1").shows("member-1", 0, 0, 49, 1_000)
    history.limits["repeats"] = 10
    history.shows("member-1", 0, 40, 59, 2_000).shows("member-1", 0, 58, 99, 3_000)
    found = judge(history, "P11")
    assert (12, at(3_000)) == (found["measured_max"], found["rows"][0]["at"])


def test_a_program_that_read_nothing_keeps_no_promise_of_repeats(judge: Judge) -> None:
    history = an_app("member-1")
    history.limits["repeats"] = 0
    assert "UNKNOWN" == judge(history, "P11")["verdict"]


@pytest.mark.parametrize("rule", ["P1", "P2", "P3", "P4", "P10"])
def test_an_empty_history_shows_nothing(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(an_app(), rule)["verdict"]


# X36


def given(protocol: str = "eager", **joined: Any) -> History:
    """member-1 has t-0 and t-1 in generation 1, and from 20 s on t-1 alone in generation 2."""
    history = an_app("member-1", "member-2", protocol=protocol)
    history.holds("member-1", 0, 1).holds("member-1", 1, ms=20_000, generation=2)
    history.rows["requests"][-2].update(joined)
    return history.holds("member-2", 0, ms=20_000, generation=2)


COOPERATIVE = {"protocol_name": "cooperative-sticky", "assignors": ["cooperative-sticky"]}


@pytest.mark.parametrize(
    ("partition", "ms", "generation", "verdict"),
    [
        (0, 1_000, 1, "HOLDS"),
        (2, 1_000, 1, "VIOLATED"),
        (1, 21_000, 2, "HOLDS"),
        (0, 21_000, 2, "VIOLATED"),
        (0, 20_001, 2, "VIOLATED"),  # it names the generation, so it was sent in it
        (0, 19_999, 1, "HOLDS"),
        (0, 20_050, 1, "HOLDS"),  # on its way while the answer came
        (0, 20_051, 1, "VIOLATED"),
        (1, 29_000, 1, "HOLDS"),  # that it is accepted is for another rule
    ],
)
def test_a_program_commits_what_the_coordinator_gave_it_in_that_generation(
    judge: Judge, partition: int, ms: float, generation: int, verdict: str
) -> None:
    history = given().commit_request("member-1", ms, partition, 50, generation=generation)
    found = judge(history, "X36")
    assert (verdict, 1, None) == (found["verdict"], found["examined"], found["measured_max"])


def test_how_long_ago_it_gave_the_partition_up_is_told(judge: Judge) -> None:
    history = given().commit_request("member-1", 10_000, 0, 40)
    for ms in (26_000, 22_500):
        history.commit_request("member-1", ms, 0, 50, generation=2)
    found = judge(history, "X36")
    assert "did not hold, 2 of 3 times, first 2.5 s after it had given it up" in found["reason"]
    assert at(22_500) == found["rows"][0]["at"]


@pytest.mark.parametrize(
    ("joined", "verdict"),
    [
        (COOPERATIVE, "HOLDS"),
        ({"assignors": ["cooperative-sticky"]}, "HOLDS"),
        ({"protocol_name": "stream"}, "HOLDS"),
        ({"protocol_name": "range", "assignors": ["range", "cooperative-sticky"]}, "VIOLATED"),
        ({"assignors": ["range", "cooperative-sticky"]}, "VIOLATED"),
        ({"error_code": 27}, "HOLDS"),  # how it joined is on no record
    ],
)
def test_a_cooperative_program_commits_what_it_has_still_to_give_up(
    judge: Judge, joined: dict[str, Any], verdict: str
) -> None:
    history = given("cooperative", **joined)
    history.commit_request("member-1", 20_100, 0, 50, generation=2)
    assert verdict == judge(history, "X36")["verdict"]


def test_what_a_cooperative_program_gave_up_it_commits_no_more(judge: Judge) -> None:
    history = given("cooperative", **COOPERATIVE)
    history.join("member-1", 20_200, 3, **COOPERATIVE)
    history.sync("member-1", 20_210, 3, assigned=parts(1))
    history.commit_request("member-1", 20_300, 0, 50, generation=3)
    assert "VIOLATED" == judge(history, "X36")["verdict"]


@pytest.mark.parametrize("error", [27, 0])
def test_in_a_generation_whose_assignment_is_on_no_record_nobody_is_accused(
    judge: Judge, error: int
) -> None:
    """Its SyncGroup was refused, since the next rebalance had begun."""
    history = given()
    if error:
        history.sync("member-1", 30_000, 3, assigned=None, error_code=error)
    history.commit_request("member-1", 30_100, 0, 50, generation=3)
    assert "HOLDS" == judge(history, "X36")["verdict"]


def test_a_program_without_partitions_commits_none(judge: Judge) -> None:
    history = given().holds("member-1", ms=30_000, generation=3)
    history.commit_request("member-1", 31_000, 1, 50, generation=3)
    assert "VIOLATED" == judge(history, "X36")["verdict"]


@pytest.mark.parametrize(
    ("partition", "epoch", "ms", "verdict"),
    [
        (0, 2, 1_000, "HOLDS"),
        (0, 2, 5_500, "HOLDS"),  # told to give it up, and not done with that
        (1, 2, 5_500, "HOLDS"),
        (2, 2, 5_500, "VIOLATED"),
        (0, 3, 6_500, "VIOLATED"),
        (1, 3, 6_500, "HOLDS"),  # its answer left the assignment as it was
        (0, 2, 6_050, "HOLDS"),
        (0, 2, 6_051, "VIOLATED"),
        (1, 2, 6_500, "HOLDS"),
    ],
)
def test_a_member_of_kip_848_commits_what_it_has_had_in_its_epoch(
    judge: Judge, partition: int, epoch: int, ms: float, verdict: str
) -> None:
    """It has t-0 and t-1, is told at 5 s to give t-0 up, and at 6 s that it is in epoch 3."""
    history = an_app("member-1", protocol="consumer")
    beat(history, "member-1", 0, 0, 2, 0, 1)
    beat(history, "member-1", 5_000, 2, 2, 1)
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", 6_000, generation=2, member_epoch=3,
        owned=parts(1), assigned=None,
    )  # fmt: skip
    history.commit_request("member-1", ms, partition, 50, generation=epoch)
    assert verdict == judge(history, "X36")["verdict"]


@pytest.mark.parametrize(("position", "verdict"), [(100, "HOLDS"), (101, "VIOLATED")])
def test_a_program_commits_nothing_beyond_the_end_of_the_log(
    judge: Judge, position: int, verdict: str
) -> None:
    history = given().end_offset(0, 100).commit_request("member-1", 1_000, 0, position)
    assert verdict == judge(history, "X36")["verdict"]


@pytest.mark.parametrize("row", [{"error": 22}, {"member_id": None}, {"generation": -1}])
def test_what_was_refused_or_is_of_no_member_is_not_examined(
    judge: Judge, row: dict[str, Any]
) -> None:
    history = given().commit_request("member-1", 21_000, 0, 50, **{"generation": 2, **row})
    assert "UNKNOWN" == judge(history, "X36")["verdict"]
