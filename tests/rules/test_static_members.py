from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, in_another_group, member_id

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
    assert "was followed by a rebalance" in judge(history, "X02")["reason"]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (["range"], ["range"], "VIOLATED"),
        (["range"], ["range", "roundrobin"], "UNKNOWN"),
        (["range"], None, "VIOLATED"),
        (None, ["range"], "VIOLATED"),
    ],
)
def test_who_offers_other_assignors_may_start_a_rebalance(
    judge: Judge, before: list[str] | None, after: list[str] | None, verdict: str
) -> None:
    history = replaced(static_group(), 10_000, 2, 3).says("rebalance_started", 10_002, generation=1)
    for row in history.rows["requests"]:
        if row["api"] == "JOIN_GROUP":
            row["assignors"] = after if row["arrived_at"] >= at(9_999) else before
    assert verdict == judge(history, "X02")["verdict"]


def test_another_generation_violates(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3, generation=2)
    assert "in generation 2, not 1" in judge(history, "X02")["reason"]


def test_what_it_had_last_is_compared_with_what_the_next_one_gets_first(judge: Judge) -> None:
    """It had 2 and 3 in generation 1 and 1 in generation 2, and so has the new one."""
    history = static_group().rebalance(5_000, 2, 3)
    history.sync(NAME, 5_015, 2, assigned=parts(1), instance_id=NAME)
    replaced(history, 10_000, 1, generation=2).rebalance(20_000, 3, 3)
    new: dict[str, Any] = {"client_id": "member-4", "instance_id": NAME, "life": 2}
    history.join(NAME, 20_005, 3, **new).sync(NAME, 20_015, 3, assigned=parts(4), **new)
    verdict = judge(history, "X02")
    assert ("HOLDS", 1, 6) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_only_an_accepted_join_under_its_instance_id_is_in_its_place(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    early: dict[str, Any] = {"arrived_at": at(9_990), "processed_at": at(10_000.5)}
    for row in (
        {"instance_id": NAME, "broker": 2},
        {"instance_id": "member-9"},
        {"instance_id": NAME, "group": "payments"},
        {"instance_id": NAME, "error_code": 82},
    ):
        history.request("JOIN_GROUP", "member-9", 10_000, **{**early, "generation": 7, **row})
    history.request("HEARTBEAT", "member-9", 10_000, generation=7, instance_id=NAME, **early)
    history.request("JOIN_GROUP", NAME, 10_000, generation=7, instance_id=NAME, **early)
    history.request("JOIN_GROUP", "member-9", 9_997.9, generation=7, instance_id=NAME)
    verdict = judge(history, "X02")
    assert ("HOLDS", 1, 6) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_only_accepted_syncs_of_the_two_tell_what_they_have(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    others: dict[str, Any] = {"generation": 9, "assigned": parts(7)}
    for ms in (9_000, 10_002):
        history.request("SYNC_GROUP", "member-9", ms, **others)
        for life in (1, 2):
            history.request("SYNC_GROUP", NAME, ms, life=life, error_code=27, **others)
            history.request("SYNC_GROUP", NAME, ms, life=life, group="payments", **others)
            history.request("HEARTBEAT", NAME, ms, life=life, **others)
    history.request("SYNC_GROUP", NAME, 10_001, **others)
    history.request("SYNC_GROUP", NAME, 9_000, life=2, **others)
    verdict = judge(history, "X02")
    assert ("HOLDS", 6) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("joined_ms", "verdict"), [(9_998, "HOLDS"), (9_997.9, "UNKNOWN")])
def test_the_join_may_be_logged_2_ms_before_the_replacement(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    new: dict[str, Any] = {"client_id": "member-4", "instance_id": NAME, "life": 2}
    history.join(NAME, joined_ms, **new).sync(NAME, 10_005, assigned=parts(2, 3), **new)
    assert verdict == judge(history, "X02")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_999, "UNKNOWN"), (10_000, "VIOLATED"), (10_005, "VIOLATED"), (10_006, "HOLDS")],
)
def test_no_rebalance_starts_until_the_new_process_has_its_partitions(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = replaced(static_group(), 10_000, 2, 3).says("rebalance_started", ms, generation=1)
    in_another_group(history, "rebalance_started", 10_002, generation=1)
    assert verdict == judge(history, "X02")["verdict"]


def test_a_replacement_of_another_group_is_none(judge: Judge) -> None:
    history = static_group()
    in_another_group(history, "replaced", 10_000, member_id=member_id(NAME), instance_id=NAME)
    assert 0 == judge(history, "X02")["examined"]


def test_each_replacement_is_judged_once(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    history.says("replaced", 20_000, NAME, life=2, instance_id=NAME)
    new: dict[str, Any] = {"client_id": "member-5", "instance_id": NAME, "life": 3}
    history.join(NAME, 20_001, **new).sync(NAME, 20_009, assigned=parts(3), **new)
    verdict = judge(history, "X02")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])


