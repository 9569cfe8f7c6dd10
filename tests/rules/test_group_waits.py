from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, in_another_group
from tests.probe_histories import Probed

Judge = Callable[[History, str], dict[str, Any]]
OTHER = "orders-other"


# R13


def assigned(got: str = "part of b", *, answered_ms: float = 4_001, wish: str = "") -> Probed:
    """ "b" asks for its part at 2 s, and the leader "a" assigns at 4 s."""
    history = Probed().joined("a", 1_000).joined("b", 1_000)
    own = {"b": wish} if wish else None
    history.synced("b", 2_000, got, lasts_ms=answered_ms - 2_000, gives=own)
    return history.synced("a", 4_000, "part of a", gives={"a": "part of a", "b": "part of b"})


def led(**row: Any) -> History:
    """member-1 leads member-2, and gives it t-1 at 4 s."""
    history = History().sync("member-1", 4_000, gives=[("member-1", 0), ("member-2", 1)])
    given = [{"topic": "t", "partition": 1}]
    return history.sync(
        "member-2", **{"ms": 3_990, "processed_at": at(4_001), "assigned": given, **row}
    )


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"assigned": None}, "VIOLATED"),
        ({"assigned": [{"topic": "t", "partition": 0}]}, "VIOLATED"),
        ({"assigned": [{"topic": "u", "partition": 1}]}, "VIOLATED"),
        ({"processed_at": at(3_950)}, "HOLDS"),
        ({"processed_at": at(3_949)}, "VIOLATED"),
        ({"error_code": 27, "assigned": None}, "UNKNOWN"),
        ({"generation": 2}, "UNKNOWN"),
        ({"broker": 2}, "UNKNOWN"),
        ({"group": OTHER}, "UNKNOWN"),
        ({"life": 2}, "VIOLATED"),
        ({"life": 2, "instance_id": "b"}, "UNKNOWN"),
    ],
)
def test_members_under_test_get_what_their_leader_gave(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    assert verdict == judge(led(**row), "R13")["verdict"]


def test_followers_wait_for_the_leader_and_get_what_it_gave(judge: Judge) -> None:
    verdict = judge(assigned(wish="all of it"), "R13")
    assert ("HOLDS", 4) == (verdict["verdict"], verdict["examined"])


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


def test_what_a_follower_asks_for_itself_is_told_and_not_given(judge: Judge) -> None:
    verdict = judge(assigned(wish="all of it"), "R13")
    assert "got what the leader gave it, and not what it gave itself" in [
        row["why"] for row in verdict["rows"]
    ]


@pytest.mark.parametrize(("answered_ms", "verdict"), [(4_000, "HOLDS"), (3_999, "VIOLATED")])
def test_a_follower_may_be_answered_the_moment_the_leader_assigns(
    judge: Judge, answered_ms: float, verdict: str
) -> None:
    history = assigned(answered_ms=answered_ms)
    history.rows["requests"][0]["processed_at"] = at(4_000)
    assert verdict == judge(history, "R13")["verdict"]


@pytest.mark.parametrize(("processed_ms", "verdict"), [(3_950, "HOLDS"), (3_949, "VIOLATED")])
def test_the_leaders_line_may_be_late(judge: Judge, processed_ms: float, verdict: str) -> None:
    history = assigned()
    history.rows["requests"][0]["processed_at"] = at(processed_ms)
    assert verdict == judge(history, "R13")["verdict"]


def test_the_leader_may_ask_again_for_what_it_gave(judge: Judge) -> None:
    history = assigned().synced("a", 5_000, "part of a", gives={"b": "another part"})
    assert "HOLDS" == judge(history, "R13")["verdict"]


@pytest.mark.parametrize(
    ("got", "gives", "verdict"),
    [
        ("part of a", {"a": "part of a"}, "HOLDS"),
        ("part of b", {"a": "part of a", "b": "part of b"}, "VIOLATED"),
        ("", {"a": "part of a"}, "VIOLATED"),
        ("", {"b": "part of b"}, "HOLDS"),
        ("part of a", {"b": "part of b"}, "VIOLATED"),
        (None, {"a": "part of a"}, "UNKNOWN"),
    ],
)
def test_a_leader_gets_what_it_gave_itself(
    judge: Judge, got: Any, gives: dict[str, str], verdict: str
) -> None:
    history = Probed().joined("a", 1_000).synced("a", 2_000, got, gives=gives)
    assert verdict == judge(history, "R13")["verdict"]


@pytest.mark.parametrize(
    ("row", "judged"),
    [
        ({}, 0),
        ({"ms": 2_000}, 1),
        ({"error": 27}, 1),
        ({"error": 0, "generation": 2}, 1),
        ({"generation": 2}, 1),
        ({"member": "b"}, 1),
        ({"group": OTHER}, 1),
    ],
)
def test_an_assignment_that_was_not_answered_may_have_been_the_first(
    judge: Judge, row: dict[str, Any], judged: int
) -> None:
    history = Probed().joined("a", 1_000)
    asked = {"ms": 1_999, "error": None, "member": "a", "generation": 1, **row}
    history.call("SYNC_GROUP", **asked)
    history.synced("a", 2_000, "another part", gives={"a": "part of a"})
    verdict = judge(history, "R13")
    assert judged == verdict["violations"]


def test_who_is_given_nothing_by_the_leader_gets_nothing(judge: Judge) -> None:
    history = Probed().joined("a", 1_000).joined("b", 1_000).synced("b", 2_000, "", lasts_ms=2_001)
    verdict = judge(history.synced("a", 4_000, "all", gives={"a": "all"}), "R13")
    assert ("HOLDS", 4) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("answered_ms", "lines", "verdict"),
    [
        (1_030, 1, "HOLDS"),
        (1_030, 0, "VIOLATED"),
        (960, 1, "HOLDS"),
        (959, 1, "VIOLATED"),
    ],
)
def test_the_coordinator_has_the_assignment_when_it_says_so(
    judge: Judge, answered_ms: float, lines: int, verdict: str
) -> None:
    """The leader's SyncGroup is stamped 90 ms late."""
    history = History().says("rebalance_started", 100, generation=0, reason="because")
    history.says("stabilized", 900, generation=1, members=2)
    if lines:
        history.says("assignment_received", 1_010, "member-1", generation=1)
    for name in ("member-1", "member-2"):
        history.member(name).join(name, 100, processed_at=at(901), answered_at=at(901))
    history.sync("member-1", 1_100, gives=[("member-1", 0), ("member-2", 1)])
    history.sync(
        "member-2", 905, assigned=[{"topic": "t", "partition": 1}], processed_at=at(answered_ms)
    )
    assert verdict == judge(history, "R13")["verdict"]


