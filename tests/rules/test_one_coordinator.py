from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

Judge = Callable[[History, str], dict[str, Any]]


def coordinated() -> History:
    """broker-1 coordinates from 0 s on, and broker-2 has loaded the group at 20 s."""
    history = History().says("member_added", 0, "member-1").heartbeats("member-1", 2_000)
    history.says("loaded", 20_000, broker=2, members=1)
    return history.heartbeats("member-1", 22_000, broker=2)


# X39


def test_each_broker_in_its_time_holds(judge: Judge) -> None:
    verdict = judge(coordinated(), "X39")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("api", "ms", "row", "verdict"),
    [
        ("HEARTBEAT", 20_050, {}, "HOLDS"),
        ("HEARTBEAT", 20_051, {}, "VIOLATED"),
        ("HEARTBEAT", 20_051, {"error_code": 27}, "VIOLATED"),
        ("HEARTBEAT", 20_051, {"error_code": 16}, "HOLDS"),
        ("HEARTBEAT", 19_949, {"broker": 2}, "VIOLATED"),
        ("HEARTBEAT", 19_950, {"broker": 2}, "HOLDS"),
        ("HEARTBEAT", 10_000, {"broker": 3}, "VIOLATED"),
        ("HEARTBEAT", 20_051, {"group": "payments"}, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 21_000, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 21_000, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 21_000, {"member_id": None}, "HOLDS"),
        ("OFFSET_COMMIT", 21_000, {"error_code": 27}, "HOLDS"),
        ("OFFSET_FETCH", 21_000, {}, "HOLDS"),
    ],
)
def test_a_broker_out_of_its_time_refuses(
    judge: Judge, api: str, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = coordinated().request(api, "member-1", ms, **row)
    assert verdict == judge(history, "X39")["verdict"]


@pytest.mark.parametrize(("api", "verdict"), [("HEARTBEAT", "HOLDS"), ("SYNC_GROUP", "VIOLATED")])
def test_a_broker_that_was_away_may_answer_heartbeats_before_it_knows(
    judge: Judge, api: str, verdict: str
) -> None:
    history = coordinated().fault("pause-broker", "broker-1", 10_000, 21_000)
    assert verdict == judge(history.request(api, "member-1", 21_500), "X39")["verdict"]
    assert "VIOLATED" == judge(history.request(api, "member-1", 9_000, broker=3), "X39")["verdict"]


def test_without_calls_x39_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().says("member_added", 0, "member-1"), "X39")["verdict"]
