from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


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
    assert "was given more than one assignment" in judge(history, "R12")["reason"]


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
    history.rebalance(20, 2, 1).join("member-1", 25, 2)
    verdict = judge(history, "R12")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_generation_that_somebody_has_a_part_of_needs_its_assignment(judge: Judge) -> None:
    """However soon the next one came."""
    history = History().says("rebalance_started", 0, generation=0, reason="x")
    history.says("stabilized", 10, generation=1, members=1).join("member-1", 5, 1)
    history.sync("member-1", 18, 1).rebalance(20, 2, 1).join("member-1", 25, 2)
    verdict = judge(history, "R12")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["examined"])
    assert "before its leader had assigned" in judge(together(history), "R33")["reason"]


def together(history: History) -> History:
    """With a generation before its first, so that R33 examines that too."""
    history.says("rebalance_started", -20, generation=-1, reason="x")
    return history.says("stabilized", -15, generation=0, members=1)


@pytest.mark.parametrize(
    ("told", "joined_ms", "verdict"),
    [("member-1", 8, "HOLDS"), ("member-2", 8, "VIOLATED"), ("member-2", 61, "HOLDS")],
)
def test_all_members_are_told_of_one_leader(
    judge: Judge, told: str, joined_ms: float, verdict: str
) -> None:
    """Who joins the generation that there is may be told of another."""
    history = History().rebalance(0, 1, 1).join("member-1", 5, leader=member_id("member-1"))
    history.join("member-2", joined_ms, leader=member_id(told))
    judged = judge(history, "R12")
    assert verdict == judged["verdict"]
    assert ("told of 2 leaders" in judged["reason"]) == (verdict == "VIOLATED")


def test_the_assignment_comes_from_the_leader_that_they_were_told_of(judge: Judge) -> None:
    history = History().rebalance(0, 1, 2).join("member-1", 5, leader=member_id("member-2"))
    history.join("member-2", 8, leader=member_id("member-2"))
    assert "although" in judge(history, "R12")["reason"]


@pytest.mark.parametrize(
    ("members", "static", "verdict"),
    [(2, False, "HOLDS"), (3, False, "VIOLATED"), (3, True, "HOLDS"), (4, True, "VIOLATED")],
)
def test_all_members_of_a_generation_have_joined_it_but_for_static_ones(
    judge: Judge, members: int, static: bool, verdict: str
) -> None:
    history = History().rebalance(0, 1, members).join("member-1", 5).join("member-2", 8)
    if static:
        history.says("member_added", -50, "member-3").join("member-3", -60, 0, instance_id="a")
    assert verdict == judge(history, "R12")["verdict"]


def test_without_generations_r12_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R12")["verdict"]


def unled(joined_ms: float, members: int = 1) -> History:
    """Generation 1, in which nobody gives an assignment."""
    history = History().says("rebalance_started", joined_ms - 10, generation=0, reason="x")
    history.says("stabilized", joined_ms, generation=1, members=members)
    return history.join("member-1", joined_ms - 5, 1)


@pytest.mark.parametrize(
    ("joined_ms", "members", "verdict"),
    [
        (20_000, 1, "VIOLATED"),
        (20_000, 0, "UNKNOWN"),
        (58_998, 1, "VIOLATED"),
        (58_999, 1, "UNKNOWN"),  # the run is stopped a second later
    ],
)
def test_a_leader_that_never_gives_an_assignment_violates(
    judge: Judge, joined_ms: float, members: int, verdict: str
) -> None:
    judged = judge(unled(joined_ms, members), "R12")
    assert (verdict, min(members, 1)) == (judged["verdict"], judged["examined"])


def test_a_generation_without_joins_and_assignment_on_record_violates(judge: Judge) -> None:
    history = unled(20_000)
    history.rows["requests"].clear()
    assert "VIOLATED" == judge(history, "R12")["verdict"]


def test_a_leader_that_gives_its_assignment_in_the_last_second_holds(judge: Judge) -> None:
    history = unled(59_500).says("assignment_received", 59_505, "member-1", generation=1)
    assert "HOLDS" == judge(history, "R12")["verdict"]


