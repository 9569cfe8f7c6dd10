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
    ("fault_ms", "idempotence", "verdict"),
    [
        (None, False, "VIOLATED"),
        (5_012, False, "VIOLATED"),
        (5_011, False, "HOLDS"),
        (5_011, True, "VIOLATED"),
        (5_011, None, "HOLDS"),  # of an older run that does not say
    ],
)
def test_records_stay_in_order(
    judge: Judge, fault_ms: float | None, idempotence: bool | None, verdict: str
) -> None:
    """Records 0 to 9 of those sent at 5 s are stored behind the next ten.

    Without idempotence faults end that order.
    """
    history = History(load={} if idempotence is None else {"idempotence": idempotence})
    for first, number in ((0, 10), (10, 0)):
        history.acknowledged(
            0, first, first + 9, first_number=number, last_number=number + 9,
            first_sent_at=at(5_000), last_answered_at=at(5_010),
        )  # fmt: skip
    if fault_ms is not None:
        history.fault("kill-broker", "broker-1", fault_ms)
        history.fault("kill-broker", "broker-2", 9_000)
    assert verdict == judge(history, "X63")["verdict"]


def test_each_record_is_compared_with_all_that_were_sent_before(judge: Judge) -> None:
    """Records 20 to 39 follow later ones, by one of two that were sent before them."""
    history = History().acknowledged(0, 0, 9)
    for first, number in ((30, 10), (10, 20), (20, 30)):
        history.acknowledged(
            0, first, first + 9, first_number=number, last_number=number + 9
        )  # fmt: skip
    verdict = judge(history, "X63")
    assert ("VIOLATED", 20) == (verdict["verdict"], verdict["measured_max"])
    assert "the first at offset 10" in verdict["reason"]


def test_two_records_at_one_offset_count_once(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9)
    verdict = judge(history.acknowledged(0, 0, 9, first_number=10, last_number=19), "X63")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_numbers_of_records_may_begin_anywhere(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9, first_number=5, last_number=14)
    assert "HOLDS" == judge(history, "X63")["verdict"]


def test_what_failed_has_no_offset_whatever_it_was_told(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(0, 5, 9, first_number=10, last_number=14, outcome="failed")
    assert "HOLDS" == judge(history, "X63")["verdict"]


@pytest.mark.parametrize(
    ("outcome", "partition", "told", "verdict"),
    [
        ("unanswered", 0, False, "HOLDS"),
        ("failed", 0, False, "HOLDS"),
        ("unanswered", 1, False, "VIOLATED"),
        ("acknowledged", 0, True, "VIOLATED"),
        ("acknowledged", 0, False, "HOLDS"),  # its leader was asked for no answer
    ],
)
def test_what_was_not_acknowledged_with_an_offset_may_have_one(
    judge: Judge, outcome: str, partition: int, told: bool, verdict: str
) -> None:
    """Offset 10 of t-0 is left out."""
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(0, 11, 20, first_number=10, last_number=19)
    first = 20 if partition == 0 else 0
    gone = {} if told else {"first_offset": None, "last_offset": None}
    history.acknowledged(partition, 21, 21, first_number=first, last_number=first)
    history.rows["sends"][-1].update(outcome=outcome, **gone)
    found = judge(history, "X63")
    assert (verdict, float(verdict == "VIOLATED")) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize("outcome", ["failed", "unanswered", "acknowledged"])
@pytest.mark.parametrize(("answered_ms", "verdict"), [(4_999, "VIOLATED"), (5_000, "HOLDS")])
def test_what_was_not_acknowledged_has_no_offset_of_before_it_was_sent(
    judge: Judge, outcome: str, answered_ms: float, verdict: str
) -> None:
    """Offsets 10 to 209 are left out, and one record of 5 s may have an offset."""
    history = History().acknowledged(0, 0, 9)
    history.acknowledged(
        0, 210, 219, first_number=10, last_number=19, last_answered_at=at(answered_ms)
    )
    history.acknowledged(0, 20, 20, outcome=outcome, first_sent_at=at(5_000))
    history.rows["sends"][-1].update(first_offset=None, last_offset=None)
    assert verdict == judge(history, "X63")["verdict"]


@pytest.mark.parametrize(
    ("fault_ms", "idempotence", "verdict"),
    [(5_002, False, "VIOLATED"), (5_001, False, "HOLDS"), (5_001, True, "VIOLATED")],
)
def test_after_a_fault_records_may_have_been_stored_twice_without_idempotence(
    judge: Judge, fault_ms: float, idempotence: bool, verdict: str
) -> None:
    history = History(load={"idempotence": idempotence}).acknowledged(0, 0, 9)
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


def unheard(ms: float = 10_000) -> History:
    """A heartbeat of member-1, sent at this time, that does not arrive."""
    return java().told("member-1", "heartbeat_sent", ms).told("member-1", "fetched", 30_000)


@pytest.mark.parametrize(
    ("kind", "target", "verdict"),
    [
        ("kill-broker", "broker-2", "UNKNOWN"),
        ("isolate", "member-2", "UNKNOWN"),  # over the same links
        ("stall-consumer", "member-1", "UNKNOWN"),
        ("stall-consumer", "member-2", "VIOLATED"),
    ],
)
def test_a_heartbeat_arrives_unless_a_link_or_a_broker_or_its_member_is_disturbed(
    judge: Judge, kind: str, target: str, verdict: str
) -> None:
    history = unheard().fault(kind, target, 9_000, 12_000)
    assert verdict == judge(history, "X64")["verdict"]


@pytest.mark.parametrize(
    ("injecting_ms", "healed_ms", "verdict"),
    [
        (12_000, 20_000, "UNKNOWN"),  # it may be on its way by then
        (12_001, 20_000, "VIOLATED"),
        (1_000, 4_000, "UNKNOWN"),  # a session after
        (1_000, 3_999, "VIOLATED"),
    ],
)
def test_a_heartbeat_arrives_outside_a_fault_and_a_session_after(
    judge: Judge, injecting_ms: float, healed_ms: float, verdict: str
) -> None:
    history = unheard()
    history.fault(
        "kill-broker", "broker-2", injecting_ms + 100, healed_ms, injecting_ms=injecting_ms
    )
    assert verdict == judge(history, "X64")["verdict"]


@pytest.mark.parametrize(
    ("ms", "ended_ms", "verdict"),
    [
        (17_999, 20_000, "VIOLATED"),
        (18_000, 20_000, "UNKNOWN"),
        (57_998, None, "VIOLATED"),
        (57_999, None, "UNKNOWN"),
        (57_998, 70_000, "VIOLATED"),
        (57_999, 70_000, "UNKNOWN"),  # the run ends before its member
    ],
)
def test_a_heartbeat_may_be_on_its_way_when_its_member_or_the_run_ends(
    judge: Judge, ms: float, ended_ms: float | None, verdict: str
) -> None:
    history = unheard(ms)
    history.rows["members"][0]["ended_at"] = None if ended_ms is None else at(ended_ms)
    assert verdict == judge(history, "X64")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_950, "HOLDS"), (9_949, "VIOLATED")])
