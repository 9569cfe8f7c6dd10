from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def looked_up(history: History, ms: float, offset: int) -> History:
    """member-1 asks a leader for an end of t-0."""
    position = {"topic": "t", "partition": 0, "committed": offset, "error_code": 0}
    return history.request("LIST_OFFSETS", "member-1", ms, group=None, positions=[position])


def handed(position: int | None = 10, ms: float = 1_010) -> History:
    """member-1 has t-0 from 1 s on, and is told this position."""
    history = History().told("member-1", "assigned", 1_000, [0])
    return history if position is None else history.told_position("member-1", 0, position, ms)


# X58


@pytest.mark.parametrize(
    ("first", "verdict"), [(10, "HOLDS"), (9, "VIOLATED"), (11, "VIOLATED"), (0, "VIOLATED")]
)
def test_the_first_record_is_the_one_at_the_position_told(
    judge: Judge, first: int, verdict: str
) -> None:
    history = handed().delivered("member-1", 0, first, 19, 1_100)
    assert verdict == judge(history, "X58")["verdict"]


def test_only_the_first_after_each_assignment_counts(judge: Judge) -> None:
    history = handed().delivered("member-1", 0, 10, 19, 1_100)
    history.delivered("member-1", 0, 20, 29, 1_200).told("member-1", "revoked", 5_000, [0])
    assert "HOLDS" == judge(history, "X58")["verdict"]
    history.told("member-1", "assigned", 6_000, [0]).told_position("member-1", 0, 25, 6_010)
    history.delivered("member-1", 0, 30, 39, 6_100)
    assert "VIOLATED" == judge(history, "X58")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(0, "HOLDS"), (-1, "VIOLATED"), (1_400, "HOLDS"), (1_401, "VIOLATED")]
)
def test_a_position_is_asked_for_before_the_first_record(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = handed(10, ms).delivered("member-1", 0, 10, 19, 1_100)
    assert verdict == judge(history, "X58")["verdict"]


def test_a_question_after_the_first_record_counts_only_where_there_is_none_before(
    judge: Judge,
) -> None:
    """Its line may have been stamped late; another that comes then is the next one."""
    history = handed(10, 1_000).delivered("member-1", 0, 10, 19, 1_100)
    history.told_position("member-1", 0, 20, 1_300)
    assert "HOLDS" == judge(history, "X58")["verdict"]
    history = handed(10, 1_300).delivered("member-1", 0, 10, 19, 1_100)
    history.told_position("member-1", 0, 20, 1_350)
    assert "HOLDS" == judge(history, "X58")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_150, "HOLDS"), (1_151, "VIOLATED")])
def test_the_last_answer_before_the_first_record_may_be_stamped_a_little_after_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    """It asked twice, and somebody else's late commit came between the two answers."""
    history = handed(7, 1_010).delivered("member-1", 0, 10, 19, 1_100)
    assert verdict == judge(history.told_position("member-1", 0, 10, ms), "X58")["verdict"]


@pytest.mark.parametrize(
    ("position", "first", "verdict"), [(-1, 5, "HOLDS"), (-1, 6, "VIOLATED"), (30, 5, "VIOLATED")]
)
def test_an_end_that_was_looked_up_long_ago_counts_where_nothing_is_committed(
    judge: Judge, position: int, first: int, verdict: str
) -> None:
    history = looked_up(History(), 100, 5).told("member-1", "assigned", 20_000, [0])
    history.told_position("member-1", 0, position, 20_010)
    history.delivered("member-1", 0, first, 19, 20_100)
    assert verdict == judge(history, "X58")["verdict"]


@pytest.mark.parametrize(
    ("position", "end", "first", "verdict"),
    [
        (-1, 5, 5, "HOLDS"),
        (-1, 5, 6, "VIOLATED"),
        (-1, None, 0, "VIOLATED"),
        (10, 50, 50, "HOLDS"),  # what was committed is no longer there
        (10, 50, 40, "VIOLATED"),
    ],
)
def test_without_a_usable_position_an_end_of_the_log_counts(
    judge: Judge, position: int, end: int | None, first: int, verdict: str
) -> None:
    history = handed(position).delivered("member-1", 0, first, 99, 1_100)
    if end is not None:
        looked_up(history, 1_020, end)
    assert verdict == judge(history, "X58")["verdict"]


