from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group, alone
from tests.histories import History, at, in_another_group

Judge = Callable[[History, str], dict[str, Any]]


# X24


def test_a_target_computed_with_a_later_heartbeat_holds(judge: Judge) -> None:
    history = alone().bumped(5_000, 3).bumped(5_100, 4).beat("member-1", 6_999).computed(7_000, 4)
    verdict = judge(history, "X24")
    assert ("HOLDS", 2_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_target_sooner_than_the_interval_violates(judge: Judge) -> None:
    history = alone().bumped(500, 3).computed(600, 3)
    assert "600 ms after the one before" in judge(history, "X24")["reason"]


def test_a_target_that_a_heartbeat_passes_over_violates(judge: Judge) -> None:
    history = alone().bumped(5_000, 3).beat("member-1", 6_800).computed(8_800, 3)
    assert "passed over by a heartbeat" in judge(history, "X24")["reason"]


@pytest.mark.parametrize(("computed_ms", "verdict"), [(6_851, "HOLDS"), (6_851.1, "VIOLATED")])
def test_the_heartbeat_that_computes_a_target_takes_its_time(
    judge: Judge, computed_ms: float, verdict: str
) -> None:
    history = alone().bumped(5_000, 3).beat("member-1", 6_800).beat("member-1", 8_800)
    assert verdict == judge(history.computed(computed_ms, 3), "X24")["verdict"]


@pytest.mark.parametrize(("beat_ms", "verdict"), [(1_050.4, "HOLDS"), (1_050.5, "VIOLATED")])
def test_a_heartbeat_within_the_interval_computes_nothing(
    judge: Judge, beat_ms: float, verdict: str
) -> None:
    history = alone().bumped(500, 3).beat("member-1", beat_ms).computed(3_000, 3)
    assert verdict == judge(history, "X24")["verdict"]


@pytest.mark.parametrize(("beat_ms", "verdict"), [(5_050, "HOLDS"), (5_050.1, "VIOLATED")])
def test_a_heartbeat_before_the_bump_computes_nothing(
    judge: Judge, beat_ms: float, verdict: str
) -> None:
    """It is stamped late, by no more than the slack."""
    history = alone().bumped(5_000, 3).beat("member-1", beat_ms).computed(7_000, 3)
    assert verdict == judge(history, "X24")["verdict"]


@pytest.mark.parametrize("row", [{"error_code": 25}, {"broker": 2}, {"epoch": -1}])
def test_what_is_no_heartbeat_to_this_coordinator_computes_nothing(
    judge: Judge, row: dict[str, Any]
) -> None:
    history = alone().bumped(5_000, 3).beat("member-1", 6_000, **row).computed(8_800, 3)
    assert "HOLDS" == judge(history, "X24")["verdict"]


def test_a_target_waits_for_as_long_as_nobody_is_in_the_group(judge: Judge) -> None:
    """The last member's leaving begins an epoch, and the next who joins has it computed."""
    history = alone().beat("member-1", 1_999, -1, now=-1)
    history.says("left", 2_000, "member-1", reason="left").bumped(2_001, 3)
    history.joins("member-2", 8_256.6, 4)
    verdict = judge(history.beat("member-2", 8_400, 4), "X24")
    assert ("HOLDS", 6_256) == (verdict["verdict"], verdict["measured_max"])


def test_a_target_waits_for_as_long_as_the_only_member_is_silent(judge: Judge) -> None:
    history = alone().bumped(5_000, 3).fault("freeze-consumer", "member-1", 5_001, 11_200)
    history.beat("member-1", 11_255).computed(11_256, 3)
    verdict = judge(history, "X24")
    assert ("HOLDS", 6_256) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("computed_ms", "verdict"), [(950.4, "HOLDS"), (950.3, "VIOLATED")])
def test_the_interval_counts_from_the_target_before(
    judge: Judge, computed_ms: float, verdict: str
) -> None:
    history = alone().bumped(500, 3).computed(computed_ms, 3)  # the one before came at 0.4 ms
    assert verdict == judge(history, "X24")["verdict"]


@pytest.mark.parametrize(("late_ms", "verdict"), [(171, "VIOLATED"), (173, "UNKNOWN")])
def test_a_target_may_seem_early_where_the_line_of_the_one_before_was_written_late(
    judge: Judge, late_ms: float, verdict: str
) -> None:
    """The interval counts from when that one was done, and its line comes after that."""
    history = alone().bumped(500, 3).computed(778.4, 3)
    assert verdict == judge(history.tick(0.4, late_ms), "X24")["verdict"]