def test_a_heartbeat_may_seem_to_arrive_just_before_it_is_sent(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Client and broker stamp it with clocks that may be 50 ms apart."""
    assert verdict == judge(unheard().heartbeats("member-1", ms), "X64")["verdict"]


def test_the_first_of_several_heartbeats_that_did_not_arrive_is_told(judge: Judge) -> None:
    history = unheard(20_000).told("member-1", "heartbeat_sent", 10_000)
    history.told("member-1", "heartbeat_sent", 24_000).heartbeats("member-1", 10_001)
    # Whoever is no process of the run has no say, whatever it logged.
    history.told("member-9", "heartbeat_sent", 10_000)
    verdict = judge(history, "X64")
    assert ("VIOLATED", 1, 2) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert at(20_000) == verdict["rows"][0]["at"]
    history.heartbeats("member-1", 20_001, 24_001)
    verdict = judge(history, "X64")
    assert ("HOLDS", at(10_000)) == (verdict["verdict"], verdict["rows"][0]["at"])


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


def test_an_end_of_another_topic_or_of_an_empty_partition_is_none_that_went_back(
    judge: Judge,
) -> None:
    history = History().end_offset(0, 0, 5_000).end_offset(0, 7, 9_000)
    row: dict[str, Any] = {"what": "end_offset", "topic": "payments", "partition": 0}
    history.add("topology", at=at(12_000), end_offset=3, **row)
    seen: dict[str, Any] = {"what": "partition", "topic": "t", "partition": 1, "leader": 1}
    verdict = judge(history.add("topology", at=at(5_000), isr=(1, 2, 3), **seen), "X87")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


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


def test_the_first_of_those_that_failed_is_told(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9)
    for first, ms in ((10, 9_000), (20, 8_000), (30, 10_000)):
        history.acknowledged(0, first, first + 9, outcome="failed", first_sent_at=at(ms))
    verdict = judge(history, "X89")
    assert ("VIOLATED", 30) == (verdict["verdict"], verdict["measured_max"])
    assert at(8_000) == verdict["rows"][0]["at"]


def test_without_records_x89_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X89")["verdict"]
