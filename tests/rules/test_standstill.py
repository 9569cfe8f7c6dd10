from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, member_id

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def joined(*durations_ms: float, protocol: str = "eager") -> History:
    """member-2 joins member-1's group at 5,000; the rounds of the rebalance take so long each."""
    history = History(group={"protocol": protocol}).rebalance(0, 1, 1).join("member-1", 5, 1)
    history.member("member-1", process_us=1_000, batch_records=100)
    history.sync("member-1", 20, 1).tick(5_000).tick(6_000)
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    started, generation = 5_000.0, 1
    for ms in durations_ms:
        history.says("rebalance_started", started, generation=generation, reason=reason)
        generation += 1
        history.says("stabilized", started + ms, generation=generation, members=2)
        history.sync("member-1", started + ms + 10, generation)
        history.told("member-1", "revoked", started + ms + 20, [0])
        reason = f"Updating metadata for member {member_id('member-1')} during Stable"
        started += ms + 30
    return history


def test_a_join_within_a_heartbeat_interval_holds(judge: Judge) -> None:
    verdict = judge(joined(1_900), "X34")
    assert ("HOLDS", 0.95, 1) == tuple(
        verdict[name] for name in ("verdict", "measured_max", "examined")
    )


def test_a_join_that_takes_longer_violates(judge: Judge) -> None:
    verdict = judge(joined(2_800), "X34")
    assert ("VIOLATED", 1.35) == (verdict["verdict"], verdict["bound_high"])


def test_a_join_that_waits_for_a_stalled_member_is_not_examined(judge: Judge) -> None:
    history = joined(8_000).told("member-1", "stall_started", 4_500, duration_ms=8_000.0)
    assert "UNKNOWN" == judge(history, "X34")["verdict"]
    before = joined(1_900).told("member-1", "stall_started", 1_000, duration_ms=3_000.0)
    assert "HOLDS" == judge(before, "X34")["verdict"]


def test_a_cooperative_join_may_have_a_second_round(judge: Judge) -> None:
    assert "HOLDS" == judge(joined(1_900, 1_900, protocol="cooperative"), "X34")["verdict"]


def test_a_third_round_violates(judge: Judge) -> None:
    verdict = judge(joined(100, 100, 100, protocol="cooperative"), "X34")
    assert "VIOLATED" == verdict["verdict"]
    assert "3 rounds among 2 members" in verdict["reason"]


def test_where_no_group_changed_x34_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1), "X34")["verdict"]
