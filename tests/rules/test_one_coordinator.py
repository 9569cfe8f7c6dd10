from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def coordinated() -> History:
    """broker-1 coordinates from 0 s on, and broker-2 has loaded the group at 20 s."""
    history = History().says("member_added", 0, "member-1").heartbeats("member-1", 2_000)
    history.says("loaded", 20_000, broker=2, members=1)
    return history.heartbeats("member-1", 22_000, broker=2)


def proved(history: History, kind: str = "stop-broker") -> History:
    """Faults that end a process have the proof of it."""
    for row in history.rows["faults"]:
        if kind in ("stop-broker", "upgrade-broker"):
            row["evidence"] = "direct listener of broker-1: refused after 0 ms"
    return history


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
        ("SYNC_GROUP", 19_949, {"broker": 2}, "VIOLATED"),
        ("SYNC_GROUP", 19_950, {"broker": 2}, "HOLDS"),
        ("HEARTBEAT", 10_000, {"broker": 3}, "VIOLATED"),
        ("HEARTBEAT", 20_051, {"group": "payments"}, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 21_000, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 21_000, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 21_000, {"member_id": None}, "HOLDS"),
        ("OFFSET_COMMIT", 21_000, {"error_code": 27}, "HOLDS"),
        ("OFFSET_FETCH", 21_000, {}, "VIOLATED"),
        ("OFFSET_FETCH", -1, {"broker": 2}, "HOLDS"),  # before there is a group
        ("OFFSET_FETCH", 10_000, {"broker": 3}, "VIOLATED"),
        ("TXN_OFFSET_COMMIT", 21_000, {}, "VIOLATED"),
        ("LIST_OFFSETS", 21_000, {}, "HOLDS"),
    ],
)
def test_a_broker_out_of_its_time_refuses(
    judge: Judge, api: str, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = coordinated().request(api, "member-1", ms, **row)
    assert verdict == judge(history, "X39")["verdict"]


def test_the_first_call_that_a_broker_accepted_wrongly_is_told(judge: Judge) -> None:
    history = coordinated().request("SYNC_GROUP", "member-1", 22_000)
    history.request("HEARTBEAT", "member-1", 21_000).request("HEARTBEAT", "member-1", 10_000)
    reason = judge(history, "X39")["reason"]
    assert "accepted 2 calls while it did not coordinate the group, the first: HEARTBEAT" in reason


@pytest.mark.parametrize(("api", "verdict"), [("HEARTBEAT", "HOLDS"), ("SYNC_GROUP", "VIOLATED")])
def test_a_broker_that_was_away_may_answer_heartbeats_before_it_knows(
    judge: Judge, api: str, verdict: str
) -> None:
    history = coordinated().fault("pause-broker", "broker-1", 10_000, 21_000)
    assert verdict == judge(history.request(api, "member-1", 21_500), "X39")["verdict"]
    assert "VIOLATED" == judge(history.request(api, "member-1", 9_000, broker=3), "X39")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "ms", "verdict"),
    [
        (10_000, 27_000, "HOLDS"),
        (10_000, 27_001, "VIOLATED"),
        (20_500, 20_500, "HOLDS"),
        (20_500, 20_499, "VIOLATED"),  # it was not away yet
    ],
)
def test_a_session_after_its_return_it_knows(
    judge: Judge, from_ms: float, ms: float, verdict: str
) -> None:
    history = coordinated()
    history.fault("pause-broker", "broker-1", 20_800, 21_000, injecting_ms=from_ms)
    assert verdict == judge(history.request("HEARTBEAT", "member-1", ms), "X39")["verdict"]


@pytest.mark.parametrize(
    ("kind", "ms", "verdict"),
    [
        ("stop-broker", 21_000, "HOLDS"),
        ("stop-broker", 21_001, "VIOLATED"),
        ("upgrade-broker", 21_001, "VIOLATED"),
        ("kill-broker", 21_001, "VIOLATED"),
        ("pause-broker", 21_001, "HOLDS"),
        ("pause-broker", 41_000, "HOLDS"),
        ("stop-broker", 41_000, "VIOLATED"),  # it was started again
        ("kill-broker", 41_000, "VIOLATED"),
    ],
)
def test_a_broker_whose_process_ended_coordinates_nothing_from_its_successor_on(
    judge: Judge, kind: str, ms: float, verdict: str
) -> None:
    history = proved(coordinated().fault(kind, "broker-1", 19_000, 40_000), kind)
    assert verdict == judge(history.heartbeats("member-1", ms), "X39")["verdict"]


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ("direct listener of broker-1: refused after 0 ms", "VIOLATED"),
        ("direct listener of broker-1: cut after 2 ms", "VIOLATED"),
        ("direct listener of broker-1: silent after 1002 ms", "HOLDS"),
        (None, "HOLDS"),
    ],
)
def test_that_a_process_ended_is_known_by_what_its_listener_did(
    judge: Judge, evidence: str | None, verdict: str
) -> None:
    history = coordinated().fault("stop-broker", "broker-1", 19_000, 40_000)
    for row in history.rows["faults"]:
        row["evidence"] = evidence
    assert verdict == judge(history.heartbeats("member-1", 41_000), "X39")["verdict"]


