from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History
from tests.probe_histories import Probed

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


# R13


def assigned(got: str = "part of b", *, answered_ms: float = 4_001, wish: str = "") -> Probed:
    """ "b" asks for its part at 2 s, and the leader "a" assigns at 4 s."""
    history = Probed().joined("a", 1_000).joined("b", 1_000)
    own = {"b": wish} if wish else None
    history.synced("b", 2_000, got, lasts_ms=answered_ms - 2_000, gives=own)
    return history.synced("a", 4_000, "part of a", gives={"a": "part of a", "b": "part of b"})


def test_followers_wait_for_the_leader_and_get_what_it_gave(judge: Judge) -> None:
    verdict = judge(assigned(wish="all of it"), "R13")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


def test_a_follower_answered_before_the_leader_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(assigned(answered_ms=3_000), "R13")["verdict"]


def test_a_follower_that_gets_its_own_wish_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(assigned("all of it", wish="all of it"), "R13")["verdict"]


def test_a_follower_that_is_told_the_members_violates(judge: Judge) -> None:
    history = assigned()
    history.rows["calls"][1]["answer"] = (
        '{"errorCode":0,"memberId":"b","leader":"a","generationId":1,"members":[{"memberId":"a"}]}'
    )
    assert "VIOLATED" == judge(history, "R13")["verdict"]


def test_a_static_member_gets_the_part_of_the_one_it_replaced(judge: Judge) -> None:
    history = Probed().formed("s", static=("s",))
    history.joined("t", 3_000, instance_id="S", state="Stable", leader="s")
    assert "HOLDS" == judge(history.synced("t", 3_100, "part of s"), "R13")["verdict"]
    assert "VIOLATED" == judge(history.synced("t", 3_200, "part of t"), "R13")["verdict"]


# X10


def unsynced(removed_ms: int | None, reason: str = "Removing [b] on pending sync") -> Probed:
    """ "a" and "b" have joined at 2 s, with a rebalance timeout of 7 s; "b" never syncs."""
    history = Probed().tick(9_000)
    for member in ("a", "b"):
        history.joined(member, 1_000, rebalance_ms=7_000, lasts_ms=1_000)
    history.logged("stabilized", 2_000, generation=1, members=2).synced("a", 2_010, gives={})
    if removed_ms is not None:
        history.logged("rebalance_started", removed_ms, generation=1, reason=reason)
    return history


def test_who_never_syncs_is_removed_after_the_rebalance_timeout(judge: Judge) -> None:
    verdict = judge(unsynced(9_004), "X10")
    assert ("HOLDS", 7_004) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize("removed_ms", [8_900, 9_100, None])
def test_removed_early_late_or_never_violates(judge: Judge, removed_ms: int | None) -> None:
    assert "VIOLATED" == judge(unsynced(removed_ms), "X10")["verdict"]


def test_a_generation_that_ended_before_is_not_examined(judge: Judge) -> None:
    history = unsynced(4_000, reason="explicit `LeaveGroup` request")
    assert "UNKNOWN" == judge(history, "X10")["verdict"]


# R03-wire


def parked(ms: float, error: int = 0) -> Probed:
    """ "b", of session 6 s, joins at 1 s and is answered so much later."""
    history = Probed().joined("b", 1_000, session_ms=6_000, lasts_ms=ms)
    history.rows["calls"][0]["error_code"] = error
    return history


def test_a_request_parked_for_longer_than_a_session_keeps_its_member(judge: Judge) -> None:
    verdict = judge(parked(7_000), "R03-wire")
    assert ("HOLDS", 7_000) == (verdict["verdict"], verdict["measured_max"])


def test_an_eviction_while_a_request_is_parked_violates(judge: Judge) -> None:
    history = parked(7_000).logged("evicted", 7_001, "b")
    assert "VIOLATED" == judge(history, "R03-wire")["verdict"]


def test_a_request_answered_within_a_session_exercises_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(parked(5_000), "R03-wire")["verdict"]


# R08-wire


def only_heartbeats(until_ms: int) -> Probed:
    """ "a", of session 6 s, is told to rejoin from 4 s on and only sends heartbeats."""
    history = Probed().formed("a", session_ms=6_000)
    for ms in range(4_000, until_ms + 1, 1_000):
        history.call("HEARTBEAT", ms, 27, member="a", generation=1, state="PreparingRebalance")
    return history


def test_heartbeats_answered_27_keep_a_member(judge: Judge) -> None:
    verdict = judge(only_heartbeats(9_000), "R08-wire")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_an_eviction_in_spite_of_such_heartbeats_violates(judge: Judge) -> None:
    history = only_heartbeats(9_000).logged("evicted", 9_500, "a")
    assert "VIOLATED" == judge(history, "R08-wire")["verdict"]


def test_less_than_a_session_of_them_exercises_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(only_heartbeats(7_000), "R08-wire")["verdict"]


# X09-wire


def awaited(joined_ms: int = 10_003, *, removed: tuple[str, ...] = ("d",)) -> Probed:
    """The rebalance timeout is 7 s. "a" rejoins at 3 s; dynamic "d" and static "s" do not."""
    history = Probed().formed("a", "d", "s", static=("s",), rebalance_ms=7_000).tick(10_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a rejoins")
    history.joined("a", 2_999, 2, rebalance_ms=7_000, lasts_ms=joined_ms - 2_998)
    if removed:
        history.logged("stragglers_removed", joined_ms, reason=f"[{', '.join(removed)}]")
    return history.logged("stabilized", joined_ms, generation=2, members=2)


def test_only_dynamic_members_are_removed_for_not_rejoining(judge: Judge) -> None:
    verdict = judge(awaited(), "X09-wire")
    assert ("HOLDS", 2, 7_003) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"],
    )  # fmt: skip


@pytest.mark.parametrize("removed", [(), ("d", "s"), ("s",)])
def test_a_static_one_removed_or_a_dynamic_one_kept_violates(
    judge: Judge, removed: tuple[str, ...]
) -> None:
    assert "VIOLATED" == judge(awaited(removed=removed), "X09-wire")["verdict"]


@pytest.mark.parametrize("joined_ms", [9_900, 10_100])
def test_a_join_that_ends_early_or_late_violates(judge: Judge, joined_ms: int) -> None:
    assert "VIOLATED" == judge(awaited(joined_ms), "X09-wire")["verdict"]


def test_a_rebalance_that_nobody_misses_exercises_nothing(judge: Judge) -> None:
    history = Probed().formed("a", "d", rebalance_ms=7_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a rejoins")
    for member in ("a", "d"):
        history.joined(member, 3_001, 2, rebalance_ms=7_000, lasts_ms=100)
    history.logged("stabilized", 3_100, generation=2, members=2)
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]