@pytest.mark.parametrize(("waited_ms", "verdict"), [(171, "VIOLATED"), (173, "UNKNOWN")])
def test_a_target_may_seem_early_where_the_broker_waited_for_a_processor(
    judge: Judge, waited_ms: float, verdict: str
) -> None:
    history = alone().bumped(500, 3).computed(778.4, 3)
    assert verdict == judge(history.waited("broker-1", -900, 1, waited_ms), "X24")["verdict"]


def test_a_new_coordinator_waits_for_no_interval(judge: Judge) -> None:
    history = alone().says("epoch_bumped", 500, generation=3, reason="hash", broker=2)
    history.says("target_computed", 600, generation=3, reason="uniform", broker=2)
    assert "HOLDS" == judge(history, "X24")["verdict"]


def test_a_target_whose_epoch_nobody_saw_begin_cannot_be_told(judge: Judge) -> None:
    verdict = judge(Group().computed(100, 2), "X24")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


def test_without_targets_x24_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(Group(), "X24")["verdict"]


def test_joins_that_compute_their_target_hold(judge: Judge) -> None:
    verdict = judge(alone().joins("member-2", 2_000, 3), "X24-at-once")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_join_whose_target_comes_after_its_answer_violates(judge: Judge) -> None:
    history = alone().member("member-2").says("member_added", 2_000, "member-2", reason="joins")
    assert isinstance(history, Group)
    history.bumped(2_000.2, 3).beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    assert "a later heartbeat" in judge(history, "X24-at-once")["reason"]


def test_a_join_that_is_passed_over_violates_at_once(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins")
    history.bumped(2_001, 3).bumped(2_500, 4).computed(4_000, 4)
    assert "passed over" in judge(history, "X24-at-once")["reason"]


def test_a_target_computed_as_the_join_is_answered_still_came_at_once(judge: Judge) -> None:
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_001, 3).beat("member-2", 2_000, 0, now=3)
    assert "HOLDS" == judge(history, "X24-at-once")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(2_050, "HOLDS"), (2_051, "UNKNOWN")])
def test_a_join_may_seem_to_arrive_after_what_it_did(judge: Judge, ms: float, verdict: str) -> None:
    """Its line is stamped late, and its arrival counts back from there."""
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_001, 3).beat("member-2", ms, 0, now=3)
    assert verdict == judge(history, "X24-at-once")["verdict"]


def test_bump_target_and_answer_may_have_one_time(judge: Judge) -> None:
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_000, 3).computed(2_300, 3)  # and again, by a coordinator that took over
    history.beat("member-2", 1_999, 0, now=3)
    verdict = judge(history, "X24-at-once")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_join_whose_answer_is_not_on_record_cannot_be_told(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_001, 3)
    verdict = judge(history.computed(2_002, 3), "X24-at-once")
    assert ("UNKNOWN", 2) == (verdict["verdict"], verdict["examined"])


def test_only_the_joiners_own_join_answers_it(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_000.2, 3)
    history.beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    late: dict[str, Any] = {"processed_at": at(5_000)}
    history.beat("member-3", 1_990, 0, **late).beat("member-2", 1_990, 3, **late)
    history.beat("member-2", 2_100, 0, **late)
    history.request("OFFSET_FETCH", "member-2", 1_990, generation=0, **late)
    verdict = judge(history, "X24-at-once")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["violations"])


def test_another_targets_are_not_that_of_a_join(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_000.2, 3)
    history.beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    in_another_group(history, "target_computed", 2_000.5, generation=3)
    history.computed(2_000.6, 2).computed(1_999, 3).says("stabilized", 2_000.7, generation=3)
    assert 1_899.8 == judge(history, "X24-at-once")["measured_max"]


def test_an_epoch_that_no_join_began_is_not_examined_at_once(judge: Judge) -> None:
    history = alone().says("left", 2_000, "member-1", reason="left").bumped(2_001, 3)
    history.says("member_added", 3_000, "member-2").says("upgraded", 3_001)
    in_another_group(history, "member_added", 3_500)
    history.bumped(4_000, 4).computed(6_000, 4)
    assert 1 == judge(history, "X24-at-once")["examined"]


def test_a_line_of_another_group_does_not_hide_a_join(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins")
    in_another_group(history, "left", 2_000.1)
    assert 2 == judge(history.bumped(2_000.2, 3), "X24-at-once")["examined"]


def test_without_joins_x24_at_once_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(Group().computed(100, 2), "X24-at-once")["verdict"]
