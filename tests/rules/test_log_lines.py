from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# X76


def logged(*lines: tuple[str, float]) -> History:
    """member-1 is given an id at 1 s and is a member from 2 s on; and these lines of it."""
    history = History().says("member_id_given", 1_000, "member-1")
    history.says("member_added", 2_000, "member-1")
    for event, ms in lines:
        history.says(event, ms, "member-1")
    return history


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ([], "HOLDS"),
        ([("left", 9_000)], "HOLDS"),
        ([("left", 9_000), ("left", 9_500)], "VIOLATED"),
        ([("evicted", 9_000), ("left", 9_500)], "VIOLATED"),
        ([("fenced", 9_000), ("member_added", 9_200), ("left", 9_500)], "HOLDS"),
        ([("fenced", 9_000), ("member_added", 9_500), ("left", 9_500)], "HOLDS"),
        ([("pending_evicted", 9_000)], "VIOLATED"),
        ([("left", 9_000), ("pending_evicted", 9_500)], "HOLDS"),
        ([("replaced", 9_000)], "HOLDS"),
    ],
)
def test_a_member_is_removed_once(
    judge: Judge, lines: list[tuple[str, float]], verdict: str
) -> None:
    assert verdict == judge(logged(*lines), "X76")["verdict"]


@pytest.mark.parametrize(
    ("kind", "healed_ms", "verdict"),
    [
        ("kill-broker", 2_999, "VIOLATED"),  # a session before the first removal
        ("kill-broker", 3_000, "HOLDS"),
        ("freeze-consumer", 9_000, "VIOLATED"),
    ],
)
def test_a_removal_that_could_not_be_written_is_made_again(
    judge: Judge, kind: str, healed_ms: float, verdict: str
) -> None:
    history = logged(("evicted", 9_000), ("evicted", 9_500))
    history.fault(kind, "broker-2" if kind == "kill-broker" else "member-1", 2_500, healed_ms)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(("injecting_ms", "verdict"), [(9_500, "HOLDS"), (9_501, "VIOLATED")])
def test_a_removal_is_made_again_once_a_broker_is_broken(
    judge: Judge, injecting_ms: float, verdict: str
) -> None:
    history = logged(("evicted", 9_000), ("evicted", 9_500))
    history.fault("kill-broker", "broker-2", 9_600, 12_000, injecting_ms=injecting_ms)
    assert verdict == judge(history, "X76")["verdict"]


def test_what_else_is_logged_of_a_member_says_nothing_of_its_removal(judge: Judge) -> None:
    history = logged(("evicted", 9_000), ("assignment_received", 9_200), ("left", 9_500))
    assert "VIOLATED" == judge(history, "X76")["verdict"]


def test_the_first_line_out_of_turn_is_told(judge: Judge) -> None:
    verdict = judge(logged(("evicted", 9_000), ("left", 9_500), ("fenced", 9_700)), "X76")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])
    assert at(9_500) == verdict["rows"][0]["at"]
    assert "left of member-1" in verdict["reason"]


@pytest.mark.parametrize("event", ["evicted", "pending_evicted"])
def test_a_coordinator_knows_nothing_of_what_another_did(judge: Judge, event: str) -> None:
    history = logged(*([("left", 9_000)] if event == "evicted" else []))
    history.says(event, 9_500, "member-1", broker=2)
    assert "HOLDS" == judge(history, "X76")["verdict"]


def test_an_id_that_never_joined_is_taken_back(judge: Judge) -> None:
    history = logged().says("member_id_given", 3_000, "member-2")
    history.says("pending_evicted", 9_000, "member-2").says("left", 9_000, "member-3")
    assert "HOLDS" == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "broker", "verdict"),
    [
        ("stabilized", 9_051, 1, "VIOLATED"),
        ("stabilized", 9_050, 1, "HOLDS"),
        ("loaded", 9_051, 1, "HOLDS"),
        ("stabilized", 9_051, 2, "HOLDS"),
    ],
)
def test_a_broker_that_has_unloaded_the_group_has_no_more_to_say(
    judge: Judge, event: str, ms: float, broker: int, verdict: str
) -> None:
    history = logged().says("unloaded", 9_000).says(event, ms, broker=broker)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize("event", ["stabilized", "upgraded"])
