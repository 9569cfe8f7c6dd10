"""Whether the other side saw what a fault did, from when on and until when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# E01; a fault is begun a millisecond before it took effect, and healing a millisecond before it is
# healed.


@pytest.mark.parametrize(
    ("seen_ms", "verdict"),
    [(9_998, "UNKNOWN"), (9_999, "HOLDS"), (54_999, "HOLDS"), (55_000, "UNKNOWN")],
)
def test_the_observer_misses_a_broker_from_the_intent_to_half_a_minute_after(
    judge: Judge, seen_ms: float, verdict: str
) -> None:
    history = History().fault("kill-broker", "broker-2", 10_000, 25_000)
    history.broker_seen(seen_ms, 2, alive=False).broker_seen(15_000, 2, alive=True)
    assert verdict == judge(history, "E01")["verdict"]


def test_a_member_that_was_told_to_end_does_not_join_again(judge: Judge) -> None:
    """Epoch 0 is a join, and none of what it says as it leaves."""
    history = History().fault("terminate-consumer", "member-1", 10_000)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 12_100, generation=0)
    assert "VIOLATED" == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(("joined_ms", "verdict"), [(9_999, "HOLDS"), (9_998, "UNKNOWN")])
def test_a_started_member_joins_from_the_intent_on(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    history = History().fault("start-consumer", "member-4", 10_000)
    assert verdict == judge(history.join("member-4", joined_ms), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "started_ms", "verdict"),
    [
        ("start-consumer", 9_949, "HOLDS"),  # within the slack
        ("start-consumer", 9_948, "VIOLATED"),
        ("start-consumer", 19_999, "HOLDS"),
        ("start-consumer", 20_000, "UNKNOWN"),
        ("stall-consumer", 0, "UNKNOWN"),
    ],
)
def test_a_started_member_runs_from_the_fault_on(
    judge: Judge, kind: str, started_ms: float, verdict: str
) -> None:
    history = History().fault(kind, "member-4", 10_000).join("member-4", 21_000)
    history.member("member-4", started_at=at(started_ms))
    assert verdict == judge(history, "E01")["verdict"]


def test_of_a_name_that_is_started_twice_the_last_start_is_on_record(judge: Judge) -> None:
    history = History().fault("start-consumer", "member-4", 10_000)
    history.fault("start-consumer", "member-4", 40_000)
    history.join("member-4", 11_000).join("member-4", 41_000, 2)
    history.member("member-4", started_at=at(40_100))
    assert "HOLDS" == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(("left_ms", "verdict"), [(59_999, "HOLDS"), (60_000, "UNKNOWN")])
def test_a_closed_member_leaves_before_everybody_does(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    history = History().member("member-2").fault("close-consumer", "member-2", 10_000)
    assert verdict == judge(history.request("LEAVE_GROUP", "member-2", left_ms), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "evidence", "verdict"),
    [
        ("latency", "member-1", "broker-1 through member-1: answered", "HOLDS"),
        ("latency", "member-1", "broker-1 through member-2: answered", "VIOLATED"),
        ("latency", "member-1", "broker-1 through member-12: answered", "VIOLATED"),
        ("latency", "member-1", "broker-1 through members: answered", "HOLDS"),
        ("latency", "members", "broker-1 through member-2: answered", "HOLDS"),
        ("latency", "member-1", "through member-2 and member-1", "HOLDS"),
        ("kill-consumer", "member-1", "member-2 ended", "VIOLATED"),
        ("kill-consumer", "member-1", "pid 17 is gone", "HOLDS"),
        ("kill-consumer", "member-1", None, "HOLDS"),
        ("start-duplicate", "member-1", "member-2 ended with exit code 1", "HOLDS"),
    ],
)
def test_what_was_seen_of_a_fault_is_of_its_member(
    judge: Judge, kind: str, resolved: str, evidence: str | None, verdict: str
) -> None:
    history = History().fault(kind, resolved, 10_000, 20_000)
    history.member(resolved, instance_id="i")
    history.heartbeats(resolved, 10_100, error_code=82, instance_id="i")
    for row in history.rows["faults"]:
        row["evidence"] = evidence
    judged = judge(history, "E01")
    assert verdict == judged["verdict"]
    assert ("of another member" in judged["reason"]) == (verdict == "VIOLATED")


@pytest.mark.parametrize(("refused_ms", "verdict"), [(9_999, "HOLDS"), (9_998, "UNKNOWN")])
def test_one_of_two_with_one_instance_id_is_refused_from_the_intent_on(
    judge: Judge, refused_ms: float, verdict: str
) -> None:
    history = History().fault("start-duplicate", "member-2", 10_000)
    history.member("member-2", instance_id="member-2").member("member-4", instance_id="member-2")
    history.heartbeats("member-2", refused_ms, error_code=82, instance_id="member-2")
    assert verdict == judge(history, "E01")["verdict"]


def test_of_a_member_that_is_not_on_record_nobody_knows_what_its_instance_id_is(
    judge: Judge,
) -> None:
    history = History().fault("start-duplicate", "member-2", 10_000)
    history.heartbeats("member-2", 12_000, error_code=82, instance_id="member-2")
    (row,) = judge(history, "E01")["rows"]
    why = "no coordinator refused one of the two processes"
    assert (None, why) == (row["ok"], row["why"])


@pytest.mark.parametrize(("stalled_ms", "verdict"), [(4_999, "HOLDS"), (4_998, "UNKNOWN")])
def test_a_stall_may_have_begun_five_seconds_before_the_intent(
    judge: Judge, stalled_ms: float, verdict: str
) -> None:
    history = History().fault("stall-consumer", "member-1", 10_000, 18_000)
    history.told("member-1", "stall_started", stalled_ms, duration_ms=14_000.0)
    assert verdict == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "verdict"),
    [(11_001, "HOLDS"), (11_002, "VIOLATED"), (20_000, "VIOLATED"), (20_001, "HOLDS")],
)
def test_what_comes_through_a_narrow_link_as_it_begins_or_ends_does_not_count(
    judge: Judge, polled_ms: float, verdict: str
) -> None:
    """100 records a second before, and 100 in those nine seconds."""
    history = History().fault("bandwidth", "member-1", 10_001, 20_002)
    history.delivered("member-1", 0, 0, 999, 5_000)
    history.delivered("member-1", 0, 1_000, 1_899, polled_ms)
    assert verdict == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "verdict"),
    [(1_999, "UNKNOWN"), (2_000, "HOLDS"), (9_999, "HOLDS"), (10_000, "UNKNOWN")],
)
def test_before_a_narrow_link_is_from_when_the_group_was_well_to_the_intent(
    judge: Judge, polled_ms: float, verdict: str
) -> None:
    history = History(steady_ms=2_000).fault("bandwidth", "member-1", 10_001, 20_002)
    history.delivered("member-1", 0, 0, 999, polled_ms)
    history.delivered("member-1", 0, 1_000, 1_099, 15_000)
    assert verdict == judge(history, "E01")["verdict"]


def test_of_a_link_that_is_narrow_as_soon_as_the_group_is_well_nothing_was_before(
    judge: Judge,
) -> None:
    history = History().fault("bandwidth", "member-1", 1, 20_000)
    history.delivered("member-1", 0, 0, 999, 5_000)
    assert "HOLDS" == judge(history, "E01")["verdict"]


def test_a_lack_of_faults_is_told_of_the_last_that_was_planned(judge: Judge) -> None:
    history = History()
    for planned_ms in (-4_000, -1_000, -2_000):
        history.fault("latency", "members", 10_000, 20_000, injecting_ms=planned_ms)
    history.faults = 5
    (row,) = (row for row in judge(history, "E01")["rows"] if row["subject"] == "schedule")
    why = "3 of 5 declared faults are on record"
    assert (None, why) == (row["ok"], row["why"])
