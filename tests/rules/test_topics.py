"""R20c, R27 and X16: a topic that grows under its group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def grown(*, owned_ms: float | None = None, protocol: str = "eager", seen: int = 7) -> History:
    """t gets a seventh partition at 10 s; members ask for metadata every 5 s."""
    history = History(group={"metadata_refresh_ms": 5_000, "protocol": protocol})
    history.member("member-1").fault("add-partitions", "t", 10_000)
    for partition in range(seen):
        history.add(
            "topology", at=at(partition), what="partition", topic=TOPIC, partition=partition,
            leader=1,
        )  # fmt: skip
    if owned_ms is not None:
        history.told("member-1", "assigned", owned_ms, [6])
    return history


def test_a_new_partition_assigned_after_a_refresh_and_a_heartbeat_holds(judge: Judge) -> None:
    verdict = judge(grown(owned_ms=17_900), "R20c")
    assert ("HOLDS", 7_900) == (verdict["verdict"], verdict["measured_max"])


def test_a_new_partition_assigned_late_or_never_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(grown(owned_ms=18_100), "R20c")["verdict"]
    assert "no member ever had it" in judge(grown(), "R20c")["reason"]


def test_a_broker_that_assigns_needs_no_refresh(judge: Judge) -> None:
    assert "HOLDS" == judge(grown(owned_ms=14_900, protocol="consumer"), "R20c")["verdict"]
    assert "VIOLATED" == judge(grown(owned_ms=15_100, protocol="consumer"), "R20c")["verdict"]


def test_a_topic_that_only_grew_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(grown(), "R27-growth")["verdict"]


def test_a_topic_that_did_not_grow_or_lost_a_partition_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(grown(seen=6), "R27-growth")["verdict"]
    gone = grown().add(
        "topology", at=at(11_000), what="partition", topic=TOPIC, partition=2, leader=-1
    )
    assert "VIOLATED" == judge(gone, "R27-growth")["verdict"]


@pytest.mark.parametrize("rule", ["R20c", "R27-growth", "X16"])
def test_without_new_partitions_nothing_is_known(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1).join("member-1", 5), rule)["verdict"]


def rejoins(member: str, generation: int, *, told: bool = False) -> History:
    """A stable group of two; `member` joins again at 12 s, after t grew."""
    history = grown().rebalance(0, 1, 2).join("member-1", 5).join("member-2", 5)
    if told:
        history.heartbeats(member, 11_900, error_code=27)
    return history.join(member, 12_000, generation)


def test_a_follower_that_gets_its_generation_back_holds(judge: Judge) -> None:
    verdict = judge(rejoins("member-2", 1), "X16")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_a_follower_that_starts_a_rebalance_violates(judge: Judge) -> None:
    history = rejoins("member-2", 2).rebalance(12_001, 2, 2)
    assert "VIOLATED" == judge(history, "X16")["verdict"]


def test_the_leader_starts_a_rebalance(judge: Judge) -> None:
    assert "HOLDS" == judge(rejoins("member-1", 2).rebalance(12_001, 2, 2), "X16")["verdict"]
    assert "VIOLATED" == judge(rejoins("member-1", 1), "X16")["verdict"]


def test_a_member_that_was_told_has_not_noticed_by_itself(judge: Judge) -> None:
    assert "UNKNOWN" == judge(rejoins("member-2", 2, told=True), "X16")["verdict"]