def test_what_a_broker_logs_as_it_unloads_the_group_comes_before_that(
    judge: Judge, event: str
) -> None:
    history = logged().says(event, 9_000).says("unloaded", 9_000)
    assert "HOLDS" == judge(history, "X76")["verdict"]
    assert "VIOLATED" == judge(history.says("stabilized", 9_100), "X76")["verdict"]


def test_a_broker_may_load_the_group_as_it_has_unloaded_it(judge: Judge) -> None:
    history = logged().says("unloaded", 9_000).says("loaded", 9_000).says("stabilized", 9_100)
    assert "HOLDS" == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(("members", "verdict"), [(3, "HOLDS"), (2, "VIOLATED")])
def test_all_members_of_a_generation_are_assigned_to(
    judge: Judge, members: int, verdict: str
) -> None:
    history = logged().says("stabilized", 5_000, generation=1, members=3)
    history.says("assignment_received", 5_010, "member-1", generation=1, members=members)
    history.says("assignment_received", 9_010, "member-1", generation=2, members=2)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(("members", "verdict"), [(3, "HOLDS"), (2, "VIOLATED")])
def test_a_leader_may_assign_in_the_moment_in_which_all_have_joined(
    judge: Judge, members: int, verdict: str
) -> None:
    history = logged().says("stabilized", 5_000, generation=1, members=3)
    history.says("assignment_received", 5_000, "member-1", generation=1, members=members)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(
    ("between", "generation", "verdict"),
    [(None, 1, "VIOLATED"), (None, 2, "HOLDS"), ("stabilized", 1, "HOLDS"), ("loaded", 1, "HOLDS")],
)
def test_a_rebalance_starts_once(
    judge: Judge, between: str | None, generation: int, verdict: str
) -> None:
    history = logged().says("rebalance_started", 20_000, generation=1)
    if between:
        history.says(between, 21_000, generation=2)
    history.says("rebalance_started", 22_000, generation=generation)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(
    ("between", "verdict"),
    [(None, "VIOLATED"), ("unloaded", "HOLDS"), ("another broker", "HOLDS"), ("dead", "HOLDS")],
)
def test_a_group_is_loaded_once(judge: Judge, between: str | None, verdict: str) -> None:
    history = logged().says("loaded", 20_000)
    if between == "unloaded":
        history.says("unloaded", 30_000)
    if between == "dead":
        history.fault("kill-broker", "broker-1", 25_000, 30_000)
    history.says("loaded", 40_000, broker=2 if between == "another broker" else 1)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(
    ("broker", "injecting_ms", "healed_ms", "verdict"),
    [
        ("broker-1", 40_000, 45_000, "HOLDS"),
        ("broker-1", 40_001, 45_000, "VIOLATED"),
        ("broker-1", 15_000, 20_000, "HOLDS"),
        ("broker-1", 15_000, 19_999, "VIOLATED"),
        ("broker-2", 25_000, 30_000, "VIOLATED"),
    ],
)
def test_a_group_is_loaded_again_where_its_own_broker_was_broken(
    judge: Judge, broker: str, injecting_ms: float, healed_ms: float, verdict: str
) -> None:
    """By the time of the second load, and not before the first."""
    history = logged().says("loaded", 20_000).says("loaded", 40_000)
    history.fault("kill-broker", broker, injecting_ms + 100, healed_ms, injecting_ms=injecting_ms)
    assert verdict == judge(history, "X76")["verdict"]


@pytest.mark.parametrize(
    ("kind", "ms", "verdict"),
    [
        ("kill-broker", 9_050, "HOLDS"),
        ("kill-broker", 9_051, "VIOLATED"),
        ("kill-broker", 11_999, "HOLDS"),
        ("pause-broker", 9_051, "HOLDS"),
    ],
)
def test_a_dead_broker_logs_nothing(judge: Judge, kind: str, ms: float, verdict: str) -> None:
    history = logged().fault(kind, "broker-1", 9_000, 12_000)
    history.says("stabilized", ms).says("stabilized", 10_000, broker=2)
    assert verdict == judge(history, "X76")["verdict"]


def test_without_lines_x76_is_unknown(judge: Judge) -> None:
    history = History().says("member_added", 10, "member-1", group="payments")
    assert "UNKNOWN" == judge(history, "X76")["verdict"]


