from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, member_id

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def two_generations() -> History:
    """member-1 leads both; member-2 joins the second."""
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1)
    history.rebalance(5_000, 2, 2, f"Adding new member {member_id('member-2')}")
    return history.join("member-1", 5_005, 2).join("member-2", 5_001, 2)


# R12


def test_one_assignment_by_one_leader_holds(judge: Judge) -> None:
    verdict = judge(two_generations(), "R12")
    assert "HOLDS" == verdict["verdict"]
    assert 2 == verdict["examined"]


def test_a_second_assignment_in_a_generation_violates(judge: Judge) -> None:
    history = two_generations().says("assignment_received", 5_030, "member-2", generation=2)
    assert "2 assignments" in judge(history, "R12")["reason"]


def test_a_leader_that_had_not_joined_violates(judge: Judge) -> None:
    history = History().rebalance(0, 1, 1).join("member-2", 5, 1)
    assert "VIOLATED" == judge(history, "R12")["verdict"]


def test_a_leader_replaced_although_it_rejoined_violates(judge: Judge) -> None:
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1)
    history.says("rebalance_started", 5_000, generation=1, reason="x")
    history.says("stabilized", 5_010, generation=2, members=2)
    history.says("assignment_received", 5_015, "member-2", generation=2)
    history.join("member-1", 5_005, 2).join("member-2", 5_005, 2)
    assert "was replaced" in judge(history, "R12")["reason"]


def test_a_generation_cut_short_by_the_next_is_not_examined(judge: Judge) -> None:
    history = History().says("rebalance_started", 0, generation=0, reason="x")
    history.says("stabilized", 10, generation=1, members=1).join("member-1", 5, 1)
    history.rebalance(20, 2, 2).join("member-1", 25, 2)
    verdict = judge(history, "R12")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_generations_r12_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R12")["verdict"]


# R20a, R20b


@pytest.mark.parametrize(
    ("rule", "event"),
    [("R20a", "member_added"), ("R20b", "left"), ("R20b", "evicted"), ("R20e", "evicted")],
)
def test_a_rebalance_right_after_its_cause_holds(judge: Judge, rule: str, event: str) -> None:
    history = History().says(event, 1_000, "member-2").rebalance(1_001, 2, 2)
    verdict = judge(history, rule)
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("rule", "event"),
    [("R20a", "member_added"), ("R20b", "left"), ("R20b", "evicted"), ("R20e", "evicted")],
)
def test_a_rebalance_long_after_its_cause_violates(judge: Judge, rule: str, event: str) -> None:
    history = History().says(event, 1_000, "member-2").rebalance(1_100, 2, 2)
    assert "VIOLATED" == judge(history, rule)["verdict"]


@pytest.mark.parametrize(("started_ms", "verdict"), [(1_001, "HOLDS"), (1_100, "UNKNOWN")])
def test_a_machine_that_stood_still_excuses_a_late_start_and_spoils_no_prompt_one(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = History().says("left", 1_000, "member-2").rebalance(started_ms, 2, 2)
    assert verdict == judge(history.tick(1_050, late_ms=90), "R20b")["verdict"]


@pytest.mark.parametrize(("rule", "event"), [("R20a", "member_added"), ("R20b", "left")])
def test_a_rebalance_under_way_needs_no_second(judge: Judge, rule: str, event: str) -> None:
    history = History().says("rebalance_started", 500, generation=1, reason="x")
    history.says(event, 1_000, "member-2").says("stabilized", 3_000, generation=2, members=2)
    assert "HOLDS" == judge(history, rule)["verdict"]


@pytest.mark.parametrize("rule", ["R20a", "R20b", "R20e"])
def test_without_a_cause_the_start_rules_are_unknown(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1), rule)["verdict"]


def test_the_last_member_that_leaves_empties_the_group(judge: Judge) -> None:
    history = History().says("left", 1_000, "member-1").says("emptied", 1_001, generation=2)
    assert "HOLDS" == judge(history, "R20b")["verdict"]


# R32