def test_who_had_nothing_on_record_cannot_be_compared(judge: Judge) -> None:
    history = static_group()
    history.rows["requests"].pop()
    verdict = judge(replaced(history, 10_000, 2, 3), "X02")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


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


def test_a_replacement_before_the_leader_has_assigned_is_not_examined(judge: Judge) -> None:
    """The leader may assign to the process that is gone, so a rebalance starts rightly."""
    history = replaced(static_group().says("stabilized", 9_000, generation=1), 10_000, 2, 3)
    assert "UNKNOWN" == judge(history, "X02")["verdict"]
    history.says("assignment_received", 9_000, "member-1", generation=1)
    assert "HOLDS" == judge(history, "X02")["verdict"]


def test_what_it_was_given_as_it_was_replaced_is_what_it_had(judge: Judge) -> None:
    """Generation 2 is complete in that moment."""
    history = static_group().rebalance(9_980, 2, 3)
    history.sync(NAME, 10_000, 2, assigned=parts(1), instance_id=NAME)
    verdict = judge(replaced(history, 10_000, 1, generation=2), "X02")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_what_it_offered_last_is_what_the_next_one_has_to_offer(judge: Judge) -> None:
    history = static_group().rebalance(5_000, 2, 3)
    history.join(NAME, 5_005, 2, instance_id=NAME)
    history.sync(NAME, 5_015, 2, assigned=parts(1), instance_id=NAME)
    replaced(history, 10_000, 1, generation=2)
    joins = [row for row in history.rows["requests"] if row["api"] == "JOIN_GROUP"]
    for row, assignors in zip(joins, (["range"], ["sticky"], ["sticky"]), strict=True):
        row["assignors"] = assignors
    verdict = judge(history, "X02")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_whose_join_is_not_on_record_is_compared_by_what_it_had(judge: Judge) -> None:
    history = static_group()
    history.rows["requests"] = [r for r in history.rows["requests"] if r["api"] == "SYNC_GROUP"]
    verdict = judge(replaced(history, 10_000, 2, 3), "X02")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_process_may_join_and_have_its_partitions_within_a_millisecond(judge: Judge) -> None:
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    new: dict[str, Any] = {"client_id": "member-4", "instance_id": NAME, "life": 2}
    history.join(NAME, 10_000, **new).sync(NAME, 10_000, assigned=parts(2, 3), **new)
    verdict = judge(history, "X02")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


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
    assert "sent a LeaveGroup request" in judge(history, "X03")["reason"]


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


@pytest.mark.parametrize("ms", [59_999, 59_999.5])
def test_closing_at_the_end_of_the_run_is_not_examined(judge: Judge, ms: float) -> None:
    history = static_group().told(NAME, "closing", ms)
    assert 0 == judge(history, "X03")["examined"]