def test_a_generation_that_a_new_coordinator_cuts_short_is_not_examined(judge: Judge) -> None:
    history = unled(20_000).says("stabilized", 30_000, generation=1, members=1, broker=2)
    history.says("assignment_received", 30_005, "member-1", generation=1, broker=2)
    verdict = judge(history.join("member-1", 29_995, 1, broker=2), "R12")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_its_joins_on_record_a_leader_cannot_be_told(judge: Judge) -> None:
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1, **OTHER)
    history.join("member-1", 5, 2).join("member-1", 5, 1, broker=2).sync("member-1", 5, 1)
    verdict = judge(history.join("member-1", 5, 1, error_code=25), "R12")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])
    assert "VIOLATED" == judge(history.join("member-2", 5, 1), "R12")["verdict"]


@pytest.mark.parametrize(
    ("former_rejoins", "generation", "broker", "verdict"),
    [(True, 2, 1, "VIOLATED"), (False, 2, 1, "HOLDS"), (True, 1, 2, "HOLDS")],
)
def test_a_leader_may_be_another_one_where_the_former_is_gone_or_the_generation_is_done_again(
    judge: Judge, former_rejoins: bool, generation: int, broker: int, verdict: str
) -> None:
    new: dict[str, Any] = {"broker": broker}
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1)
    history.says("rebalance_started", 5_000, generation=generation - 1, reason="x", **new)
    members = 1 + former_rejoins
    history.says("stabilized", 5_010, generation=generation, members=members, **new)
    history.says("assignment_received", 5_015, "member-2", generation=generation, **new)
    history.join("member-2", 5_005, generation, broker=broker)
    if former_rejoins:
        history.join("member-1", 5_005, generation, broker=broker)
    judged = judge(history, "R12")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])


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


@pytest.mark.parametrize(
    ("event_between", "examined"),
    [("left", 2), ("evicted", 2), ("fenced", 2), ("stabilized", 1)],
)
def test_a_member_that_a_group_of_another_protocol_takes_over_is_no_new_one(
    judge: Judge, event_between: str, examined: int
) -> None:
    history = History().says("member_added", 1_000, "member-2").rebalance(1_001, 2, 2)
    history.says(event_between, 2_000, "member-2", generation=2, members=2)
    history.says("member_added", 3_000, "member-2").rebalance(9_000, 3, 2)
    verdict = judge(history, "R20a")
    assert examined == verdict["examined"]
    assert ("HOLDS" if examined == 1 else "VIOLATED") == verdict["verdict"]


@pytest.mark.parametrize(
    ("text", "examined"),
    [("Static member x joins to replace the existing member y.", 0), ("New member", 1)],
)
def test_a_static_member_in_its_own_place_is_no_new_one(
    judge: Judge, text: str, examined: int
) -> None:
    history = History().says("member_added", 1_000, "member-2", text=text).rebalance(9_000, 2, 2)
    assert examined == judge(history, "R20a")["examined"]