# X77


def partition_seen(history: History, ms: float, leader: int, *isr: int) -> History:
    return history.add(
        "topology", at=at(ms), what="partition", topic="t", partition=0, leader=leader, isr=isr
    )


def seen() -> History:
    """Three brokers, and a partition, as they are from the start."""
    history = History()
    for broker in (1, 2, 3):
        history.broker_seen(0, broker, alive=True)
    return partition_seen(history, 0, 1, 1, 2, 3)


def test_a_whole_cluster_holds(judge: Judge) -> None:
    verdict = judge(seen(), "X77")
    assert ("HOLDS", 4) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("back_ms", "verdict"), [(21_000, "VIOLATED"), (20_999, "HOLDS")])
def test_a_broker_does_not_die_by_itself(judge: Judge, back_ms: float, verdict: str) -> None:
    history = seen().broker_seen(20_000, 2, alive=False).broker_seen(back_ms, 2, alive=True)
    assert verdict == judge(history, "X77")["verdict"]


def not_heard(how: str) -> History:
    """broker-2 does not answer the observer from 20 s to 21.65 s."""
    history = seen().broker_seen(20_000, 2, alive=False).broker_seen(21_650, 2, alive=True)
    history.rows["topology"][-2]["detail"] = how
    return history


@pytest.mark.parametrize(
    ("how", "broker", "ms", "verdict"),
    [
        ("silent", 2, 20_000, "HOLDS"),
        ("silent", 2, 21_650, "HOLDS"),
        ("silent", 2, 19_999, "VIOLATED"),
        ("silent", 2, 21_651, "VIOLATED"),
        ("silent", 1, 20_500, "VIOLATED"),
        # Who refuses a connection is gone, and was there again before the observer saw it.
        ("refused", 2, 20_500, "VIOLATED"),
    ],
)
def test_a_silent_broker_that_answers_anybody_is_alive(
    judge: Judge, how: str, broker: int, ms: float, verdict: str
) -> None:
    asked = not_heard(how).heartbeats("member-1", ms, broker=broker)
    assert verdict == judge(asked, "X77")["verdict"]
    written = not_heard(how).says("member_added", ms, "member-1", broker=broker)
    assert verdict == judge(written, "X77")["verdict"]


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ((20_010,), "VIOLATED"),
        ((49_990,), "VIOLATED"),
        (range(20_500, 50_000, 2_000), "HOLDS"),
        ((22_000, 26_000, 31_000, 36_000, 41_000, 46_000), "HOLDS"),
        ((22_000, 26_000, 31_001, 36_000, 41_000, 46_000), "VIOLATED"),
    ],
)
def test_one_answer_is_no_sign_of_life_for_half_a_minute(
    judge: Judge, answers: Iterable[int], verdict: str
) -> None:
    history = seen().broker_seen(20_000, 2, alive=False).broker_seen(50_000, 2, alive=True)
    history.rows["topology"][-2]["detail"] = "silent"
    history.heartbeats("member-1", *answers, broker=2)
    assert verdict == judge(history, "X77")["verdict"]


@pytest.mark.parametrize(
    ("how", "process", "from_ms", "to_ms", "waited_ms", "verdict"),
    [
        ("silent", "broker-2", 18_500, 19_000, 651, "HOLDS"),
        ("silent", "broker-2", 18_500, 18_999, 651, "VIOLATED"),
        ("silent", "broker-2", 21_650, 22_000, 651, "HOLDS"),
        ("silent", "broker-2", 21_651, 22_000, 651, "VIOLATED"),
        ("silent", "broker-2", 20_000, 21_000, 650, "VIOLATED"),
        ("silent", "broker-1", 20_000, 21_000, 651, "VIOLATED"),
        ("refused", "broker-2", 20_000, 21_000, 651, "VIOLATED"),
    ],
)
def test_a_broker_that_waits_for_a_processor_is_alive(
    judge: Judge,
    how: str,
    process: str,
    from_ms: float,
    to_ms: float,
    waited_ms: float,
    verdict: str,
) -> None:
    history = not_heard(how).waited(process, from_ms, to_ms, waited_ms)
    assert verdict == judge(history, "X77")["verdict"]