def test_only_its_own_leave_after_the_close_says_that_it_leaves(judge: Judge) -> None:
    history = closed(15_001).request("LEAVE_GROUP", NAME, 9_999)
    history.request("OFFSET_FETCH", NAME, 10_005).request("LEAVE_GROUP", "member-3", 10_010)
    history.says("evicted", 20_000, "member-3")
    verdict = judge(history, "X03")
    assert ("HOLDS", 1, 6_001) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    history.request("LEAVE_GROUP", NAME, 10_000)
    assert "sent a LeaveGroup request" in judge(history, "X03")["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_999, "HOLDS"), (10_000, "VIOLATED"), (15_000, "VIOLATED"), (15_001, "HOLDS")],
)
def test_a_rebalance_of_the_group_while_its_session_runs_violates_x03(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = closed(15_001).says("rebalance_started", ms, generation=1)
    in_another_group(history, "rebalance_started", 12_000, generation=1)
    assert verdict == judge(history.says("loaded", 12_000, broker=2), "X03")["verdict"]


@pytest.mark.parametrize(("named", "verdict"), [(NAME, "VIOLATED"), ("member-9", "HOLDS")])
def test_a_rebalance_for_another_member_does_not_follow_from_the_close(
    judge: Judge, named: str, verdict: str
) -> None:
    reason = f"removing member {member_id(named)} on heartbeat expiration"
    history = closed(15_001).says("rebalance_started", 12_000, generation=1, reason=reason)
    assert verdict == judge(history, "X03")["verdict"]


def test_a_rebalance_before_the_end_of_a_run_violates_x03_too(judge: Judge) -> None:
    history = static_group().heartbeats(NAME, 55_000).told(NAME, "closing", 56_000)
    assert "VIOLATED" == judge(history.says("rebalance_started", 57_000), "X03")["verdict"]


@pytest.mark.parametrize(("closed_ms", "verdict"), [(53_949, "UNKNOWN"), (53_948, "VIOLATED")])
def test_who_closes_a_session_before_the_end_is_evicted(
    judge: Judge, closed_ms: float, verdict: str
) -> None:
    assert verdict == judge(static_group().told(NAME, "closing", closed_ms), "X03")["verdict"]


def test_who_is_removed_otherwise_violates_x03(judge: Judge) -> None:
    history = closed(None).says("stragglers_removed", 15_001, reason=f"[{member_id(NAME)}]")
    assert "removed otherwise" in judge(history, "X03")["reason"]


def test_only_closes_of_static_members_in_the_group_are_examined(judge: Judge) -> None:
    history = closed(9_500).told(NAME, "closed", 9_000).told(NAME, "closing", 59_999)
    history.says("member_added", 20_000, NAME, life=2).join(NAME, 20_000, life=2, instance_id=NAME)
    history.says("evicted", 30_000, NAME, life=2)
    history.join("member-3", 5).told("member-3", "closing", 10_000)
    assert 0 == judge(history, "X03")["examined"]


def test_a_close_is_that_of_the_id_it_had_last(judge: Judge) -> None:
    history = static_group().join(NAME, 3_000, life=2, instance_id=NAME)
    history.heartbeats(NAME, 9_000, life=2).told(NAME, "closing", 10_000)
    verdict = judge(history.says("evicted", 15_001, NAME, life=2), "X03")
    assert ("HOLDS", 1, 6_001) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_who_is_evicted_as_it_closes_had_been_silent(judge: Judge) -> None:
    history = static_group().heartbeats(NAME, 4_000).told(NAME, "closing", 10_000)
    assert "HOLDS" == judge(history.says("evicted", 10_000, NAME), "X03")["verdict"]


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
    assert ("HOLDS", 14_001, 11_200, 14_550) == (
        verdict["verdict"], verdict["measured_max"], verdict["bound_low"], verdict["bound_high"]
    )  # fmt: skip


@pytest.mark.parametrize("evicted_ms", [31_199, 34_600, None])
def test_an_eviction_at_another_time_violates_x04(judge: Judge, evicted_ms: float | None) -> None:
    assert "VIOLATED" == judge(stalled(evicted_ms), "X04")["verdict"]


def test_a_static_member_that_leaves_violates_x04(judge: Judge) -> None:
    history = stalled(34_001).request("LEAVE_GROUP", NAME, 28_100)
    assert "left the group by itself" in judge(history, "X04")["reason"]


def test_dynamic_members_are_not_examined_by_x04(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stalled(34_001, instance_id=None), "X04")["verdict"]


@pytest.mark.parametrize(("duration_ms", "examined"), [(14_550, 0), (14_551, 1)])
def test_a_stall_that_ends_before_both_limits_is_not_examined(
    judge: Judge, duration_ms: float, examined: int
) -> None:
    history = stalled(34_001)
    history.rows["client_events"][0]["duration_ms"] = float(duration_ms)
    assert examined == judge(history, "X04")["examined"]


def test_other_stalls_and_built_in_ones_are_not_examined_by_x04(judge: Judge) -> None:
    history = stalled(34_001, sabotage="no-poll")
    history.told(NAME, "callback_stall_started", 20_000, duration_ms=20_000.0)
    assert 0 == judge(history, "X04")["examined"]
    history.rows["members"][0]["sabotage"] = None
    assert 1 == judge(history, "X04")["examined"]


def test_what_others_do_or_it_does_at_another_time_is_not_the_stalls(judge: Judge) -> None:
    history = stalled(34_001).request("LEAVE_GROUP", NAME, 20_000)
    history.request("LEAVE_GROUP", "member-3", 28_100).request("LEAVE_GROUP", NAME, 41_001)
    history.says("evicted", 20_000, NAME, life=3).says("evicted", 33_000, "member-3")
    history.says("evicted", 40_000, NAME, life=2)
    verdict = judge(history, "X04")
    assert ("HOLDS", 1, 14_001) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_a_leave_within_a_second_of_the_stalls_end_violates_x04(judge: Judge) -> None:
    history = stalled(34_001).request("LEAVE_GROUP", NAME, 41_000)
    assert "left the group by itself" in judge(history, "X04")["reason"]


@pytest.mark.parametrize(
    ("evicted_ms", "why"), [(41_000, "was evicted too late"), (41_001, "was not evicted")]
)
def test_an_eviction_more_than_a_second_after_a_stall_is_another(
    judge: Judge, evicted_ms: float, why: str
) -> None:
    assert why in judge(stalled(evicted_ms), "X04")["reason"]


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
    assert "had requests accepted after it was replaced: 1" in judge(history, "X05")["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(10_050, "HOLDS"), (10_051, "VIOLATED")])
def test_what_was_accepted_just_before_may_be_stamped_after_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(duplicated().heartbeats(NAME, ms), "X05")["verdict"]


def test_who_takes_its_own_place_is_no_second_process(judge: Judge) -> None:
    """Its own session had ended, so that it joins without an id."""
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    row = {"instance_id": NAME, "session_timeout_ms": 6_000, "arrived_at": at(9_999)}
    history.request("JOIN_GROUP", NAME, 10_001, life=2, client_id=NAME, generation=1, **row)
    assert "UNKNOWN" == judge(history, "X05")["verdict"]


def test_an_old_one_refused_after_more_than_a_heartbeat_violates_x05(judge: Judge) -> None:
    assert "VIOLATED" == judge(duplicated(12_700), "X05")["verdict"]


@pytest.mark.parametrize(("refused_ms", "verdict"), [(12_600, "HOLDS"), (12_601, "VIOLATED")])
def test_an_old_one_hears_of_it_by_its_next_heartbeat(
    judge: Judge, refused_ms: float, verdict: str
) -> None:
    assert verdict == judge(duplicated(refused_ms), "X05")["verdict"]


def test_what_is_accepted_before_or_from_others_does_not_count(judge: Judge) -> None:
    history = duplicated().heartbeats(NAME, 9_000, 10_000).heartbeats(NAME, 10_500, life=2)
    history.request("OFFSET_FETCH", NAME, 10_500).heartbeats(NAME, 10_600, error_code=27)
    history.heartbeats(NAME, 11_400, error_code=82)
    history.request("OFFSET_FETCH", NAME, 10_100, error_code=82)
    verdict = judge(history, "X05")
    assert ("HOLDS", 1, 1_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    assert "refused by HEARTBEAT" in verdict["rows"][0]["why"]


def test_an_old_one_whose_client_never_ended_violates_x05(judge: Judge) -> None:
    history = duplicated()
    history.rows["members"][0] |= {"end": None, "ended_at": None}
    assert "its client went on" in judge(history, "X05")["reason"]


@pytest.mark.parametrize(("refused_ms", "end"), [(None, "failed"), (11_000, "closed")])
def test_an_old_one_that_goes_on_violates_x05(
    judge: Judge, refused_ms: float | None, end: str
) -> None:
    assert "VIOLATED" == judge(duplicated(refused_ms, end), "X05")["verdict"]


def test_an_old_one_that_had_ended_before_is_not_examined_by_x05(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3)
    history.rows["members"][0] |= {"end": "closed", "ended_at": at(9_000)}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]
    history.rows["members"][0] |= {"ended_at": at(10_000)}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]
    history.rows["members"][0] |= {"end": "killed", "ended_at": None}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]


