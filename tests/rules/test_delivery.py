from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# R19


def evicted(**group: Any) -> History:
    """member-1 read 0 to 29 and committed 20 of them; it is evicted at 10 s."""
    history = History(group=group).member("member-1").member("member-2")
    history.says("member_added", 0, "member-1").join("member-1", 5).join("member-2", 5)
    history.delivered("member-1", 0, 0, 29, 1_000).commit_request("member-1", 1_500, 0, 20)
    return history.says("evicted", 10_000, "member-1").rebalance(10_001, 2, 1)


def test_refusing_a_removed_member_and_reading_its_work_again_holds(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30, error=25)
    history.asked_commit("member-1", 11_999, 0, 30, error=25)
    history.delivered("member-2", 0, 20, 29, 13_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


def test_accepting_the_commit_of_a_removed_member_violates(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["verdict"]


@pytest.mark.parametrize(
    ("ms", "error", "examined"),
    [(10_050, 0, 0), (10_051, 0, 1), (10_050, 25, 1), (10_001, 25, 1)],
)
def test_one_accepted_just_then_may_have_come_before_the_removal(
    judge: Judge, ms: float, error: int, examined: int
) -> None:
    history = evicted().commit_request("member-1", ms, 0, 30, error=error)
    rows = judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["rows"]
    assert examined == sum("(coordinator)" in row["subject"] for row in rows)


@pytest.mark.parametrize(("error", "examined"), [(14, 0), (16, 0), (15, 1), (27, 1)])
def test_a_broker_that_does_not_have_the_group_refuses_nobody_in_particular(
    judge: Judge, error: int, examined: int
) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30, error=error)
    rows = judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["rows"]
    assert examined == sum("(coordinator)" in row["subject"] for row in rows)


def test_a_client_told_that_its_late_commit_was_accepted_violates(judge: Judge) -> None:
    history = evicted().asked_commit("member-1", 12_000, 0, 30)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["verdict"]


def test_uncommitted_work_that_nobody_reads_again_violates(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30, error=25)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 30, 39, 13_000), "R19")["verdict"]


def test_uncommitted_work_in_a_group_where_nobody_is_left_cannot_be_judged(judge: Judge) -> None:
    found = judge(evicted(), "R19")
    assert "UNKNOWN" == found["verdict"]
    assert "t-0 after member-1, was given to nobody after that" in found["reason"]


def test_uncommitted_work_of_a_partition_that_somebody_holds_and_does_not_read_violates(
    judge: Judge,
) -> None:
    history = evicted().told("member-2", "assigned", 10_100, [0])
    assert "VIOLATED" == judge(history, "R19")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "error", "again_from", "verdict"),
    [
        (9_990, 0, 25, "HOLDS"),  # taken before the removal, and answered after it
        (9_990, 0, 26, "VIOLATED"),
        (9_990, 15, 25, "HOLDS"),  # its write timed out, and may be made after all
        (9_990, 15, 20, "HOLDS"),  # or not
        (9_990, 7, 25, "HOLDS"),
        (9_990, 22, 25, "VIOLATED"),  # it was refused
        (10_051, 15, 25, "VIOLATED"),  # it came too late to be taken
    ],
)
def test_a_commit_under_way_at_the_removal_may_cover_its_records(
    judge: Judge, arrived_ms: float, error: int, again_from: int, verdict: str
) -> None:
    history = evicted().delivered("member-2", 0, again_from, 29, 13_000)
    history.commit_request(
        "member-1", 10_060, 0, 25, error=error, arrived_at=at(arrived_ms), answered_at=at(10_061)
    )
    found = {row["subject"]: row["ok"] for row in judge(history, "R19")["rows"]}
    assert (verdict == "HOLDS") == found["t-0 after member-1"]


@pytest.mark.parametrize(("error", "examined"), [(25, 1), (29, 0), (30, 0), (16, 0), (35, 1)])
def test_a_coordinator_that_may_not_be_asked_says_nothing_of_members(
    judge: Judge, error: int, examined: int
) -> None:
    history = evicted().commit_request("member-1", 11_000, 0, 30, error=error)
    rows = judge(history, "R19")["rows"]
    assert examined == sum("(coordinator)" in row["subject"] for row in rows)


