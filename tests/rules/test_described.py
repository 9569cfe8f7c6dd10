from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, in_another_group

Judge = Callable[[History, str], dict[str, Any]]


def two_members() -> History:
    """member-1 and member-2 join at 1 s; the group is stable from 1.1 s on, and empty at 30 s."""
    history = History()
    for member in ("member-1", "member-2"):
        history.says("member_added", 1_000, member)
    history.rebalance(1_085, generation=1, members=2)
    for member in ("member-1", "member-2"):
        history.says("left", 30_000, member)
    return history.says("emptied", 30_000, generation=2)


def seen(history: History, ms: float, state: str, members: int) -> History:
    row = {"group": "orders", "state": state, "members": members, "coordinator": 1}
    return history.add("topology", at=at(ms), what="group", **row)


# X55


@pytest.mark.parametrize(
    ("ms", "state", "members", "verdict"),
    [
        (10_000, "Stable", 2, "HOLDS"),
        (10_000, "Stable", 3, "VIOLATED"),
        (10_000, "Stable", 1, "VIOLATED"),
        (10_000, "Empty", 0, "VIOLATED"),
        (10_000, "Dead", 0, "VIOLATED"),
        (500, "Dead", 0, "HOLDS"),
        (500, "PreparingRebalance", 1, "VIOLATED"),
        (950, "PreparingRebalance", 1, "HOLDS"),  # told just before the line
        (899, "PreparingRebalance", 2, "VIOLATED"),
        (900, "PreparingRebalance", 2, "HOLDS"),
        (2_000, "PreparingRebalance", 1, "HOLDS"),
        (2_001, "PreparingRebalance", 1, "VIOLATED"),
        (29_899, "Empty", 0, "VIOLATED"),
        (29_900, "Empty", 0, "HOLDS"),
        (31_000, "Stable", 2, "HOLDS"),  # not replicated yet
        (31_001, "Stable", 2, "VIOLATED"),
        (31_001, "Empty", 0, "HOLDS"),
    ],
)
def test_a_group_is_described_with_its_members(
    judge: Judge, ms: float, state: str, members: int, verdict: str
) -> None:
    assert verdict == judge(seen(two_members(), ms, state, members), "X55")["verdict"]


