from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def killed() -> History:
    """broker-3 is gone from 10 s to 25 s; broker-1 coordinates."""
    return History().rebalance(0, 1, 1).fault("kill-broker", "broker-3", 10_000, 25_000)


# R11 and R20d


def test_a_rebalance_while_a_broker_is_gone_is_what_the_old_rule_says(judge: Judge) -> None:
    history = killed().rebalance(12_000, 2, 1)
    assert "HOLDS" == judge(history, "R11")["verdict"]
    assert "VIOLATED" == judge(history, "R20d")["verdict"]


def test_no_rebalance_while_a_broker_is_gone_violates_the_old_rule(judge: Judge) -> None:
    assert "VIOLATED" == judge(killed(), "R11")["verdict"]
    assert "HOLDS" == judge(killed(), "R20d")["verdict"]


def test_a_rebalance_before_or_after_is_another_matter(judge: Judge) -> None:
    history = killed().rebalance(9_000, 2, 1).rebalance(26_000, 3, 1)
    assert "VIOLATED" == judge(history, "R11")["verdict"]
    assert "HOLDS" == judge(history, "R20d")["verdict"]


def test_a_callback_alone_violates_that_nothing_changes(judge: Judge) -> None:
    assert "VIOLATED" == judge(killed().told("member-1", "lost", 15_000, [0]), "R20d")["verdict"]


@pytest.mark.parametrize("rule", ["R11", "R20d"])
def test_a_broker_fault_without_effect_is_not_examined(judge: Judge, rule: str) -> None:
    history = History().fault("kill-broker", "broker-3", 10_000, 25_000, took_effect=False)
    assert "UNKNOWN" == judge(history, rule)["verdict"]
    assert "UNKNOWN" == judge(History(), rule)["verdict"]


# X12


def failover() -> History:
    """The coordinator, broker-1, dies at 10 s; broker-2 has loaded the group at 19 s."""
    history = History().says("member_added", 0, "member-1").join("member-1", 5).rebalance(1, 1, 1)
    history.heartbeats("member-1", 2_000, 4_000, 6_000, 8_000)
    history.fault("kill-broker", "broker-1", 10_000, 40_000)
    return history.says("loaded", 19_000, broker=2, members=1)


def test_members_that_notice_nothing_of_a_failover_hold(judge: Judge) -> None:
    verdict = judge(failover().heartbeats("member-1", 20_000, 22_000, broker=2), "X12")
    assert ("HOLDS", 9_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_that_loses_its_assignment_in_a_failover_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(failover().told("member-1", "lost", 15_150, [0]), "X12")["verdict"]


def test_a_rebalance_right_after_the_load_violates(judge: Judge) -> None:
    history = failover().rebalance(20_000, 2, 1, broker=2)
    assert "VIOLATED" == judge(history, "X12")["verdict"]


def test_a_loss_long_after_the_failover_is_another_matter(judge: Judge) -> None:
    assert "HOLDS" == judge(failover().told("member-1", "lost", 22_000, [0]), "X12")["verdict"]


def test_loading_at_the_same_broker_is_no_failover(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").says("loaded", 9_000, members=1)
    assert "UNKNOWN" == judge(history, "X12")["verdict"]
    assert "UNKNOWN" == judge(History(), "X12")["verdict"]