def test_a_commit_before_the_removal_is_not_examined(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 9_000, 0, 30)
    assert "UNKNOWN" == judge(history, "R19")["verdict"]


def test_a_member_that_closed_is_not_examined(judge: Judge) -> None:
    history = evicted().told("member-1", "closing", 9_999)
    assert "UNKNOWN" == judge(history, "R19")["verdict"]
    assert "UNKNOWN" == judge(History(), "R19")["verdict"]


@pytest.mark.parametrize("closed_ms", [10_001, 12_500])
def test_who_closes_after_it_was_removed_is_examined(judge: Judge, closed_ms: float) -> None:
    history = evicted().told("member-1", "closing", closed_ms).told("member-2", "closing", 9_000)
    history.told("member-1", "error", 9_000).delivered("member-2", 0, 20, 29, 13_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_who_closes_as_it_is_removed_is_not_examined(judge: Judge) -> None:
    assert 0 == judge(evicted().told("member-1", "closing", 10_000), "R19")["examined"]


def test_only_commits_of_a_removed_member_are_examined(judge: Judge) -> None:
    """member-3 was removed too, at the same time, and had done all its work."""
    history = evicted().says("member_added", 0, "member-3").join("member-3", 5)
    history.says("evicted", 10_000, "member-3").delivered("member-2", 0, 20, 29, 13_000)
    history.commit_request("member-2", 12_000, 0, 20).asked_commit("member-2", 12_000, 0, 20)
    history.commit_request("member-3", 12_000, 1, 5, error=25)
    history.asked_commit("member-1", 10_000, 0, 30)  # before it was removed
    verdict = judge(history, "R19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_commit_that_its_client_was_never_answered_is_not_accepted(judge: Judge) -> None:
    history = evicted().asked_commit("member-1", 12_000, 0, 30, error=None)
    verdict = judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_commit_that_the_library_made_by_itself_counts_by_what_the_coordinator_says(
    judge: Judge,
) -> None:
    """Nobody asked for it, and its callback is served by the poll after the stall."""
    history = evicted().commit_request("member-1", 6_000, 0, 25)
    history.asked_commit("member-1", 12_000, 0, 25, how="auto", asked_at=None)
    history.delivered("member-2", 0, 25, 29, 13_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "VIOLATED" == judge(history.commit_request("member-1", 11_000, 0, 26), "R19")["verdict"]


@pytest.mark.parametrize(("commit", "examined"), [("external", 0), ("transaction", 1)])
def test_what_is_kept_elsewhere_is_not_refused_and_not_known(
    judge: Judge, commit: str, examined: int
) -> None:
    """A store takes positions from anybody; a transaction of a removed member is refused."""
    history = evicted(commit=commit).delivered("member-2", 0, 30, 39, 13_000)
    assert 0 == judge(history, "R19")["examined"]
    history.asked_commit("member-1", 12_000, 0, 30, how=commit)
    verdict = judge(history, "R19")
    assert (examined, examined) == (verdict["examined"], verdict["violations"])


@pytest.mark.parametrize(("asked_ms", "examined"), [(12_999, 2), (13_000, 1)])
def test_a_member_that_is_back_under_its_id_may_commit(
    judge: Judge, asked_ms: float, examined: int
) -> None:
    history = evicted().says("member_added", 13_000, "member-1")
    history.asked_commit("member-1", asked_ms, 0, 30, error=25)
    verdict = judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")
    assert ("HOLDS", examined) == (verdict["verdict"], verdict["examined"])


def test_what_it_read_again_itself_counts_once_it_was_back(judge: Judge) -> None:
    history = evicted().delivered("member-1", 0, 20, 29, 12_000)
    assert "VIOLATED" == judge(history, "R19")["verdict"]
    history.says("member_added", 13_000, "member-1").delivered("member-1", 0, 20, 29, 14_000)
    assert "HOLDS" == judge(history, "R19")["verdict"]


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        (((20, 24), (25, 29)), "HOLDS"),
        (((10, 39),), "HOLDS"),
        (((21, 29),), "VIOLATED"),
        (((20, 28),), "VIOLATED"),
        (((0, 19), (30, 39)), "VIOLATED"),
    ],
)
def test_all_that_it_left_uncommitted_is_read_again(
    judge: Judge, again: tuple[tuple[int, int], ...], verdict: str
) -> None:
    history = evicted()
    for number, (first, last) in enumerate(again):
        history.delivered("member-2", 0, first, last, 13_000 + number)
    history.delivered("member-2", 0, 20, 29, 9_000).delivered("member-2", 1, 20, 29, 13_000)
    assert verdict == judge(history, "R19")["verdict"]


def test_what_was_uncommitted_is_found_at_any_offset(judge: Judge) -> None:
    history = evicted()
    history.rows["deliveries"], history.rows["requests"] = [], history.rows["requests"][:2]
    history.delivered("member-1", 0, 2_047_990, 2_048_009, 1_000)
    history.delivered("member-1", 0, 2_048_000, 2_048_009, 2_000, topic="other")
    history.commit_request("member-1", 1_500, 0, 2_047_995)
    history.commit_request("member-1", 1_600, 1, 9_999_999)
    history.commit_request("member-2", 10_500, 0, 2_048_010)
    history.delivered("member-2", 0, 2_047_995, 2_047_999, 13_000)
    history.delivered("member-2", 0, 2_048_000, 2_048_009, 13_100)
    history.delivered("member-2", 0, 2_047_990, 2_048_009, 14_000, topic="other")
    verdict = judge(history, "R19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_the_last_commit_before_the_removal_tells_what_is_left(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 1_600, 0, 29)
    history.delivered("member-1", 0, 30, 39, 10_000.5).delivered("member-2", 0, 29, 29, 13_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_any_commit_all_that_it_read_is_left(judge: Judge) -> None:
    history = evicted()
    history.rows["requests"] = history.rows["requests"][:2]
    history.delivered("member-1", 0, 30, 34, 10_000)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 1, 34, 13_000), "R19")["verdict"]
    assert "HOLDS" == judge(history.delivered("member-2", 0, 0, 9, 13_001), "R19")["verdict"]


def test_each_stay_of_a_member_leaves_its_own_work(judge: Judge) -> None:
    history = evicted().delivered("member-2", 0, 20, 29, 13_000)
    history.says("member_added", 14_000, "member-1").delivered("member-1", 0, 30, 39, 15_000)
    history.commit_request("member-1", 16_000, 0, 35).says("evicted", 20_000, "member-1")
    history.delivered("member-2", 0, 35, 39, 21_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


# X32a


def test_every_acknowledged_record_processed_holds(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).acknowledged(0, 10, 19)
    history.delivered("member-1", 0, 0, 4, 100).delivered("member-2", 0, 5, 19, 200)
    verdict = judge(history.end_offset(0, 20), "X32a")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_an_acknowledged_record_that_was_skipped_is_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 4, 100)
    verdict = judge(history.delivered("member-1", 0, 7, 19, 200), "X32a")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])


