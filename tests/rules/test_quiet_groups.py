from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def still(until_ms: float, answered_ms: float = 20_000) -> History:
    """t-0 is read at 19 s, and its next records, acknowledged at 20 s, then."""
    history = History(group={"max_poll_interval_ms": 10_000}).member("member-1", process_us=0)
    history.acknowledged(0, 0, 9, last_answered_at=at(18_900))
    history.acknowledged(0, 10, 19, last_answered_at=at(answered_ms))
    history.told("member-1", "assigned", 0, [0]).delivered("member-1", 0, 0, 9, 19_000)
    return history.delivered("member-1", 0, 10, 19, until_ms)


# X38


@pytest.mark.parametrize(
    ("until_ms", "answered_ms", "verdict"),
    [
        (22_500, 20_000, "HOLDS"),
        (22_501, 20_000, "VIOLATED"),
        (30_000, 27_500, "HOLDS"),
        (21_501, 18_950, "VIOLATED"),
    ],
)
def test_a_record_waits_so_long_at_most_in_quiet_time(
    judge: Judge, until_ms: float, answered_ms: float, verdict: str
) -> None:
    assert verdict == judge(still(until_ms, answered_ms), "X38")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "row", "quiet"),
    [
        ("revoked", 18_000, {}, False),
        ("revoked", 17_999, {}, True),
        ("lost", 26_000, {}, False),
        ("lost", 26_001, {}, True),
        ("stall_started", 16_000, {"duration_ms": 2_000.0}, False),
        ("error", 22_000, {}, True),
    ],
)
def test_time_near_a_change_or_a_stall_is_not_quiet(
    judge: Judge, event: str, ms: float, row: dict[str, Any], quiet: bool
) -> None:
    history = still(26_000).told("member-1", event, ms, [1], **row)
    assert ("VIOLATED" if quiet else "UNKNOWN") == judge(history, "X38")["verdict"]


@pytest.mark.parametrize(("healed_ms", "quiet"), [(3_999, True), (4_000, False)])
def test_a_fault_is_over_when_a_session_and_the_poll_interval_are(
    judge: Judge, healed_ms: float, quiet: bool
) -> None:
    history = still(26_000).fault("latency", "members", 2_000, healed_ms)
    assert ("VIOLATED" if quiet else "UNKNOWN") == judge(history, "X38")["verdict"]


@pytest.mark.parametrize(
    ("kind", "target", "quiet"),
    [
        ("kill-broker", "broker-3", False),
        ("latency", "members", False),
        ("close-consumer", "member-2", True),  # all that it does is done
    ],
)
def test_a_fault_that_is_never_healed_goes_on_unless_it_is_done_at_once(
    judge: Judge, kind: str, target: str, quiet: bool
) -> None:
    history = still(26_000).fault(kind, target, 2_000)
    assert ("VIOLATED" if quiet else "UNKNOWN") == judge(history, "X38")["verdict"]


def test_a_rebalance_is_not_quiet(judge: Judge) -> None:
    history = still(26_000).rebalance(22_000, 1, 1).join("member-1", 22_005)
    assert "UNKNOWN" == judge(history.sync("member-1", 22_015), "X38")["verdict"]


@pytest.mark.parametrize(("ms", "quiet"), [(1_000, True), (1_001, False)])
def test_a_commit_that_took_long_is_what_it_waited_for(
    judge: Judge, ms: float, quiet: bool
) -> None:
    answered = at(21_000 + ms)
    history = still(26_000).asked_commit("member-1", 21_000, 0, 10, answered_at=answered)
    assert ("VIOLATED" if quiet else "UNKNOWN") == judge(history, "X38")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "records", "verdict"),
    [
        (21_000, 100, "UNKNOWN"),
        (21_000, 99, "VIOLATED"),  # it had no more to work off
        (19_999, 100, "VIOLATED"),  # before
        (20_000, 100, "VIOLATED"),  # as the record came
        (23_000, 90, "VIOLATED"),  # with the record itself, which could have come before
    ],
)
def test_a_member_that_works_off_a_backlog_is_not_quiet(
    judge: Judge, polled_ms: float, records: int, verdict: str
) -> None:
    history = still(23_000).delivered("member-1", 1, 0, records - 1, polled_ms)
    history.acknowledged(1, 0, records - 1, last_answered_at=at(polled_ms - 10))
    history.rows["members"][0]["batch_records"] = 100
    assert verdict == judge(history, "X38")["verdict"]


def test_the_last_full_batch_before_the_poll_counts(judge: Judge) -> None:
    """The member had worked off another backlog long before."""
    history = still(23_000)
    for ms, first in ((10_000, 0), (21_000, 100)):
        history.delivered("member-1", 1, first, first + 99, ms)
    history.rows["members"][0]["batch_records"] = 100
    assert "UNKNOWN" == judge(history, "X38")["verdict"]


def test_a_partition_that_was_never_assigned_is_read_all_the_same(judge: Judge) -> None:
    """A program may choose its partitions itself: then nothing happens in its group."""
    history = still(26_000)
    history.rows["client_events"].clear()
    assert "VIOLATED" == judge(history, "X38")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(59_998, "VIOLATED"), (59_999, "UNKNOWN")])
def test_what_members_read_as_they_are_told_to_stop_is_not_examined(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(still(ms), "X38")["verdict"]


def test_of_several_waits_of_a_partition_the_longest_is_told(judge: Judge) -> None:
    history = still(23_000)
    history.acknowledged(0, 20, 29, last_answered_at=at(30_000))
    history.delivered("member-1", 0, 20, 29, 30_100)
    (row,) = judge(history, "X38")["rows"]
    assert (False, 3_000) == (row["ok"], row["measured"])


def test_records_that_come_as_they_are_acknowledged_have_not_waited(judge: Judge) -> None:
    """The producer hears of it after a member may have read them."""
    assert 0 == judge(still(20_000, answered_ms=20_003), "X38")["measured_max"]


def test_a_record_waits_from_its_own_acknowledgement(judge: Judge) -> None:
    """One poll brings a record, and behind a gap those that were acknowledged much later."""
    history = still(26_000)
    history.rows["sends"].pop()
    history.rows["deliveries"].pop()
    history.acknowledged(0, 10, 10, last_answered_at=at(20_000))
    history.acknowledged(0, 15, 19, last_answered_at=at(23_000))
    history.acknowledged(0, 20, 29, last_answered_at=at(40_000))  # and is read later
    history.delivered("member-1", 0, 10, 10, 23_000, poll=7)
    history.delivered("member-1", 0, 15, 19, 23_000, poll=7)
    (row,) = judge(history, "X38")["rows"]
    assert (False, 3_000) == (row["ok"], row["measured"])


def test_records_that_the_producer_never_heard_of_again_do_not_count(judge: Judge) -> None:
    history = still(26_000)
    history.rows["sends"][1]["outcome"] = "unanswered"
    assert "UNKNOWN" == judge(history, "X38")["verdict"]


def test_a_machine_that_stood_still_meanwhile_leaves_it_open(judge: Judge) -> None:
    assert "UNKNOWN" == judge(still(23_000).tick(21_000, 900.0), "X38")["verdict"]


def test_without_records_x38_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), "X38")["verdict"]