def test_a_leader_that_is_not_on_record_leaves_its_followers_unknown(judge: Judge) -> None:
    history = assigned()
    history.rows["requests"].pop()
    verdict = judge(history, "R13")
    assert ("UNKNOWN", 4) == (verdict["verdict"], verdict["examined"])


def test_a_follower_that_is_not_on_record_is_unknown(judge: Judge) -> None:
    history = assigned()
    history.rows["requests"].pop(0)
    verdict = judge(history, "R13")
    assert ("UNKNOWN", 4) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("leader", "heir"), [("t", "s"), ("s", "t")])
def test_who_takes_a_static_leaders_place_assigns_nothing(
    judge: Judge, leader: str, heir: str
) -> None:
    """It is told that it leads, and that it need not assign (KIP-814)."""
    history = Probed().formed(leader, "b", static=(leader,))
    history.joined(heir, 3_000, instance_id=leader.upper(), state="Stable", leader=heir)
    history.synced(heir, 3_100, f"part of {leader}", gives={})
    assert "HOLDS" == judge(history, "R13")["verdict"]


def test_only_the_first_assignment_of_a_generation_is_given(judge: Judge) -> None:
    """One partition of one member; what its leader, or who takes its place, gives later is not."""
    history = History().sync("member-1", 4_000, gives=[("member-2", 1)])
    given = [{"topic": "t", "partition": 1}]
    history.sync("member-2", 3_990, processed_at=at(4_001), assigned=given)
    history.sync("member-1", 5_000, gives=[("member-2", 2)])
    history.sync("member-1", 6_000, gives=[("member-2", 3)], instance_id="a", life=2)
    verdict = judge(history, "R13")
    assert ("HOLDS", 1, 1) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_leader_that_is_not_told_the_members_violates(judge: Judge) -> None:
    history = assigned()
    history.rows["calls"][0]["answer"] = history.rows["calls"][1]["answer"].replace('"b"', '"a"')
    assert "the leader was not told the members" in judge(history, "R13")["reason"]