def test_a_record_delivered_but_never_processed_is_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).end_offset(0, 10)
    assert "VIOLATED" == judge(history.delivered("member-1", 0, 0, 9, 100, None), "X32a")["verdict"]


def test_a_record_past_the_last_poll_is_unseen_not_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 9, 100)
    assert "UNKNOWN" == judge(history.end_offset(0, 20), "X32a")["verdict"]


def test_a_failed_send_is_never_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).delivered("member-1", 0, 0, 9, 100)
    history.acknowledged(0, 10, 19, outcome="failed")
    assert "HOLDS" == judge(history, "X32a")["verdict"]


def test_records_read_twice_hide_no_loss(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 9, 100)
    history.delivered("member-2", 0, 0, 9, 200).delivered("member-2", 0, 15, 19, 300)
    verdict = judge(history, "X32a")
    assert ("VIOLATED", 5) == (verdict["verdict"], verdict["measured_max"])


def test_records_between_what_was_sent_are_nobodys_work(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).acknowledged(0, 5, 14).acknowledged(0, 20, 29)
    history.add("sends", topic="t", partition=0, outcome="acknowledged", count=5)  # not known where
    history.delivered("member-1", 0, 0, 12, 100).delivered("member-1", 0, 20, 29, 200)
    history.delivered("member-1", 1, 0, 29, 300).end_offset(0, 30)
    verdict = judge(history, "X32a")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])
    assert "2 of 25 acknowledged records" in verdict["reason"]