def test_who_only_asked_as_it_was_replaced_had_ended_by_then(judge: Judge) -> None:
    history = replaced(static_group(), 10_000, 2, 3).heartbeats(NAME, 10_000)
    history.rows["members"][0] |= {"end": "closed", "ended_at": at(9_999)}
    assert "UNKNOWN" == judge(history, "X05")["verdict"]


def test_a_process_that_is_not_on_record_is_not_examined_by_x05(judge: Judge) -> None:
    """Nobody knows whether it went on."""
    history = duplicated()
    history.rows["members"].clear()
    assert "UNKNOWN" == judge(history, "X05")["verdict"]


def test_an_old_one_is_fenced_though_the_join_of_the_new_one_is_not_on_record(judge: Judge) -> None:
    history = static_group().says("replaced", 10_000, NAME, instance_id=NAME)
    history.rows["members"][0] |= {"end": "failed", "ended_at": at(11_500)}
    (row,) = judge(history.heartbeats(NAME, 11_000, error_code=82), "X05")["rows"]
    assert (True, 1_000) == (row["ok"], row["measured"])
    assert "refused by HEARTBEAT; another process took its place" == row["why"]


# What the rules about dynamic members make of static ones.


def test_a_static_close_is_a_departure_that_starts_no_rebalance(judge: Judge) -> None:
    history = closed(None)
    history.says("evicted", 15_001, NAME).rebalance(15_002, 2, 2)
    verdict = judge(history, "R20b")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])
    assert "does not announce that it leaves" in verdict["reason"]


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