@pytest.mark.parametrize(
    ("reason", "started_ms", "verdict"),
    [
        ("Downgrade group orders from consumer to classic for member leaving.", 1_160, "HOLDS"),
        ("Downgrade group orders from consumer to classic for member leaving.", 1_161, "VIOLATED"),
        ("explicit `LeaveGroup` request", 1_061, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("rule", ["R20b", "X14"])
def test_a_group_of_kip_848_is_made_a_classic_one_first(
    judge: Judge, rule: str, reason: str, started_ms: float, verdict: str
) -> None:
    history = History().member("member-2").says("member_added", 0, "member-2")
    history.says("stabilized", 950, generation=2, members=2).told("member-2", "closing", 999)
    history.says("left", 1_000, "member-2").rebalance(started_ms, 3, 2, reason)
    assert verdict == judge(history, rule)["verdict"]


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


@pytest.mark.parametrize(("started_ms", "verdict"), [(1_060, "HOLDS"), (1_061, "VIOLATED")])
@pytest.mark.parametrize(("rule", "event"), [("R20a", "member_added"), ("R20b", "left")])
def test_a_rebalance_starts_within_10_ms_and_slack_of_its_cause(
    judge: Judge, rule: str, event: str, started_ms: float, verdict: str
) -> None:
    history = History().says("rebalance_started", 900, generation=1, reason="x")
    history.says("stabilized", 950, generation=2, members=2).says(event, 1_000, "member-2")
    history.says("replaced", 1_000, "member-3").rebalance(started_ms, 3, 2)
    judged = judge(history, rule)
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("event", "first", "after_ms", "verdict"),
    [
        ("epoch_bumped", True, 61, "HOLDS"),
        ("epoch_bumped", True, 310, "HOLDS"),
        ("epoch_bumped", True, 311, "VIOLATED"),
        ("epoch_bumped", False, 61, "VIOLATED"),
        ("rebalance_started", True, 61, "VIOLATED"),
    ],
)
def test_the_first_epoch_that_a_coordinator_starts_may_take_longer(
    judge: Judge, event: str, first: bool, after_ms: float, verdict: str
) -> None:
    history = History()
    if not first:
        history.says(event, 900, generation=1, reason="metadata hash 1")
        history.says("target_computed", 950, generation=1)
    history.says("member_added", 1_000, "member-2")
    history.says(event, 1_000 + after_ms, generation=2, reason="metadata hash 1")

    judged = judge(history, "R20a")
    assert (verdict, 60) == (judged["verdict"], judged["bound_high"])
    said = "it was the first rebalance that its coordinator ever started" in judged["reason"]
    assert (verdict == "HOLDS") == said


def test_without_any_rebalance_after_it_a_cause_violates(judge: Judge) -> None:
    history = History().says("rebalance_started", 900, generation=1, reason="x")
    history.says("stabilized", 950, generation=2, members=2).says("left", 1_000, "member-2")
    assert "no rebalance started after it" in judge(history, "R20b")["reason"]


def closes(ms: float, instance: str | None = "member-2") -> History:
    history = History().member("member-2", instance_id=instance)
    return history.told("member-2", "closing", ms).told("member-2", "closed", ms - 500)


@pytest.mark.parametrize(
    ("started_ms", "group", "verdict"),
    [
        (10_000, "orders", "HOLDS"),
        (10_060, "orders", "HOLDS"),
        (10_061, "orders", "VIOLATED"),
        (9_999, "orders", "VIOLATED"),
        (10_001, "payments", "VIOLATED"),
    ],
)
def test_a_rebalance_starts_when_a_static_member_closes(
    judge: Judge, started_ms: float, group: str, verdict: str
) -> None:
    history = closes(10_000).says("rebalance_started", started_ms, generation=1, group=group)
    history.says("stabilized", 10_001, generation=2, members=1)
    history.says("rebalance_started", 12_000, generation=2)
    judged = judge(history, "R20b")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("ms", "instance", "examined"),
    [(59_998, "member-2", 1), (59_999, "member-2", 0), (10_000, None, 0)],
)
def test_a_dynamic_member_or_one_that_closes_with_the_run_is_not_examined(
    judge: Judge, ms: float, instance: str | None, examined: int
) -> None:
    assert examined == judge(closes(ms, instance), "R20b")["examined"]


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


def test_its_answer_may_have_waited_for_what_was_written_before_it(judge: Judge) -> None:
    history = told(6_900, 6_950, 4_900)
    history.heartbeats("member-1", 4_990, processed_at=at(6_800), answered_at=at(6_800))
    assert "HOLDS" == judge(history, "R32")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "examined"),
    [
        ("freeze-consumer", "member-1", 5_500, 7_700, 0),
        ("freeze-consumer", "member-2", 5_500, 7_700, 1),
        ("latency", "members", 4_000, 5_000, 0),
        ("latency", "members", 4_000, 4_999, 1),
        ("pause-broker", "broker-1", 7_802, 9_000, 1),
        ("pause-broker", "broker-1", 7_801, 9_000, 0),
        ("kill-consumer", "member-3", 5_500, None, 1),
    ],
)
def test_a_member_whose_heartbeats_a_fault_holds_up_is_not_examined(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float | None, examined: int
) -> None:
    history = told(7_700, 7_800).member("member-1").member("member-2").member("member-3")
    assert examined == judge(history.fault(kind, resolved, from_ms, to_ms), "R32")["examined"]


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