@pytest.mark.parametrize(
    ("leader", "isr", "verdict"),
    [
        (1, (1, 2), "VIOLATED"),  # a replica fell out of sync by itself
        (1, (3, 2, 1), "HOLDS"),
        (2, (1, 2), "VIOLATED"),  # it moved by itself
        (3, (1, 2), "VIOLATED"),
        (-1, (1, 2), "VIOLATED"),
    ],
)
def test_a_partition_has_a_leader_in_sync(
    judge: Judge, leader: int, isr: tuple[int, ...], verdict: str
) -> None:
    assert verdict == judge(partition_seen(seen(), 20_000, leader, *isr), "X77")["verdict"]


@pytest.mark.parametrize(
    ("ms", "back_ms", "verdict"),
    [
        (20_000, 21_000, "VIOLATED"),
        (20_000, 20_999, "HOLDS"),  # a glimpse
        (40_000, 45_000, "HOLDS"),  # a broker was broken before
    ],
)
def test_a_replica_falls_out_of_sync_only_with_a_broker(
    judge: Judge, ms: float, back_ms: float, verdict: str
) -> None:
    history = seen().fault("kill-broker", "broker-3", 30_000, 31_000)
    partition_seen(partition_seen(history, ms, 1, 1, 2), back_ms, 1, 1, 2, 3)
    assert verdict == judge(history, "X77")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(4_999, "HOLDS"), (5_000, "VIOLATED"), (59_999, "VIOLATED"), (60_000, "HOLDS")],
)
def test_the_cluster_is_whole_from_the_steady_state_to_the_stop(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = seen().broker_seen(ms, 2, alive=False)
    history.steady_ms = 5_000
    assert verdict == judge(history, "X77")["verdict"]


def test_the_first_of_several_sights_is_told(judge: Judge) -> None:
    history = partition_seen(seen(), 20_000, -1, 1, 2, 3)
    partition_seen(partition_seen(history, 30_000, 2, 1, 3), 40_000, 2, 1, 2, 3)
    verdict = judge(history, "X77")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])
    assert at(20_000) == min(row["at"] for row in verdict["rows"] if row["ok"] is False)
    assert "t-0 had no leader" in verdict["reason"]


def test_a_replica_that_was_never_in_sync_did_not_fall_out(judge: Judge) -> None:
    history = partition_seen(partition_seen(History(), 0, 1, 1), 20_000, 1, 1, 2)
    assert "HOLDS" == judge(history, "X77")["verdict"]


def test_a_replica_is_on_a_broker_that_there_is(judge: Judge) -> None:
    assert "VIOLATED" == judge(partition_seen(seen(), 20_000, 1, 1, 4), "X77")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(17_000, "UNKNOWN"), (16_000, "VIOLATED")])
def test_a_machine_that_stood_still_may_not_have_heard_of_a_broker(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = seen().broker_seen(20_000, 2, alive=False).tick(ms, late_ms=800)
    assert verdict == judge(history.tick(25_000), "X77")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_000, "VIOLATED"), (40_000, "HOLDS")])
def test_leaders_move_once_a_broker_was_broken(judge: Judge, ms: float, verdict: str) -> None:
    history = seen().fault("kill-broker", "broker-3", 10_000, 11_000)
    assert verdict == judge(partition_seen(history, ms, 2, 1, 2), "X77")["verdict"]


def test_leaders_need_not_move_back_until_the_next_fault(judge: Judge) -> None:
    history = seen().fault("kill-broker", "broker-3", 10_000, 11_000)
    history.fault("kill-broker", "broker-3", 50_000, 51_000)
    partition_seen(partition_seen(history, 30_000, 2, 1, 2, 3), 31_000, 2, 1, 2)
    assert "HOLDS" == judge(history, "X77")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_999, "HOLDS"), (9_998, "VIOLATED")])
def test_a_broker_may_be_dead_from_the_moment_of_its_fault(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = seen().fault("kill-broker", "broker-3", 10_000, 15_000)
    history.broker_seen(ms, 3, alive=False).broker_seen(16_000, 3, alive=True)
    assert verdict == judge(history, "X77")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(17_000, "HOLDS"), (17_001, "VIOLATED")])
def test_a_session_after_a_broken_broker_all_is_whole(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = seen().fault("kill-broker", "broker-3", 10_000, 11_000)
    assert verdict == judge(partition_seen(history, ms, -1, 1, 2), "X77")["verdict"]


def test_nothing_seen_leaves_x77_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().end_offset(0, 10), "X77")["verdict"]