def test_positions_of_another_store_and_of_broken_brokers_are_unknown_to_x58(
    judge: Judge,
) -> None:
    elsewhere = handed(None).delivered("member-1", 0, 10, 19, 1_100)
    elsewhere.group["commit"] = "external"
    assert "UNKNOWN" == judge(elsewhere, "X58")["verdict"]
    broken = handed(None).delivered("member-1", 0, 10, 19, 1_100)
    broken.fault("kill-broker", "broker-2", 900, 1_050)
    assert "UNKNOWN" == judge(broken, "X58")["verdict"]


@pytest.mark.parametrize(("first", "verdict"), [(0, "HOLDS"), (3, "VIOLATED")])
def test_the_first_record_of_all_may_be_the_one_that_is_committed(
    judge: Judge, first: int, verdict: str
) -> None:
    history = handed(0).delivered("member-1", 0, first, 19, 1_100)
    assert verdict == judge(history, "X58")["verdict"]


@pytest.mark.parametrize(
    ("fault_ms", "healed_ms", "verdict"),
    [
        (7_100, 7_200, "UNKNOWN"),  # in the moment of the first record
        (7_101, 7_200, "VIOLATED"),
        (500, 1_000, "UNKNOWN"),  # a session before the partition was handed over
        (500, 999, "VIOLATED"),
    ],
)
def test_an_answer_is_missed_unless_a_broker_was_broken_meanwhile(
    judge: Judge, fault_ms: float, healed_ms: float, verdict: str
) -> None:
    history = History().told("member-1", "assigned", 7_000, [0])
    history.delivered("member-1", 0, 10, 19, 7_100)
    history.fault("kill-broker", "broker-2", fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history, "X58")["verdict"]


@pytest.mark.parametrize(
    "other",
    [{"group": "payments"}, {"error_code": 88, "committed": -1}],
    ids=["of another group", "with an error"],
)
def test_only_an_answer_without_an_error_about_its_own_group_counts(
    judge: Judge, other: dict[str, Any]
) -> None:
    """The other one comes after it, so it is nearer to the first record."""
    history = handed(10, 1_010)
    position = {"topic": "t", "partition": 0, "committed": 99, "error_code": 0}
    position |= {name: value for name, value in other.items() if name in position}
    history.request(
        "OFFSET_FETCH", "member-1", 1_050, positions=[position], group=other.get("group", "orders")
    )
    history.delivered("member-1", 0, 10, 19, 1_100)
    assert "HOLDS" == judge(history, "X58")["verdict"]


# X60


def in_order() -> History:
    history = History().acknowledged(0, 0, 99).delivered("member-1", 0, 0, 9, 1_000)
    return history.asked_commit("member-1", 1_100, 0, 10).heartbeats("member-1", 2_000)


def test_what_comes_in_order_holds(judge: Judge) -> None:
    verdict = judge(in_order(), "X60")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("file", "change", "verdict"),
    [
        ("sends", {"first_sent_at": at(1_050), "last_answered_at": at(1_060)}, "HOLDS"),
        ("sends", {"first_sent_at": at(1_051), "last_answered_at": at(1_060)}, "VIOLATED"),
        ("sends", {"first_sent_at": at(1_051), "last_answered_at": None}, "VIOLATED"),
        (
            "sends",
            {"first_sent_at": at(1_051), "last_answered_at": None, "outcome": "unanswered"},
            "HOLDS",
        ),
        ("deliveries", {"processed_at": at(999)}, "VIOLATED"),
        ("deliveries", {"processed_at": None}, "HOLDS"),
        ("commits", {"answered_at": at(1_099)}, "VIOLATED"),
        ("commits", {"answered_at": None}, "HOLDS"),
        ("requests", {"processed_at": at(1_999)}, "VIOLATED"),
        ("requests", {"answered_at": at(1_999)}, "VIOLATED"),
        ("deliveries", {"processed_at": at(1_000)}, "HOLDS"),
        ("commits", {"answered_at": at(1_100)}, "HOLDS"),
    ],
)
def test_nothing_comes_before_what_it_follows_from(
    judge: Judge, file: str, change: dict[str, Any], verdict: str
) -> None:
    history = in_order().tick(1_000)
    history.rows[file][-1].update(change)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_450, "HOLDS"), (1_451, "VIOLATED")])