def test_a_group_of_kip_848_is_described_alike(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"}).says("member_added", 1_000, "member-1")
    assert "HOLDS" == judge(seen(history, 5_000, "Stable", 1), "X55")["verdict"]
    assert "VIOLATED" == judge(seen(history, 6_000, "Dead", 0), "X55")["verdict"]


def test_while_a_broker_is_broken_nothing_is_said_of_descriptions(judge: Judge) -> None:
    history = seen(two_members(), 10_000, "Stable", 3)
    history.fault("kill-broker", "broker-1", 9_000, 12_000)
    assert "UNKNOWN" == judge(history, "X55")["verdict"]
    assert "UNKNOWN" == judge(history, "X55-state")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(8_998, "VIOLATED"), (8_999, "UNKNOWN"), (18_000, "UNKNOWN"), (18_001, "VIOLATED")],
)
def test_descriptions_count_again_a_session_after_a_broken_broker(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = seen(two_members(), ms, "Stable", 3)
    history.fault("kill-broker", "broker-1", 9_000, 12_000)
    assert verdict == judge(history, "X55")["verdict"]


def test_another_group_or_one_of_which_nothing_was_told_is_not_examined(judge: Judge) -> None:
    history = seen(seen(two_members(), 10_000, "Stable", 2), 11_000, "", 7)
    seen(history, 12_000, "Empty", 0).rows["topology"][-1]["group"] = "payments"
    for rule in ("X55", "X55-state"):
        verdict = judge(history, rule)
        assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("rule", ["X55", "X55-state"])
@pytest.mark.parametrize("event", ["upgraded", "downgraded"])
def test_a_group_that_changes_its_protocol_is_not_examined(
    judge: Judge, event: str, rule: str
) -> None:
    history = seen(two_members(), 10_000, "Empty", 3)
    in_another_group(history, event, 20_000)
    assert "VIOLATED" == judge(history, rule)["verdict"]
    assert "UNKNOWN" == judge(history.says(event, 20_000), rule)["verdict"]


def test_without_descriptions_x55_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(two_members(), "X55")["verdict"]


# X55-state


@pytest.mark.parametrize(
    ("ms", "state", "verdict"),
    [
        (10_000, "Stable", "HOLDS"),
        (10_000, "PreparingRebalance", "VIOLATED"),
        (10_000, "CompletingRebalance", "VIOLATED"),
        (10_000, "Empty", "VIOLATED"),
        (10_000, "Dead", "VIOLATED"),
        (500, "Dead", "HOLDS"),
        (500, "Empty", "HOLDS"),
        (500, "Stable", "VIOLATED"),
        (999, "Stable", "VIOLATED"),
        (1_000, "Stable", "HOLDS"),  # told just before the line
        (1_050, "PreparingRebalance", "HOLDS"),
        (2_085, "Dead", "HOLDS"),  # it was not there yet a second before
        (2_086, "Dead", "VIOLATED"),
        (2_095, "PreparingRebalance", "HOLDS"),
        (2_096, "PreparingRebalance", "VIOLATED"),
        (2_100, "CompletingRebalance", "HOLDS"),
        (2_101, "CompletingRebalance", "VIOLATED"),
        (40_000, "Empty", "HOLDS"),
        (40_000, "Dead", "HOLDS"),
        (40_000, "Stable", "VIOLATED"),
    ],
)
def test_a_group_is_described_in_its_state(
    judge: Judge, ms: float, state: str, verdict: str
) -> None:
    assert verdict == judge(seen(two_members(), ms, state, 2), "X55-state")["verdict"]


@pytest.mark.parametrize(("state", "verdict"), [("Dead", "HOLDS"), ("Stable", "VIOLATED")])
def test_a_group_of_which_nothing_was_logged_is_not_there(
    judge: Judge, state: str, verdict: str
) -> None:
    assert verdict == judge(seen(History(), 10_000, state, 0), "X55-state")["verdict"]


def test_what_other_groups_go_through_is_no_state_of_this_one(judge: Judge) -> None:
    history = seen(two_members(), 10_000, "Stable", 2)
    in_another_group(history, "emptied", 5_000)
    assert "HOLDS" == judge(history, "X55-state")["verdict"]


@pytest.mark.parametrize(
    ("events", "after", "before"),
    [
        (("rebalance_started", "stabilized"), "CompletingRebalance", "PreparingRebalance"),
        (("stabilized", "assignment_received"), "Stable", "CompletingRebalance"),
        (("assignment_received", "emptied"), "Empty", "Stable"),
    ],
)
def test_what_a_group_goes_through_in_one_moment_is_told_in_its_order(
    judge: Judge, events: tuple[str, str], after: str, before: str
) -> None:
    for state, verdict in ((after, "HOLDS"), (before, "VIOLATED")):
        history = seen(History().says("rebalance_started", 1_000), 6_001, state, 1)
        for event in events:
            history.says(event, 5_000)
        assert verdict == judge(history, "X55-state")["verdict"]


@pytest.mark.parametrize("ended", ["assignment_received", "emptied"])
def test_a_rebalance_may_start_as_the_one_before_ends(judge: Judge, ended: str) -> None:
    history = History().says("rebalance_started", 1_000, generation=1)
    history.says(ended, 5_000, generation=2).says("rebalance_started", 5_000, generation=2)
    assert "HOLDS" == judge(seen(history, 8_000, "PreparingRebalance", 1), "X55-state")["verdict"]


def test_without_descriptions_x55_state_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(two_members(), "X55-state")["verdict"]