def test_each_generation_of_each_group_has_its_own_leader(judge: Judge) -> None:
    history = assigned()
    history.call("SYNC_GROUP", 1_990, 27, member="b", generation=1)
    for member in ("a", "b"):
        history.joined(member, 10_000, 2, leader="b")
        history.joined(member, 20_000, leader="b", group=OTHER)
    history.synced("a", 11_000, "two of a", 2, lasts_ms=2_002)
    history.synced("b", 13_000, "two of b", 2, gives={"a": "two of a", "b": "two of b"})
    history.synced("a", 21_000, "three of a", lasts_ms=2_003, group=OTHER)
    history.rows["requests"][-1]["group"] = OTHER
    history.synced("b", 23_000, "", gives={"a": "three of a"}, group=OTHER)
    history.rows["requests"][-1]["group"] = OTHER
    for row in ({"error_code": 27}, {"api": "HEARTBEAT"}):
        history.rows["requests"] += [
            each | {"arrived_at": at(1_999), "processed_at": at(1_999)} | row
            for each in history.rows["requests"][:2]
        ]
    verdict = judge(history, "R13")
    assert ("HOLDS", 12) == (verdict["verdict"], verdict["examined"])
    measured = sorted(row["measured"] for row in verdict["rows"] if row["measured"] is not None)
    assert [1, 2, 3] == measured


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


@pytest.mark.parametrize(
    ("removed_ms", "verdict"),
    [(8_949, "VIOLATED"), (8_950, "HOLDS"), (9_050, "HOLDS"), (9_051, "VIOLATED")],
)
def test_a_removal_may_be_50_ms_off(judge: Judge, removed_ms: int, verdict: str) -> None:
    assert verdict == judge(unsynced(removed_ms), "X10")["verdict"]


@pytest.mark.parametrize(("ended_ms", "verdict"), [(9_050, "UNKNOWN"), (9_051, "VIOLATED")])
def test_what_ends_a_generation_when_the_removal_is_overdue_excuses_nobody(
    judge: Judge, ended_ms: int, verdict: str
) -> None:
    history = unsynced(ended_ms, reason="explicit `LeaveGroup` request of b")
    assert verdict == judge(history, "X10")["verdict"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(9_001, "UNKNOWN"), (9_002, "VIOLATED")])