def test_each_record_is_held_against_those_that_were_sent_with_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Ten records are sent at the start, and ten more later."""
    history = History().acknowledged(0, 0, 9).delivered("member-1", 0, 0, 9, 1_000)
    history.acknowledged(0, 10, 19, first_sent_at=at(ms), last_answered_at=at(ms + 1))
    found = judge(history.delivered("member-1", 0, 10, 19, 1_400).tick(1_400), "X60")
    assert (verdict, 2) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(("poll", "verdict"), [(2, "HOLDS"), (1, "HOLDS"), (0, "VIOLATED")])
def test_polls_are_counted_as_they_come(judge: Judge, poll: int, verdict: str) -> None:
    history = in_order().tick(1_000).delivered("member-1", 0, 10, 19, 1_500, poll=poll)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_500, "HOLDS"), (1_501, "VIOLATED")])
def test_the_records_of_a_poll_are_processed_before_the_next(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = in_order().tick(1_000)
    history.rows["deliveries"][-1]["processed_at"] = at(ms)
    history.delivered("member-1", 0, 10, 19, 1_500)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(
    ("how", "answered_ms", "verdict"),
    [("sync", 1_502, "HOLDS"), ("sync", 1_503, "VIOLATED"), ("async", 1_503, "HOLDS")],
)
def test_nobody_polls_while_it_waits_for_a_commit(
    judge: Judge, how: str, answered_ms: float, verdict: str
) -> None:
    history = in_order().tick(1_000).delivered("member-1", 0, 10, 19, 1_500)
    history.rows["commits"][-1] |= {"how": how, "answered_at": at(answered_ms)}
    assert verdict == judge(history, "X60")["verdict"]


def test_of_several_commits_that_it_waits_for_each_is_held_against_its_polls(
    judge: Judge,
) -> None:
    history = in_order().tick(1_000).asked_commit("member-1", 1_200, 1, 5, answered_at=at(1_503))
    history.delivered("member-1", 0, 10, 19, 1_500)
    assert "VIOLATED" == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("count", "verdict"), [(10, "HOLDS"), (11, "VIOLATED"), (9, "VIOLATED")])
def test_a_range_has_as_many_records_as_offsets(judge: Judge, count: int, verdict: str) -> None:
    history = in_order().tick(1_000)
    history.rows["deliveries"][-1]["count"] = count
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1, "HOLDS"), (1.001, "VIOLATED")])
def test_a_record_is_sent_before_it_is_acknowledged(judge: Judge, ms: float, verdict: str) -> None:
    history = in_order().tick(1_000)
    history.rows["sends"][-1]["first_sent_at"] = at(ms)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(30_002, "HOLDS"), (30_003, "VIOLATED"), (34_997, "VIOLATED"), (34_998, "HOLDS")],
)
@pytest.mark.parametrize("what", ["poll", "commit"])
def test_who_stands_still_does_nothing(judge: Judge, ms: float, verdict: str, what: str) -> None:
    history = in_order().told("member-1", "stall_started", 30_000, duration_ms=5_000.0)
    if what == "poll":
        history.delivered("member-1", 1, 0, 4, ms)
    else:
        history.asked_commit("member-1", ms, 0, 99)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(
    ("count", "poll", "ms", "verdict"),
    [
        (40, 9, 30_000, "HOLDS"),  # ten others came with that poll
        (41, 9, 30_000, "VIOLATED"),
        (50, 10, 30_010, "HOLDS"),
    ],
)
def test_a_poll_hands_over_so_many_at_most(
    judge: Judge, count: int, poll: int, ms: float, verdict: str
) -> None:
    history = in_order().member("member-1", batch_records=50)
    history.delivered("member-1", 1, 0, 9, 30_000, poll=9)
    history.delivered("member-1", 2, 0, count - 1, ms, poll=poll)
    assert verdict == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(34_998, "HOLDS"), (34_997, "VIOLATED")])
def test_a_stall_lasts_as_long_as_it_is_to(judge: Judge, ms: float, verdict: str) -> None:
    history = in_order().told("member-1", "stall_started", 30_000, duration_ms=5_000.0)
    assert verdict == judge(history.told("member-1", "stall_ended", ms), "X60")["verdict"]


def test_a_stall_may_begin_as_another_ends(judge: Judge) -> None:
    history = in_order()
    for begins_ms, ends_ms in ((30_000, 35_000), (35_000, 40_000)):
        history.told("member-1", "stall_started", begins_ms, duration_ms=5_000.0)
        history.told("member-1", "stall_ended", ends_ms)
    assert "HOLDS" == judge(history, "X60")["verdict"]


@pytest.mark.parametrize(("done_ms", "verdict"), [(30_008, "HOLDS"), (30_007, "VIOLATED")])
def test_work_takes_its_time(judge: Judge, done_ms: float, verdict: str) -> None:
    """Ten records of 1 ms each."""
    history = in_order().member("member-1", process_us=1_000)
    history.delivered("member-1", 1, 0, 9, 30_000, processed_ms=done_ms)
    history.rows["deliveries"][0]["processed_at"] = at(1_010)
    assert verdict == judge(history, "X60")["verdict"]


def test_without_records_x60_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().heartbeats("member-1", 10), "X60")["verdict"]


# X72


def onwards(first: int, **row: Any) -> History:
    """member-1 reads 0 to 9, and then from this record on."""
    history = History().member("member-1").told("member-1", "assigned", 900, [0])
    history.delivered("member-1", 0, 0, 9, 1_000)
    return history.delivered("member-1", 0, first, first + 9, 1_500, **row)


@pytest.mark.parametrize(
    ("first", "verdict"), [(10, "HOLDS"), (12, "HOLDS"), (9, "VIOLATED"), (0, "VIOLATED")]
)
def test_a_partition_is_read_onwards(judge: Judge, first: int, verdict: str) -> None:
    assert verdict == judge(onwards(first), "X72")["verdict"]


def test_of_several_steps_the_largest_one_back_counts(judge: Judge) -> None:
    history = onwards(5).delivered("member-1", 0, 15, 24, 1_600)
    found = judge(history.delivered("member-1", 0, 24, 30, 1_700), "X72")
    assert ("VIOLATED", 5, "record 5 after 9") == (
        found["verdict"], found["measured_max"], found["rows"][0]["note"],
    )  # fmt: skip


def test_another_partition_or_member_is_read_by_itself(judge: Judge) -> None:
    history = onwards(10).delivered("member-1", 1, 0, 9, 1_600)
    history.delivered("member-2", 0, 0, 9, 1_700)
    verdict = judge(history, "X72")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("partition", "ms", "verdict"),
    [(0, 1_200, "HOLDS"), (0, 1_500, "HOLDS"), (0, 1_501, "VIOLATED"), (1, 1_200, "VIOLATED")],
)
def test_a_partition_that_is_handed_over_again_begins_anew(
    judge: Judge, partition: int, ms: float, verdict: str
) -> None:
    history = onwards(5).told("member-1", "assigned", ms, [partition])
    assert verdict == judge(history, "X72")["verdict"]


def test_a_looked_up_end_begins_anew(judge: Judge) -> None:
    assert "HOLDS" == judge(looked_up(onwards(5), 1_200, 5), "X72")["verdict"]


def test_a_member_with_transactions_may_go_back(judge: Judge) -> None:
    history = onwards(5)
    history.rows["members"][-1]["commit"] = "transaction"
    assert "UNKNOWN" == judge(history, "X72")["verdict"]


def test_without_records_x72_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().acknowledged(0, 0, 99), "X72")["verdict"]
