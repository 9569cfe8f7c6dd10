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


def test_a_machine_that_stood_still_meanwhile_leaves_it_open(judge: Judge) -> None:
    assert "UNKNOWN" == judge(still(23_000).tick(21_000, 900.0), "X38")["verdict"]


def test_without_records_x38_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), "X38")["verdict"]
