from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def taken_over(*, stored: bool = True) -> History:
    """The group is in generation 2; broker-2 has loaded it at 9 s, after broker-1 was gone."""
    history = History().member("member-1").says("member_added", 0, "member-1")
    history.rebalance(5, 1, 1).join("member-1", 10).sync("member-1", 21)
    history.says("rebalance_started", 4_000, generation=1)
    history.says("stabilized", 5_000, generation=2, members=1)
    if stored:
        history.says("assignment_received", 5_005, "member-1", generation=2)
        history.sync("member-1", 5_010, 2)
    return history.says("loaded", 9_000, broker=2, members=1)


def prepared(history: History, generation: int, ms: float = 12_000) -> History:
    """The new coordinator prepares the generation after this one."""
    return history.says("rebalance_started", ms, generation=generation, broker=2)


# X95


@pytest.mark.parametrize(
    ("generation", "verdict"), [(1, "VIOLATED"), (2, "HOLDS"), (3, "VIOLATED")]
)
def test_the_next_generation_is_prepared_from_the_stored_one(
    judge: Judge, generation: int, verdict: str
) -> None:
    judged = judge(prepared(taken_over(), generation), "X95")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_only_the_first_generation_that_it_prepares_counts(judge: Judge) -> None:
    history = prepared(prepared(taken_over(), 2), 2, 13_000)
    history.says("stabilized", 14_000, generation=3, broker=2, members=1)
    assert "HOLDS" == judge(prepared(history, 3, 15_000), "X95")["verdict"]


@pytest.mark.parametrize(("first", "second", "verdict"), [(1, 2, "VIOLATED"), (2, 1, "HOLDS")])
def test_what_it_says_later_does_not_take_the_first_word_back(
    judge: Judge, first: int, second: int, verdict: str
) -> None:
    history = prepared(prepared(taken_over(), first), second, 13_000)
    assert verdict == judge(history, "X95")["verdict"]


def test_it_may_prepare_the_next_generation_in_the_moment_of_its_takeover(judge: Judge) -> None:
    """That belongs to the takeover that begins then, and not to the one that it ends."""
    assert "VIOLATED" == judge(prepared(taken_over(), 1, 9_000), "X95")["verdict"]
    history = prepared(taken_over().says("loaded", 13_000, broker=2, members=1), 3, 13_000)
    judged = judge(history, "X95")
    assert (2, 1) == (judged["examined"], judged["violations"])


def test_how_many_members_it_loads_need_not_be_known(judge: Judge) -> None:
    history = prepared(taken_over(), 1)
    history.rows["coordinator_events"][-2]["members"] = None
    assert "VIOLATED" == judge(history, "X95")["verdict"]


def test_the_first_that_it_refuses_is_told(judge: Judge) -> None:
    refused: dict[str, Any] = {"generation": 2, "broker": 2, "error_code": 22}
    history = taken_over().request("OFFSET_COMMIT", "member-1", 9_600, **refused)
    history.heartbeats("member-1", 9_500, **refused)
    assert "refused a HEARTBEAT of member-1" in judge(history, "X95")["reason"]


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (9_049, {}, "HOLDS"),
        (9_050, {}, "VIOLATED"),
        (30_000, {}, "VIOLATED"),
        (9_050, {"generation": 1}, "HOLDS"),
        (9_050, {"error_code": 25}, "HOLDS"),
        (9_050, {"error_code": 0}, "HOLDS"),
        (9_050, {"member_id": None}, "HOLDS"),
        (9_050, {"broker": 1}, "HOLDS"),
    ],
)
def test_whoever_names_the_stored_generation_is_not_refused_for_it(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    asked = {"broker": 2, "generation": 2, "error_code": 22, **row}
    history = taken_over().heartbeats("member-1", ms, **asked)
    assert verdict == judge(history, "X95")["verdict"]


@pytest.mark.parametrize("api", ["SYNC_GROUP", "OFFSET_COMMIT"])
def test_a_sync_or_a_commit_is_not_refused_either(judge: Judge, api: str) -> None:
    history = taken_over()
    history.request(api, "member-1", 9_500, generation=2, broker=2, error_code=22)
    verdict = judge(history, "X95")
    assert f"refused a {api} of member-1 that named the stored generation 2" in verdict["reason"]


@pytest.mark.parametrize(("processed_ms", "verdict"), [(12_949, "VIOLATED"), (12_950, "HOLDS")])
def test_the_next_generation_is_a_reason_to_refuse(
    judge: Judge, processed_ms: float, verdict: str
) -> None:
    history = taken_over().says("stabilized", 13_000, generation=3, broker=2, members=1)
    history.heartbeats(
        "member-1", 12_900, generation=2, broker=2, error_code=22, processed_at=at(processed_ms)
    )
    assert verdict == judge(history, "X95")["verdict"]


@pytest.mark.parametrize(("next_ms", "verdict"), [(12_951, "VIOLATED"), (12_950, "HOLDS")])
def test_another_takeover_is_a_reason_too(judge: Judge, next_ms: float, verdict: str) -> None:
    history = taken_over().heartbeats("member-1", 12_900, generation=2, broker=2, error_code=22)
    history.says("loaded", next_ms, broker=3, members=1)
    assert verdict == judge(history, "X95")["verdict"]


def test_a_generation_of_which_nobody_had_a_part_may_be_forgotten(judge: Judge) -> None:
    history = prepared(taken_over(stored=False), 1)
    assert "UNKNOWN" == judge(history, "X95")["verdict"]


def test_a_sync_that_was_answered_by_the_next_coordinator_proves_nothing(judge: Judge) -> None:
    history = prepared(taken_over(stored=False), 1)
    history.sync("member-1", 5_010, 2, error_code=27).sync("member-1", 9_500, 2)
    history.sync("member-1", 5_020, 2, broker=3).sync("member-1", 5_030, 2, group="payments")
    assert "UNKNOWN" == judge(history, "X95")["verdict"]


@pytest.mark.parametrize("event", ["emptied", "epoch_bumped", "upgraded", "downgraded"])
def test_what_else_happened_to_the_group_may_not_have_been_stored(judge: Judge, event: str) -> None:
    history = prepared(taken_over(), 1).says(event, 8_000, generation=2)
    assert "UNKNOWN" == judge(history, "X95")["verdict"]


def test_a_coordinator_that_loads_no_members_is_not_examined(judge: Judge) -> None:
    history = prepared(taken_over(), 1)
    history.rows["coordinator_events"][-2]["members"] = 0
    assert "UNKNOWN" == judge(history, "X95")["verdict"]


def test_a_group_that_nobody_takes_over_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().rebalance(5, 1, 1).sync("member-1", 21), "X95")["verdict"]
