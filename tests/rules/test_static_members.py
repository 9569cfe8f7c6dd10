from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]
NAME = "member-2"


def parts(*numbers: int) -> list[dict[str, Any]]:
    return [{"topic": TOPIC, "partition": number} for number in numbers]


def static_group() -> History:
    """member-2 is static and has partitions 2 and 3 in generation 1."""
    history = History(group={"static": True}).rebalance(0, 1, 3)
    history.member(NAME, instance_id=NAME)
    history.says("member_added", 0, NAME, instance_id=NAME)
    history.join(NAME, 5, instance_id=NAME)
    return history.sync(NAME, 15, assigned=parts(2, 3), instance_id=NAME)


def replaced(history: History, ms: float, *numbers: int, generation: int = 1) -> History:
    """member-4 joins in the place of member-2, and is given these partitions."""
    new = {"client_id": "member-4", "instance_id": NAME, "generation": generation}
    history.says("replaced", ms, NAME, instance_id=NAME)
    history.request(
        "JOIN_GROUP", NAME, ms + 1, life=2, arrived_at=at(ms - 1), session_timeout_ms=6_000, **new
    )
    return history.request("SYNC_GROUP", NAME, ms + 5, life=2, assigned=parts(*numbers), **new)


# X02


def test_a_process_in_the_place_of_another_holds(judge: Judge) -> None:
    verdict = judge(replaced(static_group(), 10_000, 3, 2), "X02")
    assert ("HOLDS", 1, 6) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_other_partitions_than_before_violate(judge: Judge) -> None:
    assert "not t-2 t-3" in judge(replaced(static_group(), 10_000, 2), "X02")["reason"]


def test_a_rebalance_because_of_it_violates(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3).says("rebalance_started", 10_002, generation=1)
    assert "a rebalance started" in judge(history, "X02")["reason"]


def test_another_generation_violates(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3, generation=2)
    assert "in generation 2, not 1" in judge(history, "X02")["reason"]


def test_a_process_that_is_given_nothing_violates(judge: Judge) -> None:
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    history.join(NAME, 10_001, life=2, instance_id=NAME)
    assert "never given partitions" in judge(history, "X02")["reason"]


def test_what_nobody_recorded_cannot_be_told(judge: Judge) -> None:
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    assert "UNKNOWN" == judge(history, "X02")["verdict"]


def test_a_replacement_during_a_rebalance_is_not_examined(judge: Judge) -> None:
    history = static_group().says("rebalance_started", 9_990, generation=1, reason="x")
    assert "UNKNOWN" == judge(replaced(history, 10_000, 2, 3), "X02")["verdict"]


def test_without_a_replacement_x02_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(static_group(), "X02")["verdict"]


# X03


def closed(evicted_ms: float | None, member: str = NAME, **row: Any) -> History:
    """It closes at 10 s; its last heartbeat was at 9 s."""
    history = static_group().heartbeats(NAME, 3_000, 5_000, 7_000, 9_000)
    history.told(member, "closing", 10_000)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, NAME, **row)
    return history


def test_a_silent_close_and_an_eviction_hold(judge: Judge) -> None:
    verdict = judge(closed(15_001), "X03")
    assert ("HOLDS", 6_001) == (verdict["verdict"], verdict["measured_max"])


def test_a_leave_violates_x03(judge: Judge) -> None:
    history = closed(None).request("LEAVE_GROUP", NAME, 10_010).says("left", 10_010, NAME)
    assert "it said that it left" in judge(history, "X03")["reason"]


def test_an_eviction_too_early_violates_x03(judge: Judge) -> None:
    assert "VIOLATED" == judge(closed(13_000), "X03")["verdict"]


def test_never_evicted_violates_x03(judge: Judge) -> None:
    assert "VIOLATED" == judge(closed(None), "X03")["verdict"]


def test_a_rebalance_before_its_session_ends_violates_x03(judge: Judge) -> None:
    history = closed(15_001).says("rebalance_started", 12_000, generation=1)
    assert "while its session ran" in judge(history, "X03")["reason"]


def test_a_close_with_another_process_in_its_place_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(replaced(closed(None), 12_000, 2, 3), "X03")["verdict"]


def test_a_close_just_before_the_end_cannot_be_told(judge: Judge) -> None:
    history = static_group().heartbeats(NAME, 55_000).told(NAME, "closing", 56_000)
    assert "UNKNOWN" == judge(history, "X03")["verdict"]


