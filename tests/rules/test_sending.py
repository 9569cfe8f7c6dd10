from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, java

Judge = Callable[[History, str], dict[str, Any]]


# X63


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"first_offset": 9, "last_offset": 18}, "VIOLATED"),
        ({"first_offset": 11, "last_offset": 20}, "VIOLATED"),  # offset 10 is left out
        ({"first_offset": 10, "last_offset": 20}, "VIOLATED"),
        ({"first_number": 11}, "VIOLATED"),
        ({"first_number": 12, "last_number": 21}, "VIOLATED"),
        ({"outcome": "failed", "first_offset": None, "last_offset": None}, "HOLDS"),
    ],
)
def test_each_record_has_an_offset_and_an_outcome(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = History().acknowledged(0, 0, 9).acknowledged(0, 10, 19).acknowledged(1, 0, 9)
    history.rows["sends"][1].update(row)
    if row.get("first_number") == 11:
        history.rows["sends"][1]["count"] = 9
    assert verdict == judge(history, "X63")["verdict"]


@pytest.mark.parametrize(
    ("fault_ms", "verdict"), [(None, "VIOLATED"), (5_012, "VIOLATED"), (5_011, "HOLDS")]
)
def test_records_stay_in_order_while_nothing_is_broken(
    judge: Judge, fault_ms: float | None, verdict: str
) -> None:
    """Records 0 to 9 of those sent at 5 s are stored behind the next ten."""
    history = History()
    for first, number in ((0, 10), (10, 0)):
        history.acknowledged(
            0, first, first + 9, first_number=number, last_number=number + 9,
            first_sent_at=at(5_000), last_answered_at=at(5_010),
        )  # fmt: skip
    if fault_ms is not None:
        history.fault("kill-broker", "broker-1", fault_ms)
    assert verdict == judge(history, "X63")["verdict"]


@pytest.mark.parametrize(
    ("outcome", "partition", "verdict"),
    [
        ("unanswered", 0, "HOLDS"),
        ("failed", 0, "HOLDS"),
        ("unanswered", 1, "VIOLATED"),
        ("acknowledged", 0, "VIOLATED"),
    ],
)
def test_what_was_not_acknowledged_may_have_offsets(
    judge: Judge, outcome: str, partition: int, verdict: str
) -> None:
    """Offset 10 of t-0 is left out."""
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(0, 11, 20, first_number=10, last_number=19)
    first = 20 if partition == 0 else 0
    gone = {} if outcome == "acknowledged" else {"first_offset": None, "last_offset": None}
    history.acknowledged(partition, 21, 21, first_number=first, last_number=first)
    history.rows["sends"][-1].update(outcome=outcome, **gone)
    found = judge(history, "X63")
    assert (verdict, float(verdict == "VIOLATED")) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(("fault_ms", "verdict"), [(5_002, "VIOLATED"), (5_001, "HOLDS")])
def test_after_a_fault_records_may_have_been_stored_twice(
    judge: Judge, fault_ms: float, verdict: str
) -> None:
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(
        0, 12, 21, first_number=10, last_number=19,
        first_sent_at=at(4_990), last_answered_at=at(5_000),
    )  # fmt: skip
    history.fault("kill-broker", "broker-1", fault_ms)
    assert verdict == judge(history, "X63")["verdict"]


def test_without_records_x63_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X63")["verdict"]


# X64


@pytest.mark.parametrize(("ms", "verdict"), [(2_000, "HOLDS"), (1, "HOLDS"), (2_001, "VIOLATED")])
def test_a_heartbeat_that_was_sent_arrives(judge: Judge, ms: float, verdict: str) -> None:
    history = java().told("member-1", "heartbeat_sent", 10_000)
    history.heartbeats("member-1", 10_000 + ms)
    assert verdict == judge(history, "X64")["verdict"]


def test_none_arrives_while_its_link_is_cut_or_its_member_is_gone(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_sent", 10_000)
    history.fault("isolate", "member-1", 9_000, 12_000)
    assert "UNKNOWN" == judge(history, "X64")["verdict"]
    ended = java().told("member-1", "heartbeat_sent", 58_500)
    assert "UNKNOWN" == judge(ended, "X64")["verdict"]


def test_without_a_log_of_the_client_x64_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(java(), "X64")["verdict"]


# X87


@pytest.mark.parametrize(
    ("ends", "behind"), [((10, 20, 20, 30), 0), ((10, 20, 16, 30), 4), ((10, 20, 19, 12), 8)]
)
def test_the_end_of_a_partition_never_goes_back(
    judge: Judge, ends: tuple[int, ...], behind: int
) -> None:
    history = History()
    for number, end in enumerate(ends):
        for partition, ms, offset in ((0, 1_000 * number, end), (1, 0, 100 - number)):
            history.add(
                "topology", at=at(ms), what="end_offset", topic="t", partition=partition,
                end_offset=offset,
            )  # fmt: skip
    verdict = judge(history, "X87")
    assert ("VIOLATED" if behind else "HOLDS") == verdict["verdict"]
    assert (2, behind) == (verdict["examined"], verdict["measured_max"])


def test_without_ends_x87_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().broker_seen(0, 1, alive=True), "X87")["verdict"]


# X89


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [("acknowledged", "HOLDS"), ("failed", "VIOLATED"), ("unanswered", "HOLDS")],
)
def test_records_are_stored_where_nothing_is_broken(
    judge: Judge, outcome: str, verdict: str
) -> None:
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(0, 10, 14, outcome=outcome, first_sent_at=at(9_000))
    judged = judge(history, "X89")
    assert (verdict, 5 * (outcome == "failed")) == (judged["verdict"], judged["measured_max"])


@pytest.mark.parametrize(
    ("sent_ms", "answered_ms", "verdict"),
    [
        (9_000, 9_998, "VIOLATED"),
        (9_000, 9_999, "HOLDS"),
        (20_000, 21_000, "HOLDS"),
        (20_001, 21_000, "VIOLATED"),
    ],
)
def test_they_may_fail_in_a_fault_and_a_session_after(
    judge: Judge, sent_ms: float, answered_ms: float, verdict: str
) -> None:
    history = History().fault("kill-broker", "broker-1", 10_000, 14_000)
    history.acknowledged(
        0, 0, 9, outcome="failed", first_sent_at=at(sent_ms), last_answered_at=at(answered_ms)
    )
    assert verdict == judge(history, "X89")["verdict"]


def test_without_records_x89_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X89")["verdict"]