@pytest.mark.parametrize(
    ("healed_ms", "verdict"), [(None, "HOLDS"), (20_502, "HOLDS"), (20_500, "VIOLATED")]
)
def test_a_broker_that_is_shut_down_is_behind_until_it_is_started_again(
    judge: Judge, healed_ms: float | None, verdict: str
) -> None:
    history = proved(coordinated().fault("stop-broker", "broker-1", 19_000, healed_ms))
    assert verdict == judge(history.heartbeats("member-1", 20_501), "X39")["verdict"]


@pytest.mark.parametrize(
    ("api", "ms", "broker", "verdict"),
    [
        ("HEARTBEAT", 19_949, 2, "HOLDS"),
        ("HEARTBEAT", 2_000, 2, "HOLDS"),
        ("HEARTBEAT", 1_999, 2, "VIOLATED"),  # the former one was at work
        ("HEARTBEAT", 19_949, 3, "VIOLATED"),
        ("OFFSET_COMMIT", 19_949, 2, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", 19_949, 2, "VIOLATED"),
    ],
)
def test_a_coordinator_answers_heartbeats_blindly_while_it_loads_the_group(
    judge: Judge, api: str, ms: float, broker: int, verdict: str
) -> None:
    history = coordinated().request(api, "member-1", ms, broker=broker)
    assert verdict == judge(history, "X39")["verdict"]


def test_without_calls_x39_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().says("member_added", 0, "member-1"), "X39")["verdict"]


# X66


def named(ms: float, coordinator: int, **row: Any) -> History:
    """broker-3 is asked who coordinates the group, and names a broker."""
    detail = f'{{"coordinator": {coordinator}}}'
    return coordinated().request("FIND_COORDINATOR", "member-1", ms, detail=detail, **row)


@pytest.mark.parametrize(
    ("ms", "broker", "row", "verdict"),
    [
        (10_000, 1, {}, "HOLDS"),
        (16_990, 2, {}, "VIOLATED"),  # long before it was to load the group
        (17_010, 2, {}, "UNKNOWN"),
        (10_000, 3, {}, "VIOLATED"),
        (10_000, 3, {"client_id": "observer"}, "VIOLATED"),
        (10_000, 3, {"error_code": 15}, "UNKNOWN"),
        (10_000, 3, {"group": "payments"}, "UNKNOWN"),
        (18_000, 3, {}, "UNKNOWN"),  # the coordinator changes
        (30_000, 1, {}, "VIOLATED"),
        (16_999.9, 3, {}, "VIOLATED"),
        (17_000, 3, {}, "UNKNOWN"),  # 3 s before the change, and after it
        (23_000, 3, {}, "UNKNOWN"),
        (23_000.1, 3, {}, "VIOLATED"),
        (30_000, 2, {}, "HOLDS"),
    ],
)
def test_brokers_name_the_coordinator(
    judge: Judge, ms: float, broker: int, row: dict[str, Any], verdict: str
) -> None:
    history = named(ms, broker, **{"broker": 3, **row})
    assert verdict == judge(history, "X66")["verdict"]


@pytest.mark.parametrize(
    ("ms", "broker", "row", "verdict"),
    [
        (10_000, 1, {}, "HOLDS"),
        (10_000, 3, {}, "VIOLATED"),
        (10_000, 3, {"group": "payments"}, "UNKNOWN"),
        (10_000, 3, {"what": "broker"}, "UNKNOWN"),
        (18_000, 3, {}, "UNKNOWN"),  # the coordinator changes
        (30_000, 2, {}, "HOLDS"),
    ],
)
def test_the_coordinator_describes_the_group(
    judge: Judge, ms: float, broker: int, row: dict[str, Any], verdict: str
) -> None:
    seen = {"at": at(ms), "what": "group", "group": "orders", "coordinator": broker, **row}
    assert verdict == judge(coordinated().add("topology", **seen), "X66")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(-1_000, "VIOLATED"), (-1_001, "UNKNOWN")])