RANGES = ((0, 14), (3, 4), (14, 19), (21, 29))  # all but record 20, some of them twice


def test_what_was_sent_twice_is_one_record(judge: Judge) -> None:
    history = History()
    for first, last in RANGES:
        history.acknowledged(0, first, last).delivered("member-1", 0, first, last, 100 + first)
    verdict = judge(history, "X32a")
    assert "HOLDS" == verdict["verdict"]
    assert "0 of 29 acknowledged records missing" == verdict["rows"][0]["why"]


def test_what_was_read_twice_makes_up_for_nothing(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 29)
    for first, last in RANGES:
        history.delivered("member-1", 0, first, last, 100 + first)
    verdict = judge(history, "X32a")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


def test_the_first_and_the_last_of_what_was_sent_count(judge: Judge) -> None:
    history = History().acknowledged(0, 10, 19)
    history.delivered("member-1", 0, 0, 10, 100).delivered("member-1", 0, 19, 25, 200)
    verdict = judge(history, "X32a")
    assert ("VIOLATED", 8) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("first_kept", "error", "verdict"), [(5, 0, "HOLDS"), (4, 0, "VIOLATED"), (5, 29, "VIOLATED")]
)
def test_what_was_deleted_on_purpose_is_not_lost(
    judge: Judge, first_kept: int, error: int, verdict: str
) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 5, 19, 100)
    history.commit_request("member-1", 200, 0, 20)
    history.commit_request("admin", 300, 0, first_kept, error)
    history.rows["requests"][-1]["api"] = "DELETE_RECORDS"
    assert verdict == judge(history, "X32a")["verdict"]


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        (((10, 50_000),), "VIOLATED"),
        (((11, 50_000),), "UNKNOWN"),
        (((10, 49_000), (20, 50_000)), "UNKNOWN"),
    ],
)
def test_what_was_not_processed_is_lost_if_all_had_been_read(
    judge: Judge, ends: tuple[tuple[int, int], ...], verdict: str
) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 9, 100)
    for end, ms in ends:
        history.end_offset(0, end, ms)
    assert verdict == judge(history, "X32a")["verdict"]


def test_a_result_that_is_not_committed_is_none(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).delivered("member-1", 0, 0, 9, 100, None)
    copied = {"topic": "t", "partition": 0, "first_offset": 0, "last_offset": 9, "copies": 1}
    history.add("outputs", isolation="read_uncommitted", **copied)
    assert "VIOLATED" == judge(history, "X32a")["verdict"]


def test_a_partition_that_nobody_read_is_unseen(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).acknowledged(1, 0, 9)
    verdict = judge(history.delivered("member-1", 0, 0, 9, 100), "X32a")
    assert ("UNKNOWN", 2, 10) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize(("last", "verdict"), [(9, "HOLDS"), (10, "VIOLATED")])
def test_records_beyond_the_end_of_the_partition_violate(
    judge: Judge, last: int, verdict: str
) -> None:
    history = History().acknowledged(0, 0, 9).end_offset(0, 10).delivered("member-1", 0, 0, 9, 100)
    judged = judge(history.delivered("member-1", 0, 9, last, 200), "X32a")
    assert verdict == judged["verdict"]
    assert ("beyond its end" in judged["reason"]) == (verdict == "VIOLATED")


def test_without_acknowledged_records_x32a_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().delivered("member-1", 0, 0, 9, 100), "X32a")["verdict"]


# X32b


def reread(committed: int) -> History:
    """member-2 reads 5 to 9 again after so much was committed."""
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.commit_request("member-1", 200, 0, committed)
    return history.delivered("member-2", 0, 5, 14, 300)


def test_reading_uncommitted_records_again_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(reread(5), "X32b")["verdict"]