def test_closing_at_the_end_of_the_run_is_not_examined(judge: Judge) -> None:
    history = static_group().told(NAME, "closing", 59_999.5)
    assert 0 == judge(history, "X03")["examined"]


# X04


def stalled(evicted_ms: float | None, **row: Any) -> History:
    """It polls last at 20 s, with 8 s between polls allowed."""
    history = static_group()
    history.rows["members"][0] |= {"max_poll_interval_ms": 8_000, **row}
    history.told(NAME, "stall_started", 20_000, duration_ms=20_000.0)
    history.heartbeats(NAME, 26_000, 28_000)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, NAME)
    return history


def test_silence_at_the_limit_and_an_eviction_hold(judge: Judge) -> None:
    verdict = judge(stalled(34_001), "X04")
    assert ("HOLDS", 14_001, 11_900, 14_550) == (
        verdict["verdict"], verdict["measured_max"], verdict["bound_low"], verdict["bound_high"]
    )  # fmt: skip


@pytest.mark.parametrize("evicted_ms", [31_800, 34_600, None])
def test_an_eviction_at_another_time_violates_x04(judge: Judge, evicted_ms: float | None) -> None:
    assert "VIOLATED" == judge(stalled(evicted_ms), "X04")["verdict"]


def test_a_static_member_that_leaves_violates_x04(judge: Judge) -> None:
    history = stalled(34_001).request("LEAVE_GROUP", NAME, 28_100)
    assert "left the group by itself" in judge(history, "X04")["reason"]


def test_dynamic_members_are_not_examined_by_x04(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stalled(34_001, instance_id=None), "X04")["verdict"]


def test_static_members_are_not_examined_by_r07(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stalled(34_001), "R07")["verdict"]


# X05


def duplicated(refused_ms: float | None = 11_000, end: str = "failed") -> History:
    history = replaced(static_group(), 10_000, 2, 3)
    history.rows["members"][0] |= {"end": end, "ended_at": at(11_500)}
    if refused_ms is not None:
        history.heartbeats(NAME, refused_ms, error_code=82)
    return history


def test_the_older_of_two_is_fenced(judge: Judge) -> None:
    verdict = judge(duplicated(), "X05")
    assert ("HOLDS", 1, 1_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_an_old_one_that_is_still_accepted_violates_x05(judge: Judge) -> None:
    history = duplicated().heartbeats(NAME, 10_500)
    assert "accepted still" in judge(history, "X05")["reason"]


def test_an_old_one_refused_after_more_than_a_heartbeat_violates_x05(judge: Judge) -> None:
    assert "VIOLATED" == judge(duplicated(12_700), "X05")["verdict"]


@pytest.mark.parametrize(("refused_ms", "end"), [(None, "failed"), (11_000, "closed")])
def test_an_old_one_that_goes_on_violates_x05(
    judge: Judge, refused_ms: float | None, end: str
) -> None:
    assert "VIOLATED" == judge(duplicated(refused_ms, end), "X05")["verdict"]


def test_an_old_one_that_had_ended_before_is_not_examined_by_x05(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    history.rows["members"][0] |= {"end": "closed", "ended_at": at(9_000)}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]
    history.rows["members"][0] |= {"end": "killed", "ended_at": None}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]


# What the rules about dynamic members make of static ones.


def test_a_static_close_is_a_departure_that_starts_no_rebalance(judge: Judge) -> None:
    history = closed(None)
    history.says("evicted", 15_001, NAME).rebalance(15_002, 2, 2)
    verdict = judge(history, "R20b")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])
    assert "does not say that it leaves" in verdict["reason"]


def test_a_static_close_is_not_examined_by_x14(judge: Judge) -> None:
    assert "UNKNOWN" == judge(closed(15_001), "X14")["verdict"]


def test_a_replaced_member_holds_nothing_any_more(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    history.member("member-4", instance_id=NAME)
    history.rows["members"][0] |= {"end": "killed", "ended_at": None}
    history.told(NAME, "assigned", 20, [2, 3])
    history.told("member-4", "assigned", 10_005, [2, 3], member_id=member_id(NAME, 2))
    assert "HOLDS" == judge(history, "R21")["verdict"]
    assert "VIOLATED" == judge(history, "R21-delivery")["verdict"]