# X81


def named(*lines: tuple[str, float]) -> History:
    """member-1's JoinGroup is accepted at 2 s; and the log has these lines of it."""
    history = History().join("member-1", 2_000)
    for event, ms in lines:
        history.says(event, ms, "member-1")
    return history


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ([("member_added", 1_990)], "HOLDS"),
        ([("member_added", 2_050)], "HOLDS"),
        ([("member_added", 2_051)], "VIOLATED"),
        ([("member_id_given", 1_000)], "VIOLATED"),
        ([], "VIOLATED"),
    ],
)
def test_who_is_accepted_has_joined_by_the_log(
    judge: Judge, lines: list[tuple[str, float]], verdict: str
) -> None:
    assert verdict == judge(named(*lines), "X81")["verdict"]


def test_who_joins_again_under_its_id_has_joined_when_it_first_did(judge: Judge) -> None:
    history = named(("member_id_given", 1_000), ("member_added", 1_990), ("member_added", 30_000))
    verdict = judge(history, "X81")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert at(1_000) == verdict["rows"][0]["at"]


def test_who_was_accepted_before_it_had_joined_may_not_go_on_as_a_member(judge: Judge) -> None:
    history = named(("member_added", 3_000)).heartbeats("member-1", 4_000)
    assert "was accepted before it had joined" in judge(history, "X81")["reason"]


def test_an_id_without_a_line_is_told_with_who_bore_it_first(judge: Judge) -> None:
    history = named().heartbeats("member-1", 5_000).heartbeats("member-1", 6_000, client_id="z")
    verdict = judge(history, "X81")
    assert ("VIOLATED", at(2_000)) == (verdict["verdict"], verdict["rows"][0]["at"])
    assert verdict["rows"][0]["subject"].startswith("member-1 (")


def test_lines_of_other_groups_and_of_what_else_befell_a_member_name_nobody(judge: Judge) -> None:
    history = named(("member_added", 1_990)).says("left", 9_000, "member-3")
    history.says("member_added", 5_000, "member-2", group="payments")
    verdict = judge(history, "X81")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("error", "verdict"), [(27, "VIOLATED"), (25, "HOLDS"), (79, "HOLDS"), (0, "VIOLATED")]
)
def test_who_is_refused_need_not_have(judge: Judge, error: int, verdict: str) -> None:
    history = named(("member_added", 1_990)).heartbeats("member-2", 5_000, error_code=error)
    assert verdict == judge(history, "X81")["verdict"]


def test_a_static_member_takes_its_place_without_a_line_of_its_own(judge: Judge) -> None:
    history = named(("member_added", 1_990)).join("member-2", 5_000, instance_id="i")
    assert "HOLDS" == judge(history, "X81")["verdict"]


@pytest.mark.parametrize("event", ["member_id_given", "member_added"])
def test_an_id_in_the_log_was_named_to_somebody(judge: Judge, event: str) -> None:
    history = named(("member_added", 1_990)).says(event, 5_000, "member-2")
    assert "VIOLATED" == judge(history, "X81")["verdict"]
    history.join("member-2", 5_001, error_code=79)
    assert "HOLDS" == judge(history, "X81")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(4_000, "HOLDS"), (30_000, "VIOLATED")])
def test_a_broken_broker_answers_nobody(judge: Judge, ms: float, verdict: str) -> None:
    history = named(("member_added", 1_990)).fault("kill-broker", "broker-1", 3_000, 5_000)
    assert verdict == judge(history.says("member_id_given", ms, "member-2"), "X81")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(2_949, "VIOLATED"), (2_950, "HOLDS"), (11_050, "HOLDS"), (11_051, "VIOLATED")],
)
def test_from_just_before_a_fault_to_a_session_after_it_names_may_differ(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Lines and requests are stamped by different clocks, and so may be 50 ms apart."""
    history = named(("member_added", 1_990)).says("member_id_given", ms, "member-2")
    history.fault("kill-broker", "broker-1", 3_001, 5_000)
    assert verdict == judge(history, "X81")["verdict"]


def test_without_member_ids_x81_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().says("emptied", 10, generation=1), "X81")["verdict"]