def test_reading_committed_records_again_violates(judge: Judge) -> None:
    verdict = judge(reread(8), "X32b")
    assert ("VIOLATED", 3) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("first", "last", "row", "verdict"),
    [
        (0, 9, {}, "VIOLATED"),
        (9, 12, {}, "VIOLATED"),
        (10, 12, {}, "HOLDS"),
        (0, 9, {"poll": 2}, "HOLDS"),
        (0, 9, {"member": "member-2"}, "HOLDS"),
        (0, 9, {"topic": "u"}, "HOLDS"),
    ],
)
def test_a_record_twice_in_one_poll_violates(
    judge: Judge, first: int, last: int, row: dict[str, Any], verdict: str
) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100, poll=1)
    again = {"member": "member-1", "partition": 0, "first": first, "last": last, "poll": 1, **row}
    judged = judge(history.delivered(ms=100, **again), "X32b")
    assert verdict == judged["verdict"]
    assert ("twice in one poll" in judged["reason"]) == (verdict == "VIOLATED")


@pytest.mark.parametrize("commit", ["external", "transaction"])
def test_where_positions_are_kept_elsewhere_x32b_is_unknown(judge: Judge, commit: str) -> None:
    history = History(group={"commit": commit}).delivered("member-1", 0, 0, 9, 100)
    assert "UNKNOWN" == judge(history.delivered("member-2", 0, 5, 14, 300), "X32b")["verdict"]


def test_the_first_and_the_furthest_repeat_below_a_commit_are_told(judge: Judge) -> None:
    history = reread(8).delivered("member-3", 0, 6, 14, 400).delivered("member-3", 0, 8, 9, 500)
    history.delivered("member-1", 1, 0, 9, 100).delivered("member-2", 1, 0, 9, 200)
    verdict = judge(history, "X32b")
    assert (2, 1, 3) == (verdict["examined"], verdict["violations"], verdict["measured_max"])
    assert "5 to 9 again to member-2, although 8 had been committed" in verdict["reason"]
    assert "10 records delivered again, 0 of them" in "".join(r["why"] for r in verdict["rows"])


def removed_reader(removed_ms: float) -> History:
    """member-1 hands out 5 to 9, fetched long before; the new owner has committed 10 meanwhile."""
    history = History().says("member_added", 0, "member-1").delivered("member-1", 0, 0, 4, 100)
    history.says("evicted", removed_ms, "member-1").delivered("member-2", 0, 0, 9, 6_500)
    return history.commit_request("member-2", 6_600, 0, 10).delivered("member-1", 0, 5, 9, 7_000)


def test_a_removed_member_may_hand_out_what_it_had_fetched(judge: Judge) -> None:
    assert "HOLDS" == judge(removed_reader(6_000), "X32b")["verdict"]


def test_a_member_in_the_group_may_not(judge: Judge) -> None:
    assert "VIOLATED" == judge(removed_reader(7_500), "X32b")["verdict"]


def test_a_refused_commit_does_not_forbid_reading_again(judge: Judge) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.commit_request("member-1", 200, 0, 10, error=25)
    assert "HOLDS" == judge(history.delivered("member-2", 0, 0, 9, 300), "X32b")["verdict"]


def test_nothing_read_twice_holds(judge: Judge) -> None:
    verdict = judge(History().delivered("member-1", 0, 0, 9, 100), "X32b")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_deliveries_x32b_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X32b")["verdict"]


# X32c


def test_commits_that_go_forward_hold(judge: Judge) -> None:
    history = (
        History().commit_request("member-1", 100, 0, 10).commit_request("member-1", 200, 0, 10)
    )
    assert "HOLDS" == judge(history, "X32c")["verdict"]


def test_a_commit_that_goes_back_violates(judge: Judge) -> None:
    history = History().commit_request("member-1", 100, 0, 10).commit_request("member-2", 200, 0, 7)
    verdict = judge(history, "X32c")
    assert ("VIOLATED", 3) == (verdict["verdict"], verdict["measured_max"])


def test_the_longest_way_back_and_the_first_time_are_told(judge: Judge) -> None:
    history = History()
    for member, ms, committed in (("2", 200, 7), ("1", 100, 10), ("3", 300, 20), ("1", 400, 12)):
        history.commit_request(f"member-{member}", ms, 0, committed)
    verdict = judge(history.commit_request("member-1", 100, 1, 10), "X32c")
    assert (2, 1, 8) == (verdict["examined"], verdict["violations"], verdict["measured_max"])
    assert "went back by member-2" in verdict["reason"]
    assert at(200) in {row["at"] for row in verdict["rows"]}