# R20a-return


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(5_000, "HOLDS"), (5_060, "HOLDS"), (5_061, "VIOLATED"), (4_999, "UNKNOWN")],
)
def test_a_rebalance_that_follows_a_return_is_what_the_documents_say(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = static_group().says("replaced", 5_000, "member-2", instance_id="member-2")
    history.says("rebalance_started", ms, generation=1, reason="because")
    history.says("rebalance_started", 5_010, group="payments")
    assert verdict == judge(history, "R20a-return")["verdict"]


def test_a_return_that_nothing_follows_violates_what_the_documents_say(judge: Judge) -> None:
    history = static_group().says("replaced", 5_000, "member-2", instance_id="member-2")
    assert "VIOLATED" == judge(history, "R20a-return")["verdict"]


def test_a_group_to_which_nobody_returns_says_nothing_of_returns(judge: Judge) -> None:
    assert "UNKNOWN" == judge(static_group(), "R20a-return")["verdict"]


def test_the_first_rebalance_after_a_return_counts(judge: Judge) -> None:
    history = static_group().says("replaced", 5_000, "member-2", instance_id="member-2")
    for ms in (5_040, 5_010, 5_030):
        history.says("rebalance_started", ms, generation=1, reason="because")
    assert 10 == judge(history, "R20a-return")["measured_max"]


def test_a_replacement_as_the_leader_assigns_is_not_examined(judge: Judge) -> None:
    """Which of them came first, two lines of one moment do not tell."""
    history = static_group().says("stabilized", 9_000, generation=1)
    history.says("assignment_received", 10_000, "member-1", generation=1)
    replaced(history, 10_000, 2, 3).says("rebalance_started", 10_000, generation=1)
    assert "UNKNOWN" == judge(history, "X02")["verdict"]