def test_a_removal_that_was_not_due_before_the_end_is_not_examined(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = unsynced(None)
    history.end_ms = end_ms
    assert verdict == judge(history, "X10")["verdict"]


def test_only_a_sync_of_this_generation_and_group_is_one(judge: Judge) -> None:
    history = unsynced(9_004).logged("evicted", 5_000, "c").logged("member_added", 2_500, "c")
    history.call("SYNC_GROUP", 2_100, 22, member="b", generation=0)
    history.call("SYNC_GROUP", 2_100, member="b", generation=1, group=OTHER)
    history.call("HEARTBEAT", 2_100, member="b", generation=1)
    verdict = judge(history, "X10")
    assert ("HOLDS", 1, 7_004) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_the_longest_rebalance_timeout_of_the_generation_counts(judge: Judge) -> None:
    history = unsynced(9_004)
    history.rows["calls"][1]["request"] = history.rows["calls"][1]["request"].replace("7000", "500")
    history.joined("b", 20_000, 2, rebalance_ms=20_000).synced("b", 20_100, generation=2)
    history.joined("b", 20_000, rebalance_ms=20_000, group=OTHER)
    verdict = judge(history, "X10")
    assert ("HOLDS", 7_050) == (verdict["verdict"], verdict["bound_high"])


def test_a_rebalance_that_starts_as_the_join_is_complete_ends_that_generation(
    judge: Judge,
) -> None:
    """Both lines are of one moment, and their numbers in the log are no order of texts."""
    history = unsynced(2_000, reason="explicit `LeaveGroup` request")
    joined, started = history.rows["coordinator_events"]
    joined["evidence"], started["evidence"] = "broker-1.server.log:9", "broker-1.server.log:10"
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


@pytest.mark.parametrize(("ms", "examined"), [(6_000, 0), (6_001, 1)])
def test_a_request_is_examined_once_it_is_parked_for_more_than_a_session(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(parked(ms), "R03-wire")["examined"]


def test_only_its_own_eviction_while_it_is_parked_counts(judge: Judge) -> None:
    history = parked(7_000).joined("a", 1_000, session_ms=5_000)
    history.joined("b", 1_000, session_ms=3_000, group=OTHER)
    history.call("HEARTBEAT", 1_500, member="b", lasts_ms=7_000)
    history.logged("evicted", 5_000, "a").logged("member_added", 5_000, "b")
    history.logged("evicted", 9_000, "b")
    in_another_group(history, "evicted", 5_000, OTHER, member_id="b")
    verdict = judge(history, "R03-wire")
    assert ("HOLDS", 1, 6_000) == (verdict["verdict"], verdict["examined"], verdict["bound_low"])


def test_a_parked_member_that_is_answered_as_unknown_violates(judge: Judge) -> None:
    history = parked(1).call("SYNC_GROUP", 2_000, 25, member="b", generation=1, lasts_ms=7_000)
    assert "VIOLATED" == judge(history, "R03-wire")["verdict"]


def test_a_parked_member_that_is_told_to_join_again_has_kept_its_place(judge: Judge) -> None:
    history = parked(1).call("SYNC_GROUP", 2_000, 27, member="b", generation=1, lasts_ms=7_000)
    assert "HOLDS" == judge(history, "R03-wire")["verdict"]


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


@pytest.mark.parametrize(("last_ms", "examined"), [(7_911, 0), (7_912, 1)])
def test_a_span_counts_from_the_last_other_answer(
    judge: Judge, last_ms: int, examined: int
) -> None:
    history = only_heartbeats(7_000)  # its SyncGroup was answered at 1,911 ms
    history.call("HEARTBEAT", last_ms, 27, member="a", generation=1)
    assert examined == judge(history, "R08-wire")["examined"]


@pytest.mark.parametrize(("api", "error"), [("HEARTBEAT", 0), ("OFFSET_COMMIT", 27)])
def test_another_sign_of_life_starts_a_new_span(judge: Judge, api: str, error: int) -> None:
    history = only_heartbeats(9_000).call(api, 5_500, error, member="a", generation=1)
    assert 0 == judge(history, "R08-wire")["examined"]


def test_what_is_no_sign_of_life_of_this_member_starts_no_span(judge: Judge) -> None:
    history = only_heartbeats(9_000).joined("b", 1_500, session_ms=5_000)
    history.call("OFFSET_FETCH", 5_500, member="a").call("HEARTBEAT", 5_600, 25, member="a")
    history.call("HEARTBEAT", 5_700, member="b").call("HEARTBEAT", 5_800, None, member="a")
    history.call("HEARTBEAT", 5_900, member="a", group=OTHER)
    history.logged("evicted", 9_500, "b").logged("evicted", 15_001, "a")
    history.logged("member_added", 9_500, "a")
    in_another_group(history, "evicted", 9_500, OTHER, member_id="a")
    verdict = judge(history, "R08-wire")
    assert ("HOLDS", 1, 7_089) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


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
    rows = judge(awaited(removed=removed), "X09-wire")["rows"]
    kept = "was kept and should have been removed"
    gone = "was removed (stragglers_removed) and should have been kept"
    clauses = {kept} if "d" not in removed else set()
    clauses |= {gone} if "s" in removed else set()
    assert clauses == {row["why"] for row in rows if row["ok"] is False}


@pytest.mark.parametrize("joined_ms", [9_900, 10_100])
def test_a_join_that_ends_early_or_late_violates(judge: Judge, joined_ms: int) -> None:
    assert "VIOLATED" == judge(awaited(joined_ms), "X09-wire")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_050, "HOLDS"), (10_051, "VIOLATED")],
)
def test_a_join_may_end_50_ms_off(judge: Judge, joined_ms: int, verdict: str) -> None:
    assert verdict == judge(awaited(joined_ms), "X09-wire")["verdict"]