@pytest.mark.parametrize(
    ("told_ms", "verdict"), [(5_000, "HOLDS"), (7_600, "HOLDS"), (7_601, "VIOLATED")]
)
def test_being_told_takes_an_interval_and_the_clients_tick(
    judge: Judge, told_ms: float, verdict: str
) -> None:
    history = told(told_ms, 8_000).heartbeats("member-1", told_ms + 300, error_code=27)
    judged = judge(history, "R32")
    assert (verdict, told_ms - 5_000) == (judged["verdict"], judged["measured_max"])


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(5_050, "HOLDS"), (5_051, "VIOLATED"), (6_950, "VIOLATED"), (6_951, "HOLDS")],
)
def test_a_member_is_misled_from_slack_after_the_start_to_its_rejoining(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(told(6_900, 6_950, ms), "R32")["verdict"]


def test_a_member_that_heard_nothing_but_a_late_answer_is_not_examined(judge: Judge) -> None:
    assert 0 == judge(told(None, 5_200, 5_040), "R32")["examined"]


def test_a_member_that_is_only_ever_misled_is_examined(judge: Judge) -> None:
    verdict = judge(told(None, 8_100, 6_000), "R32")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["examined"])


def test_only_who_was_in_the_generation_before_and_rejoined_because_of_it_is_examined(
    judge: Judge,
) -> None:
    history = told(6_900, 6_950)
    history.join("member-2", 5, 1).join("member-3", 6_950, 2).join("member-4", 5, 1)
    history.join("member-4", 5_000, 2)
    history.join("member-3", 5, 1, **OTHER).join("member-3", 5, 1, broker=2)
    history.join("member-3", 5, 1, error_code=79).sync("member-3", 5, 1)
    for member in ("member-2", "member-3", "member-4"):
        history.heartbeats(member, 5_000, error_code=27)
    history.join("member-1", 6_000, 2, error_code=25).join("member-1", 6_000, 2, **OTHER)
    history.sync("member-1", 6_000, 2).join("member-1", 6_000, 2, broker=2)
    verdict = judge(history, "R32")
    assert ("HOLDS", 1, 1_900) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_a_rebalance_at_another_coordinator_or_without_a_start_is_not_examined(
    judge: Judge,
) -> None:
    history = told(6_900, 6_950)
    for row in history.rows["coordinator_events"][:3]:
        row["broker"] = 2
    assert "UNKNOWN" == judge(history, "R32")["verdict"]
    history = told(6_900, 6_950)
    history.rows["coordinator_events"] = [
        row for row in history.rows["coordinator_events"] if row["event"] != "rebalance_started"
    ]
    assert "UNKNOWN" == judge(history, "R32")["verdict"]


def test_a_rebalance_without_a_reason_was_caused_by_nobody_it_names(judge: Judge) -> None:
    history = told(6_900, 6_950)
    history.rows["coordinator_events"][3]["reason"] = None
    assert "HOLDS" == judge(history, "R32")["verdict"]


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


@pytest.mark.parametrize(
    ("assigned", "generation", "broker", "verdict"),
    [
        (False, 2, 2, "HOLDS"),
        (True, 2, 2, "VIOLATED"),  # it was stored
        (False, 2, 1, "VIOLATED"),  # the same coordinator knows better
        (False, 1, 2, "VIOLATED"),
        (False, 3, 1, "HOLDS"),
    ],
)
def test_only_a_number_that_was_never_stored_comes_again(
    judge: Judge, assigned: bool, generation: int, broker: int, verdict: str
) -> None:
    history = History().rebalance(0, 1, 1)
    history.says("rebalance_started", 5_000, generation=1, reason="x")
    history.says("stabilized", 5_010, generation=2, members=2)
    if assigned:
        history.says("assignment_received", 5_015, "member-1", generation=2)
    history.rebalance(15_000, generation, 2, broker=broker)
    assert verdict == judge(history, "R33")["verdict"]