def told(answered_27_ms: float | None, rejoined_ms: float, *ordinary: float) -> History:
    """A rebalance that member-2 causes at 5 s; member-1 has to rejoin."""
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1)
    history.says("rebalance_started", 5_000, generation=1, reason=f"Adding {member_id('member-2')}")
    history.says("stabilized", 9_000, generation=2, members=2)
    history.join("member-2", 5_001, 2).join("member-1", rejoined_ms, 2)
    history.heartbeats("member-1", *ordinary)
    if answered_27_ms is not None:
        history.heartbeats("member-1", answered_27_ms, error_code=27)
    return history


def test_being_told_by_the_next_heartbeat_holds(judge: Judge) -> None:
    verdict = judge(told(6_900, 6_950, 4_900), "R32")
    assert ("HOLDS", 1, 1_900) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_a_heartbeat_that_was_on_its_way_may_still_be_answered(judge: Judge) -> None:
    assert "HOLDS" == judge(told(6_900, 6_950, 4_900, 5_040), "R32")["verdict"]


def test_being_told_after_more_than_one_interval_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(told(7_700, 7_800), "R32")["verdict"]


def test_a_heartbeat_answered_as_if_nothing_was_up_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(told(8_000, 8_100, 6_000), "R32")["verdict"]


def test_a_follower_that_joins_again_later_was_told_before_its_first_join(judge: Judge) -> None:
    history = told(6_900, 6_950, 4_900).heartbeats("member-1", 9_500)
    verdict = judge(history.join("member-1", 12_000, 2), "R32")
    assert ("HOLDS", 1_900) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_that_rejoins_before_its_heartbeat_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(told(None, 5_200), "R32")["verdict"]
    assert "UNKNOWN" == judge(History(), "R32")["verdict"]


# R33


def test_generations_in_steps_of_one_hold(judge: Judge) -> None:
    assert "HOLDS" == judge(two_generations(), "R33")["verdict"]


def test_a_skipped_generation_violates(judge: Judge) -> None:
    assert (
        "VIOLATED" == judge(History().rebalance(0, 1, 1).rebalance(5_000, 3, 1), "R33")["verdict"]
    )


def test_a_generation_that_was_never_stored_may_be_used_again_by_another_broker(
    judge: Judge,
) -> None:
    history = History().rebalance(0, 1, 1)
    history.says("rebalance_started", 5_000, generation=1, reason="x")
    history.says("stabilized", 5_010, generation=2, members=2)
    history.rebalance(15_000, 2, 2, broker=2)
    assert "HOLDS" == judge(history, "R33")["verdict"]


def test_one_generation_alone_is_no_step(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1), "R33")["verdict"]


# X14


def closing(*, left_ms: float | None, rebalance_ms: float = 10_011) -> History:
    history = History().says("member_added", 0, "member-2").join("member-2", 5)
    history.told("member-2", "closing", 10_000)
    if left_ms is not None:
        history.says("left", left_ms, "member-2").rebalance(rebalance_ms, 2, 1)
    return history


def test_close_that_leaves_and_rebalances_at_once_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(closing(left_ms=10_010), "X14")["verdict"]


def test_close_without_a_leave_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(closing(left_ms=None), "X14")["verdict"]


def test_close_with_a_late_rebalance_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(closing(left_ms=10_010, rebalance_ms=10_200), "X14")["verdict"]


@pytest.mark.parametrize(("rebalance_ms", "verdict"), [(10_011, "HOLDS"), (10_100, "UNKNOWN")])
def test_a_machine_that_stood_still_excuses_a_late_rebalance_after_a_close(
    judge: Judge, rebalance_ms: float, verdict: str
) -> None:
    history = closing(left_ms=10_010, rebalance_ms=rebalance_ms).tick(10_060, late_ms=90)
    assert verdict == judge(history, "X14")["verdict"]


def test_a_member_removed_before_it_closed_has_nothing_to_leave(judge: Judge) -> None:
    history = closing(left_ms=None).says("evicted", 9_000, "member-2")
    assert "UNKNOWN" == judge(history, "X14")["verdict"]