def test_who_had_left_or_came_later_is_not_missed(judge: Judge) -> None:
    history = awaited()
    long: dict[str, Any] = {"rebalance_ms": 30_000}
    history.joined("x", 1_000, **long).logged("left", 2_500, "x")
    history.joined("l", 1_000, **long).logged("left", 3_000, "l")
    history.joined("p", 1_950, rebalance_ms=7_000, lasts_ms=1_100).joined("n", 4_000, **long)
    # Who is missed tells another limit in its next join.
    history.joined("d", 11_000, 3, **long)
    history.joined("d", 1_000, **long, group=OTHER).joined("y", 1_000, rebalance_ms=7_000)
    history.logged("left", 5_000, "y").logged("left", 20_000, "s")
    in_another_group(history, "rebalance_started", 4_000, OTHER)
    in_another_group(history, "emptied", 5_000, OTHER)
    # "d" joins, but too late, and in another group.
    history.joined("d", 20_000, 3, rebalance_ms=7_000).joined("d", 4_500, group=OTHER)
    verdict = judge(history, "X09-wire")
    assert ("HOLDS", 2, 7_050) == (verdict["verdict"], verdict["examined"], verdict["bound_high"])


def test_the_timeout_of_who_asked_for_the_rebalance_counts(judge: Judge) -> None:
    history = awaited()
    history.joined("p", 2_990, 2, rebalance_ms=30_000, lasts_ms=7_010)
    assert 30_050 == judge(history, "X09-wire")["bound_high"]


def test_the_longest_timeout_of_those_awaited_counts(judge: Judge) -> None:
    history = awaited()
    for row in history.rows["calls"]:
        if row["api"] == "JOIN_GROUP" and row["member_id"] == "d":
            row["request"] = row["request"].replace("7000", "500")
    assert "HOLDS" == judge(history, "X09-wire")["verdict"]


def test_a_rebalance_that_nobody_misses_exercises_nothing(judge: Judge) -> None:
    history = Probed().formed("a", "d", rebalance_ms=7_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a rejoins")
    for member in ("a", "d"):
        history.joined(member, 3_001, 2, rebalance_ms=7_000, lasts_ms=100)
    history.logged("stabilized", 3_100, generation=2, members=2)
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]