@pytest.mark.parametrize(
    ("prepared", "given_ms", "verdict"),
    [
        (True, 5_015, "HOLDS"),
        (True, 7_000, "HOLDS"),
        (True, 7_001, "VIOLATED"),  # after the next had begun to be prepared
        (True, None, "HOLDS"),  # overtaken
        (False, 5_015, "VIOLATED"),
    ],
)
def test_a_generation_goes_through_all_states(
    judge: Judge, prepared: bool, given_ms: float | None, verdict: str
) -> None:
    history = History().rebalance(0, 1, 1)
    if prepared:
        history.says("rebalance_started", 5_000, generation=1, reason="x")
    history.says("stabilized", 5_010, generation=2, members=2)
    if given_ms is not None:
        history.says("assignment_received", given_ms, "member-1", generation=2)
    assert verdict == judge(history.rebalance(7_000, 3, 2), "R33")["verdict"]


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
    assert "member-2 (close), never left" in judge(closing(left_ms=None), "X14")["reason"]


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


@pytest.mark.parametrize(
    ("left_ms", "rebalance_ms", "verdict"),
    [
        (10_000, 10_060, "HOLDS"),
        (10_000, 10_061, "VIOLATED"),
        (10_010, 20_000, "VIOLATED"),
    ],
)
def test_a_close_is_heard_and_a_rebalance_starts_within_10_ms_and_slack(
    judge: Judge, left_ms: float, rebalance_ms: float, verdict: str
) -> None:
    history = closing(left_ms=left_ms, rebalance_ms=rebalance_ms).says("left", 10_000, "member-3")
    history.says("replaced", 10_500, "member-2")
    judged = judge(history, "X14")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_a_close_in_the_midst_of_a_rebalance_needs_no_second(judge: Judge) -> None:
    history = closing(left_ms=None).says("rebalance_started", 9_000, generation=1, reason="x")
    history.says("left", 10_010, "member-2").says("stabilized", 12_000, generation=2, members=1)
    verdict = judge(history, "X14")
    assert ("HOLDS", None) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("joined_ms", "event", "instance", "examined"),
    [
        (9_999.5, "closing", None, 1),
        (10_000, "closing", None, 1),
        (10_001, "closing", None, 0),
        (5, "closed", None, 0),
        (5, "closing", "member-2", 0),
    ],
)
def test_only_dynamic_members_that_close_in_the_group_are_examined(
    judge: Judge, joined_ms: float, event: str, instance: str | None, examined: int
) -> None:
    history = History().says("member_added", joined_ms, "member-2")
    history.join("member-2", joined_ms, instance_id=instance).told("member-2", event, 10_000)
    history.says("left", 10_010, "member-2").rebalance(10_011, 2, 1)
    assert examined == judge(history, "X14")["examined"]


def test_the_id_it_joined_with_last_is_the_one_that_leaves(judge: Judge) -> None:
    """Nobody saw what became of its first life."""
    history = closing(left_ms=10_010).says("member_added", 5_000, "member-2", life=2)
    history.says("left", 10_100, "member-2", life=2).rebalance(10_500, 3, 1)
    assert "VIOLATED" == judge(history, "X14")["verdict"]


# X107


def returned(
    closed_ms: float | None = 10_100, left: str | None = "LEAVE_GROUP", **row: Any
) -> History:
    """member-1 begins to close at 10 s, and the coordinator answers its leave at 10,050 ms."""
    history = History().member("member-1", **row).told("member-1", "closing", 10_000)
    if left:
        generation = 1 if left == "LEAVE_GROUP" else -1
        history.request(left, "member-1", 10_050, generation=generation)
    return history if closed_ms is None else history.told("member-1", "closed", closed_ms)