def test_a_refused_commit_may_go_back(judge: Judge) -> None:
    history = History().commit_request("member-1", 100, 0, 10)
    history.commit_request("member-2", 200, 0, 7, error=22)
    assert "HOLDS" == judge(history, "X32c")["verdict"]


def test_without_commits_x32c_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X32c")["verdict"]


# X32d


def handed_over(again_from: int, committed: int = 0, **group: Any) -> History:
    """member-1 read 0 to 299 in three batches; member-2 takes over and reads from `again_from`."""
    history = History(group=group).member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "lost", 9_000, [0])
    for batch in range(3):
        history.delivered("member-1", 0, batch * 100, batch * 100 + 99, 1_000 + batch * 2_000)
    if committed:
        history.commit_request("member-1", 4_500, 0, committed)
    history.told("member-2", "assigned", 9_500, [0])
    return history.delivered("member-2", 0, again_from, 399, 10_000)


def test_one_batch_again_fits_sync_commits(judge: Judge) -> None:
    verdict = judge(handed_over(200, committed=200), "X32d")
    assert ("HOLDS", 100) == (verdict["verdict"], verdict["measured_max"])


def test_three_batches_again_do_not_fit_sync_commits(judge: Judge) -> None:
    verdict = judge(handed_over(0), "X32d")
    assert ("VIOLATED", 300) == (verdict["verdict"], verdict["measured_max"])


def test_batches_whose_commits_failed_may_come_again(judge: Judge) -> None:
    history = handed_over(0).asked_commit("member-1", 1_100, 0, 100, error=None)
    assert "HOLDS" == judge(history.asked_commit("member-1", 3_100, 0, 200, 16), "X32d")["verdict"]


def test_what_an_auto_commit_interval_leaves_open_may_come_again(judge: Judge) -> None:
    history = handed_over(100, commit="auto", auto_commit_interval_ms=1_000)
    assert "HOLDS" == judge(history, "X32d")["verdict"]


@pytest.mark.parametrize(
    ("kind", "target", "to_ms", "examined"),
    [
        ("isolate", "member-1", 6_000, 0),
        ("isolate", "member-1", 4_999, 1),  # it read on afterwards
        ("isolate", "member-2", 6_000, 1),
        ("latency", "member-1", 6_000, 1),  # slow, and not cut
    ],
)
def test_what_a_member_read_while_its_link_was_cut_could_not_be_committed(
    judge: Judge, kind: str, target: str, to_ms: float, examined: int
) -> None:
    history = handed_over(0, commit="auto", auto_commit_interval_ms=500)
    assert examined == judge(history.fault(kind, target, 2_000, to_ms), "X32d")["examined"]


def test_more_than_an_auto_commit_interval_leaves_open_violates(judge: Judge) -> None:
    history = handed_over(0, commit="auto", auto_commit_interval_ms=500)
    assert "VIOLATED" == judge(history, "X32d")["verdict"]


@pytest.mark.parametrize(
    ("again_from", "commit", "verdict"),
    [
        (200, "sync", "HOLDS"),
        (199, "sync", "VIOLATED"),
        (100, "async", "HOLDS"),
        (99, "async", "VIOLATED"),
        (100, "interval", "HOLDS"),
        (99, "interval", "VIOLATED"),
    ],
)
def test_what_each_policy_leaves_open_may_come_again(
    judge: Judge, again_from: int, commit: str, verdict: str
) -> None:
    history = handed_over(again_from, commit=commit, auto_commit_interval_ms=500)
    assert verdict == judge(history, "X32d")["verdict"]


@pytest.mark.parametrize(
    ("ended_by", "again_from", "verdict"),
    [("lost", 0, "UNKNOWN"), ("revoked", 200, "HOLDS"), ("revoked", 199, "VIOLATED")],
)
def test_who_commits_when_told_to_give_up_leaves_a_batch(
    judge: Judge, ended_by: str, again_from: int, verdict: str
) -> None:
    history = handed_over(again_from, commit="revoke")
    history.rows["client_events"][1]["event"] = ended_by
    assert verdict == judge(history, "X32d")["verdict"]


