from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def handover(given_up_ms: float, taken_ms: float, event: str = "revoked") -> History:
    """Partition 0 from member-1 to member-2."""
    history = History().member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", event, given_up_ms, [0])
    return history.told("member-2", "assigned", taken_ms, [0])


# R21


def test_one_owner_after_the_other_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(handover(5_000, 5_100), "R21")["verdict"]


def test_two_owners_at_once_violate(judge: Judge) -> None:
    verdict = judge(handover(5_000, 4_000), "R21")
    assert ("VIOLATED", 1_000) == (verdict["verdict"], verdict["measured_max"])


def test_an_owner_that_the_coordinator_removed_does_not_count(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 6_000, "member-1")
    assert "HOLDS" == judge(history, "R21")["verdict"]


def test_an_owner_removed_only_after_the_other_got_it_counts(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 8_000, "member-1")
    assert "VIOLATED" == judge(history, "R21")["verdict"]


def test_a_leader_that_gives_a_partition_to_two_violates(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0), ("member-2", 0)])
    assert "given to 2 members" in judge(history, "R21")["reason"]


def test_a_leader_that_gives_each_partition_once_holds(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0), ("member-2", 1)])
    assert "HOLDS" == judge(history, "R21")["verdict"]


def test_without_owners_r21_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R21")["verdict"]


def test_who_is_told_of_an_assignment_after_its_removal_holds_nothing(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0)
    assert "VIOLATED" == judge(history, "R21")["verdict"]
    assert "HOLDS" == judge(history.says("left", -10, "member-1"), "R21")["verdict"]
    history.says("member_added", 50, "member-1").says("left", 6_000, "member-1")
    assert ("HOLDS", 1) == (judge(history, "R21")["verdict"], judge(history, "R21")["examined"])


def test_who_is_back_with_its_id_before_it_is_told_holds_what_it_is_told(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("left", -10, "member-1")
    assert "VIOLATED" == judge(history.says("member_added", -5, "member-1"), "R21")["verdict"]


# R21-delivery


def test_a_zombie_that_holds_on_violates_the_literal_rule(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 6_000, "member-1")
    verdict = judge(history, "R21-delivery")
    assert ("VIOLATED", 2_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_hand_over_in_order_holds_literally_too(judge: Judge) -> None:
    assert "HOLDS" == judge(handover(5_000, 5_100), "R21-delivery")["verdict"]


def test_a_member_that_gets_its_own_partition_again_does_not_overlap(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.told("member-1", "revoked", 5_000, [0]).told("member-1", "assigned", 5_100, [0])
    assert "HOLDS" == judge(history, "R21-delivery")["verdict"]


def test_without_owners_the_literal_rule_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R21-delivery")["verdict"]


# R21-stop


def told_to_stop(*, polled_ms: float, processed_ms: float) -> History:
    """member-1 has to give partition 0 up at 5 s."""
    history = History().told("member-1", "assigned", 0, [0]).told("member-1", "revoked", 5_000, [0])
    return history.delivered("member-1", 0, 0, 9, polled_ms, processed_ms)


def test_work_done_before_the_revocation_holds(judge: Judge) -> None:
    assert (
        "HOLDS" == judge(told_to_stop(polled_ms=4_900, processed_ms=4_990), "R21-stop")["verdict"]
    )


def test_work_finished_after_the_revocation_violates(judge: Judge) -> None:
    verdict = judge(told_to_stop(polled_ms=4_900, processed_ms=5_100), "R21-stop")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_polls_after_the_revocation_violate(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    assert "VIOLATED" == judge(history, "R21-stop")["verdict"]


def test_polls_after_getting_the_partition_again_hold(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.told("member-1", "assigned", 5_400, [0])
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_without_a_revocation_r21_stop_is_unknown(judge: Judge) -> None:
    history = History().told("member-1", "assigned", 0, [0]).delivered("member-1", 0, 0, 9, 100)
    assert "UNKNOWN" == judge(history, "R21-stop")["verdict"]