@pytest.mark.parametrize("left", ["LEAVE_GROUP", "CONSUMER_GROUP_HEARTBEAT"])
@pytest.mark.parametrize(
    ("closed_ms", "verdict"),
    [(10_040, "HOLDS"), (11_100, "HOLDS"), (11_101, "VIOLATED"), (None, "VIOLATED")],
)
def test_a_close_returns_within_a_second_of_the_leave(
    judge: Judge, closed_ms: float | None, verdict: str, left: str
) -> None:
    assert verdict == judge(returned(closed_ms, left), "X107")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "VIOLATED"),
        ({"end": "killed"}, "UNKNOWN"),
        ({"end": "failed"}, "UNKNOWN"),
        ({"end": None}, "UNKNOWN"),
        ({"client": "app"}, "UNKNOWN"),
        ({"role": "producer"}, "UNKNOWN"),
    ],
)
def test_only_consumers_that_ended_as_closed_tell_of_it(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    assert verdict == judge(returned(None, **row), "X107")["verdict"]


@pytest.mark.parametrize("left", [None, "HEARTBEAT"])
def test_how_long_a_close_takes_without_a_leave_is_not_asked(
    judge: Judge, left: str | None
) -> None:
    (row,) = judge(returned(30_000, left), "X107")["rows"]
    assert (True, "it had no leave to wait for, or a fault held up its answers") == (
        row["ok"],
        row["why"],
    )
    assert "VIOLATED" == judge(returned(None, left), "X107")["verdict"]


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (9_950, {}, "VIOLATED"),  # its line may be stamped within the slack
        (9_949, {}, "HOLDS"),
        (10_050, {"error_code": 25}, "HOLDS"),
        (10_050, {"client_id": "member-2"}, "HOLDS"),
        (10_050, {"answered_at": at(28_950)}, "HOLDS"),
        (10_050, {"answered_at": at(28_949)}, "VIOLATED"),
    ],
)
def test_a_leave_counts_from_its_answer_since_the_close_began(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = returned(30_000, None).request("LEAVE_GROUP", "member-1", ms, **row)
    assert verdict == judge(history, "X107")["verdict"]


def test_the_last_answer_to_a_leave_counts(judge: Judge) -> None:
    history = returned(30_000).request("LEAVE_GROUP", "member-1", 29_500)
    assert "HOLDS" == judge(history, "X107")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "healed_ms", "verdict"),
    [
        ("latency", "member-1", 2_000, 4_000, "HOLDS"),
        ("latency", "member-1", 2_000, 3_999, "VIOLATED"),  # a session before
        ("latency", "member-1", 20_000, 21_000, "HOLDS"),
        ("latency", "member-1", 20_001, 21_000, "VIOLATED"),
        ("latency", "member-2", 9_000, 21_000, "VIOLATED"),
        ("pause-broker", "broker-3", 9_000, 21_000, "HOLDS"),
        ("kill-broker", "broker-3", 9_000, None, "HOLDS"),
    ],
)
def test_a_close_may_wait_for_what_it_cannot_reach(
    judge: Judge, kind: str, resolved: str, from_ms: float, healed_ms: float | None, verdict: str
) -> None:
    history = returned(20_000).member("member-2")
    history.rows["members"][-1]["end"] = "killed"
    history.fault(kind, resolved, from_ms + 1, healed_ms, injecting_ms=from_ms)
    assert verdict == judge(history, "X107")["verdict"]


def test_what_never_returned_is_wrong_in_a_fault_as_well(judge: Judge) -> None:
    history = returned(None).fault("pause-broker", "broker-3", 9_000, 21_000)
    (row,) = judge(history, "X107")["rows"]
    why = "ended as closed, and its close() had never returned"
    assert (False, at(10_000), why) == (row["ok"], row["at"], row["why"])


def test_where_nothing_of_its_end_is_on_record_it_is_dated_by_its_process(judge: Judge) -> None:
    (row,) = judge(History().member("member-1", ended_at=at(5_000)), "X107")["rows"]
    assert (False, at(5_000)) == (row["ok"], row["at"])