def test_only_commits_that_failed_since_the_last_accepted_one_leave_more(judge: Judge) -> None:
    history = handed_over(100).commit_request("member-1", 3_200, 0, 100)
    history.commit_request("member-1", 2_000, 0, 50).commit_request("member-1", 4_000, 1, 300)
    history.asked_commit("member-1", 3_199, 0, 100, 16).asked_commit("member-1", 9_501, 0, 300, 16)
    history.asked_commit("member-1", 5_000, 1, 300, 16).asked_commit("member-1", 5_100, 0, 200)
    verdict = judge(history, "X32d")
    assert ("VIOLATED", 100) == (verdict["verdict"], verdict["bound_high"])


def test_a_commit_that_failed_leaves_another_batch_to_async_commits_too(judge: Judge) -> None:
    history = handed_over(0, commit="async").asked_commit("member-1", 5_000, 0, 300, error=16)
    verdict = judge(history, "X32d")
    assert ("HOLDS", 300) == (verdict["verdict"], verdict["bound_high"])


def test_a_hand_over_without_repeats_holds(judge: Judge) -> None:
    verdict = judge(handed_over(300), "X32d")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_only_this_partition_and_what_it_had_at_this_time_is_the_hand_overs(judge: Judge) -> None:
    history = handed_over(200).delivered("member-1", 1, 0, 99, 2_000)
    history.delivered("member-1", 0, 0, 99, 2_100, topic="other")
    history.delivered("member-2", 1, 0, 99, 10_100)
    history.delivered("member-2", 0, 0, 99, 10_200, topic="other")
    history.delivered("member-2", 0, 0, 9, 9_499).delivered("member-3", 0, 0, 99, 9_600)
    history.rows["members"] = []  # none of them had ended
    verdict = judge(history, "X32d")
    assert ("HOLDS", 1, 100) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(("first_ms", "again_ms", "count"), [(9_499, 9_500, 10), (9_500, 9_501, 0)])
def test_what_was_read_before_the_moment_of_the_hand_over_comes_again_after_it(
    judge: Judge, first_ms: float, again_ms: float, count: int
) -> None:
    history = handed_over(300).delivered("member-1", 0, 1_000, 1_009, first_ms)
    history.delivered("member-2", 0, 1_000, 1_009, again_ms)
    assert count == judge(history, "X32d")["measured_max"]


@pytest.mark.parametrize("ms", [3_200, 9_500])
def test_a_commit_that_failed_between_the_accepted_one_and_the_hand_over_leaves_a_batch(
    judge: Judge, ms: float
) -> None:
    history = handed_over(100).commit_request("member-1", 3_200, 0, 100)
    verdict = judge(history.asked_commit("member-1", ms, 0, 200, 16), "X32d")
    assert ("HOLDS", 200) == (verdict["verdict"], verdict["bound_high"])


def test_only_what_had_come_before_the_hand_over_comes_again(judge: Judge) -> None:
    history = handed_over(200, committed=200).delivered("member-2", 0, 200, 399, 12_000)
    history.told("member-2", "lost", 20_000, [0]).told("member-1", "assigned", 21_000, [0])
    history.delivered("member-1", 0, 300, 399, 22_000).delivered("member-2", 0, 200, 399, 30_000)
    verdict = judge(history, "X32d")
    assert [100, 100] == [row["measured"] for row in verdict["rows"]]


def test_what_the_one_before_got_in_its_last_interval_counts(judge: Judge) -> None:
    history = handed_over(100, commit="auto", auto_commit_interval_ms=1_000)
    history.delivered("member-3", 0, 100, 299, 4_500).delivered("member-1", 1, 0, 99, 4_600)
    history.delivered("member-1", 0, 250, 259, 2_999)
    verdict = judge(history, "X32d")
    assert 300 == verdict["bound_high"]


def test_without_a_hand_over_x32d_is_unknown(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    assert "UNKNOWN" == judge(history, "X32d")["verdict"]