@pytest.mark.parametrize(
    ("answered_ms", "verdict"), [(3_101, "UNKNOWN"), (3_150, "UNKNOWN"), (3_151, "VIOLATED")]
)
def test_who_was_turned_away_had_come(judge: Judge, answered_ms: int, verdict: str) -> None:
    """The old coordinator ends the join phase at once, and its answer is on the way."""
    history = Probed().formed("a", "d", rebalance_ms=7_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a rejoins")
    history.joined("a", 3_001, 2, rebalance_ms=7_000, lasts_ms=99)
    history.call("JOIN_GROUP", answered_ms - 1, 81, member="d", state="PreparingRebalance")
    history.logged("stabilized", 3_100, generation=2, members=1)
    assert verdict == judge(history, "X09-wire")["verdict"]


def nobody_at_first(rejoined_ms: int, joined_ms: int) -> Probed:
    """At 3 s a leave starts a rebalance of 7 s at most; static "l" rejoins, "s" does not."""
    history = Probed().formed("a", "l", "s", static=("l", "s"), rebalance_ms=7_000)
    history.logged("left", 3_000, "a").tick(20_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a left")
    history.joined(
        "l",
        rejoined_ms,
        2,
        rebalance_ms=7_000,
        instance_id="L",
        lasts_ms=joined_ms - rejoined_ms + 1,
    )
    return history.logged("stabilized", joined_ms, generation=2, members=2)


@pytest.mark.parametrize(
    ("rejoined_ms", "ends_ms"),
    [
        (3_001, (10_000,)),
        (9_949, (10_000,)),
        (9_950, (10_000, 17_000)),  # it may have come just before the time was up, or after
        (10_049, (10_000, 17_000)),
        (10_050, (17_000,)),
        (16_900, (17_000,)),
        (17_100, (24_000,)),
    ],
)
def test_time_begins_anew_as_long_as_nobody_has_rejoined(
    judge: Judge, rejoined_ms: int, ends_ms: tuple[int, ...]
) -> None:
    for joined_ms in (10_000, 17_000, 24_000):
        if joined_ms >= rejoined_ms:
            verdict = judge(nobody_at_first(rejoined_ms, joined_ms), "X09-wire")
            expected = "HOLDS" if joined_ms in ends_ms else "VIOLATED"
            assert (expected, 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("joined_ms", "verdict"),
    [(16_949, "VIOLATED"), (16_950, "HOLDS"), (17_050, "HOLDS"), (17_051, "VIOLATED")],
)
def test_the_time_that_began_anew_may_end_50_ms_off(
    judge: Judge, joined_ms: int, verdict: str
) -> None:
    assert verdict == judge(nobody_at_first(12_000, joined_ms), "X09-wire")["verdict"]


def test_a_newcomer_is_somebody_who_has_joined(judge: Judge) -> None:
    history = nobody_at_first(12_000, 10_000 + 7_000)
    history.joined("n", 5_000, 2, rebalance_ms=7_000, lasts_ms=12_001)
    assert "VIOLATED" == judge(history, "X09-wire")["verdict"]
    of_others = nobody_at_first(12_000, 17_000).joined("n", 5_000, group=OTHER)
    assert "HOLDS" == judge(of_others, "X09-wire")["verdict"]


def test_a_rebalance_that_ends_without_members_is_not_examined(judge: Judge) -> None:
    """Static "s" is asked to join again as the answer to the newcomer "d" is still on its way."""
    history = Probed().formed("s", static=("s",), rebalance_ms=7_000)
    history.logged("rebalance_started", 2_000, generation=1, reason="d joins")
    history.joined("d", 2_000, 2, rebalance_ms=7_000, lasts_ms=1_001)
    history.joined("s", 2_500, 2, rebalance_ms=7_000, lasts_ms=499)
    history.logged("stabilized", 2_998, generation=2, members=2)
    history.logged("rebalance_started", 3_000, generation=2, reason="because")
    history.logged("left", 5_000, "d").logged("evicted", 9_000, "s")
    history.logged("emptied", 9_000, generation=3)
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]


def test_a_rebalance_that_nobody_is_known_to_have_rejoined_is_not_examined(judge: Judge) -> None:
    """The answer to "a" was lost, and "n" comes as the rebalance ends."""
    history = awaited().joined("n", 10_003, 3, rebalance_ms=7_000)
    lost = next(row for row in history.rows["calls"] if row["sent_at"] == at(2_999))
    lost |= {"error_code": None, "answer": None, "answered_at": None}
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]