def test_what_was_so_long_before_the_groups_first_line_is_on_no_log(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(named(ms, 3, broker=3), "X66")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "healed_ms", "verdict"),
    [
        ("pause-broker", "broker-2", 35_000, 36_000, "UNKNOWN"),
        ("pause-broker", "broker-2", 33_000, 34_000, "UNKNOWN"),  # a session before
        ("pause-broker", "broker-2", 33_000, 33_999, "VIOLATED"),
        ("kill-broker", "controller-101", 33_000, 34_000, "UNKNOWN"),
        ("kill-broker", "broker-2", 35_000, 37_000, "UNKNOWN"),
        ("kill-broker", "broker-2", 35_000, 36_999, "VIOLATED"),
        ("kill-broker", "broker-2", 35_000, None, "UNKNOWN"),  # and no other has loaded the group
        ("stop-broker", "broker-2", 35_000, 37_000, "UNKNOWN"),
        ("stop-broker", "broker-2", 35_000, 36_999, "VIOLATED"),
        ("stop-broker", "broker-2", 40_001, 41_000, "UNKNOWN"),
        ("stop-broker", "broker-2", 40_002, 41_000, "VIOLATED"),
    ],
)
def test_while_a_broker_is_broken_others_may_not_know(
    judge: Judge, kind: str, resolved: str, from_ms: float, healed_ms: float | None, verdict: str
) -> None:
    history = named(40_000, 1, broker=3).fault(kind, resolved, from_ms, healed_ms)
    history = proved(history, kind)
    assert verdict == judge(history, "X66")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "asked_ms", "verdict"),
    [
        ("kill-broker", "broker-1", 23_000, "UNKNOWN"),
        ("kill-broker", "broker-1", 23_001, "VIOLATED"),
        ("kill-broker", "broker-2", 23_001, "UNKNOWN"),  # it has not coordinated the group yet
        ("pause-broker", "broker-1", 23_001, "UNKNOWN"),
    ],
)
def test_once_another_has_loaded_the_group_all_know_that_its_coordinator_is_gone(
    judge: Judge, kind: str, resolved: str, asked_ms: float, verdict: str
) -> None:
    history = named(asked_ms, 1, broker=3).fault(kind, resolved, 16_000)
    assert verdict == judge(history, "X66")["verdict"]


def test_a_coordinator_that_loads_the_group_again_has_no_successor(judge: Judge) -> None:
    history = named(40_000, 1, broker=3).fault("kill-broker", "broker-2", 30_000)
    history.says("loaded", 33_000, broker=2, members=1)
    assert "UNKNOWN" == judge(history, "X66")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "how", "verdict"),
    [
        ("isolate-broker", "broker-2", "peers", "UNKNOWN"),
        ("isolate-broker", "broker-2", "lanes", "UNKNOWN"),  # only its clients miss it
        ("kill-consumer", "member-2", "at once", "VIOLATED"),
    ],
)
def test_only_a_broken_broker_keeps_others_from_knowing(
    judge: Judge, kind: str, resolved: str, how: str, verdict: str
) -> None:
    history = named(40_000, 1, broker=3)
    history.fault(kind, resolved, 35_000, 41_000, parameters=f'{{"how": "{how}"}}')
    assert verdict == judge(history, "X66")["verdict"]


@pytest.mark.parametrize(
    ("answers", "ms", "wrong"),
    [
        (((9_000, 1), (10_000, 1)), 9_000, 0),
        (((9_000, 1), (10_000, 3), (11_000, 3), (12_000, 1)), 10_000, 2),
    ],
)
def test_the_first_of_the_answers_that_name_another_is_told(
    judge: Judge, answers: tuple[tuple[float, int], ...], ms: float, wrong: int
) -> None:
    history = coordinated()
    for asked_ms, coordinator in answers:
        detail = f'{{"coordinator": {coordinator}}}'
        history.request("FIND_COORDINATOR", "member-1", asked_ms, detail=detail, broker=3)
    (row,) = judge(history, "X66")["rows"]
    assert (at(ms), wrong) == (row["at"], row["measured"])


def test_without_lookups_x66_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(coordinated(), "X66")["verdict"]