def test_an_answer_that_comes_as_a_rebalance_starts_is_of_the_one_before(judge: Judge) -> None:
    history = nobody_at_first(12_000, 17_000)
    history.joined("l", 2_000, rebalance_ms=7_000, instance_id="L", lasts_ms=1_000)
    assert "HOLDS" == judge(history, "X09-wire")["verdict"]

    # The first join of "d" asked for more time than its last one before this rebalance.
    history = awaited().joined("d", 500, 0, rebalance_ms=30_000)
    history.joined("d", 2_500, rebalance_ms=7_000, lasts_ms=500)
    history.joined("d", 10_004, 3, rebalance_ms=7_000)  # too late: it has been removed
    verdict = judge(history, "X09-wire")
    assert ("HOLDS", 2, 7_050) == (verdict["verdict"], verdict["examined"], verdict["bound_high"])


def test_who_is_answered_as_its_first_rebalance_starts_is_not_missed(judge: Judge) -> None:
    """Without an initial delay, an empty group's rebalance starts and ends in one moment."""
    history = Probed().logged("rebalance_started", 3_000, generation=0, reason="q joins")
    history.joined("q", 2_998, rebalance_ms=7_000, leader="q", lasts_ms=3)
    history.joined("p", 2_999, rebalance_ms=7_000, leader="q", lasts_ms=1)
    history.logged("stabilized", 3_000, generation=1, members=2)
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]


def test_who_joins_within_the_millisecond_of_the_line_has_rejoined(judge: Judge) -> None:
    """A coordinator's line names the millisecond in which the last join completed the rebalance."""
    history = Probed().formed("a", "d", rebalance_ms=7_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a rejoins")
    history.joined("a", 2_999, 2, rebalance_ms=7_000, lasts_ms=2_002)
    history.joined("d", 5_000.4, 2, rebalance_ms=7_000, lasts_ms=0.8)
    history.logged("stabilized", 5_000, generation=2, members=2)
    assert "UNKNOWN" == judge(history, "X09-wire")["verdict"]


def test_the_join_that_starts_a_rebalance_within_its_millisecond_is_waited_for(
    judge: Judge,
) -> None:
    history = Probed().formed("a", "d", rebalance_ms=7_000)
    history.joined("p", 3_000.4, 2, rebalance_ms=30_000, lasts_ms=30_001)
    history.logged("rebalance_started", 3_000, generation=1, reason="p joins")
    history.joined("a", 3_500, 2, rebalance_ms=7_000, lasts_ms=29_503)
    history.logged("stragglers_removed", 33_002, reason="[d]")
    history.logged("stabilized", 33_002, generation=2, members=2)
    assert "HOLDS" == judge(history, "X09-wire")["verdict"]


def test_an_answer_of_the_round_before_is_no_rejoin(judge: Judge) -> None:
    history = Probed().formed("a", "l", "s", static=("l", "s"), rebalance_ms=7_000)
    history.joined("l", 2_000, 1, rebalance_ms=7_000, instance_id="L", lasts_ms=1_000.5)
    history.logged("left", 3_000, "a").tick(20_000)
    history.logged("rebalance_started", 3_000, generation=1, reason="a left")
    history.joined("l", 12_000, 2, rebalance_ms=7_000, instance_id="L", lasts_ms=5_001)
    history.logged("stabilized", 17_000, generation=2, members=2)
    assert "HOLDS" == judge(history, "X09-wire")["verdict"]


def test_a_leader_is_known_though_its_place_is_taken_by_an_id_that_sorts_last(
    judge: Judge,
) -> None:
    history = Probed().formed("s", "b", static=("s",))
    history.joined("t", 3_000, instance_id="S", state="Stable", leader="t")
    history.synced("t", 3_100, "part of s", gives={})
    of_b = next(
        row
        for row in history.rows["calls"]
        if row["api"] == "SYNC_GROUP" and row["member_id"] == "b"
    )
    of_b["answer"] = '{"errorCode": 0, "assignment": "nonsense"}'
    assert "VIOLATED" == judge(history, "R13")["verdict"]
