from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat, member_id

Judge = Callable[[History, str], dict[str, Any]]


def stable() -> History:
    """member-1 is in generation 2, stable from 10,015 ms on."""
    history = History().says("member_added", 5, "member-1").rebalance(10, 1, 1)
    return history.rebalance(10_000, 2, 1).says("rebalance_started", 40_000, generation=2)


# X56


@pytest.mark.parametrize("api", ["HEARTBEAT", "SYNC_GROUP", "OFFSET_COMMIT"])
@pytest.mark.parametrize(
    ("error", "generation", "ms", "verdict"),
    [
        (22, 2, 20_000, "VIOLATED"),
        (22, 1, 20_000, "HOLDS"),
        (22, 1, 9_900, "VIOLATED"),
        (22, 1, 9_960, "HOLDS"),  # the line of the next may be stamped late
        (25, 2, 20_000, "VIOLATED"),
        (27, 2, 20_000, "VIOLATED"),
        (16, 2, 20_000, "UNKNOWN"),
    ],
)
def test_a_member_in_order_is_refused_nothing(
    judge: Judge, api: str, error: int, generation: int, ms: float, verdict: str
) -> None:
    history = stable().request(api, "member-1", ms, generation=generation, error_code=error)
    assert verdict == judge(history, "X56")["verdict"]


@pytest.mark.parametrize("api", ["HEARTBEAT", "SYNC_GROUP"])
@pytest.mark.parametrize(
    ("ms", "verdict"), [(39_949, "VIOLATED"), (39_950, "HOLDS"), (45_000, "HOLDS")]
)
def test_a_member_is_told_to_join_while_members_are_waited_for(
    judge: Judge, api: str, ms: float, verdict: str
) -> None:
    history = stable().request(api, "member-1", ms, generation=2, error_code=27)
    assert verdict == judge(history, "X56")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "processed_ms", "verdict"),
    [
        # The generation is complete at 10.01 s, and its assignment has come 5 ms later.
        (9_959, 9_959, "VIOLATED"),
        (9_960, 9_960, "HOLDS"),
        (10_065, 10_065, "HOLDS"),
        (10_066, 10_066, "VIOLATED"),
        # It is stored at 12 s, when the leader's sync is answered.
        (11_900, 11_900, "HOLDS"),
        (12_050, 12_050, "HOLDS"),
        (12_051, 12_051, "VIOLATED"),
        (10_066, 11_000, "HOLDS"),
        # While members are waited for it is accepted.
        (45_000, 45_000, "VIOLATED"),
    ],
)
def test_a_commit_is_refused_between_join_and_assignment(
    judge: Judge, arrived_ms: float, processed_ms: float, verdict: str
) -> None:
    history = stable().commit_request(
        "member-1", processed_ms, 0, 5, error=27, generation=2, arrived_at=at(arrived_ms)
    )
    if arrived_ms not in (10_065, 10_066) or processed_ms == 11_000:
        history.sync(
            "member-1", 12_000, 2, arrived_at=at(11_900 if arrived_ms > 11_000 else 10_990)
        )
    assert verdict == judge(history, "X56")["verdict"]


@pytest.mark.parametrize("api", ["HEARTBEAT", "OFFSET_COMMIT", "CONSUMER_GROUP_HEARTBEAT"])
@pytest.mark.parametrize(
    ("error", "ms", "back_ms", "verdict"),
    [
        (25, 25_000, None, "HOLDS"),
        (22, 25_000, None, "VIOLATED"),
        (110, 25_000, None, "VIOLATED"),
        (113, 25_000, None, "VIOLATED"),
        # The line about its removal is stamped late; and it may be back.
        (113, 20_050, None, "VIOLATED"),
        (113, 20_049, None, "HOLDS"),
        (113, 25_000, 25_050, "HOLDS"),
        (113, 25_000, 25_051, "VIOLATED"),
    ],
)
def test_who_was_removed_is_told_that_and_nothing_else(
    judge: Judge, api: str, error: int, ms: float, back_ms: float | None, verdict: str
) -> None:
    history = stable().says("evicted", 20_000, "member-1")
    if back_ms:
        history.says("member_added", back_ms, "member-1")
    history.request(api, "member-1", ms, generation=1 if error == 22 else 2, error_code=error)
    assert verdict == judge(history, "X56")["verdict"]


@pytest.mark.parametrize(
    ("broker", "ms", "verdict"),
    [
        ("broker-1", 25_999, "UNKNOWN"),
        ("broker-1", 26_001, "VIOLATED"),
        ("broker-3", 26_001, "UNKNOWN"),
    ],
)
def test_a_coordinator_that_was_killed_for_good_is_over_a_session_after_it_was_replaced(
    judge: Judge, broker: str, ms: float, verdict: str
) -> None:
    history = stable().fault("kill-broker", broker, 14_000)
    history.says("loaded", 20_000, broker=2, members=1)
    history.heartbeats("member-1", ms, generation=2, error_code=27, broker=2)
    assert verdict == judge(history, "X56")["verdict"]


@pytest.mark.parametrize(
    ("api", "ms", "verdict"),
    [
        ("SYNC_GROUP", 10_060, "HOLDS"),
        ("SYNC_GROUP", 10_061, "VIOLATED"),
        ("HEARTBEAT", 10_060, "HOLDS"),
        ("HEARTBEAT", 10_061, "VIOLATED"),
    ],
)
def test_once_all_have_joined_a_heartbeat_or_a_sync_is_accepted(
    judge: Judge, api: str, ms: float, verdict: str
) -> None:
    """The group is complete at 10.01 s, and assigned 5 ms later."""
    history = stable().request(api, "member-1", ms, generation=2, error_code=27)
    assert verdict == judge(history, "X56")["verdict"]


def test_a_converted_group_has_rebalances_without_a_line(judge: Judge) -> None:
    history = stable().says("upgraded", 2_000)
    history.heartbeats("member-1", 20_000, error_code=27, generation=2)
    assert "HOLDS" == judge(history, "X56")["verdict"]
    history.heartbeats("member-1", 21_000, error_code=25, generation=2)
    assert "VIOLATED" == judge(history, "X56")["verdict"]


def test_who_sends_no_sync_in_time_is_out(judge: Judge) -> None:
    history = stable()
    reason = f"Removing [{member_id('member-1')}, m-2] on pending sync request expiration"
    history.says("rebalance_started", 30_000, generation=2, reason=reason)
    history.request("SYNC_GROUP", "member-1", 31_000, error_code=25, generation=2)
    assert "HOLDS" == judge(history, "X56")["verdict"]
    history.request("SYNC_GROUP", "member-1", 29_000, error_code=25, generation=2)
    assert "VIOLATED" == judge(history, "X56")["verdict"]


def test_who_was_removed_is_refused(judge: Judge) -> None:
    history = stable().says("evicted", 30_000, "member-1")
    history.heartbeats("member-1", 29_950, error_code=25, generation=2)
    assert "HOLDS" == judge(history, "X56")["verdict"]
    history.heartbeats("member-1", 29_949, error_code=25, generation=2)
    assert "VIOLATED" == judge(history, "X56")["verdict"]


@pytest.mark.parametrize("error", [110, 113])
@pytest.mark.parametrize(
    ("epoch", "ms", "verdict"),
    [
        (3, 6_000, "VIOLATED"),
        (2, 6_000, "HOLDS"),
        (2, 4_000, "VIOLATED"),
        (2, 4_950, "HOLDS"),  # its next epoch is on its way
        (3, 5_050, "HOLDS"),
    ],
)
def test_a_member_of_kip_848_is_not_refused_its_own_epoch(
    judge: Judge, error: int, epoch: int, ms: float, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"}).says("member_added", 5, "member-1")
    beat(history, "member-1", 10, 0, 2)
    beat(history, "member-1", 5_000, 2, 3)
    history.request("OFFSET_COMMIT", "member-1", ms, generation=epoch, error_code=error)
    assert verdict == judge(history, "X56")["verdict"]


def test_a_broker_that_is_broken_or_new_is_not_asked_for_reasons(judge: Judge) -> None:
    refused = stable().heartbeats("member-1", 20_000, error_code=25, generation=2)
    refused.fault("pause-broker", "broker-1", 14_000, 15_000)
    assert "UNKNOWN" == judge(refused, "X56")["verdict"]
    loaded = stable().heartbeats("member-1", 20_000, error_code=25, generation=2)
    loaded.says("loaded", 15_000, members=1)
    assert "UNKNOWN" == judge(loaded, "X56")["verdict"]


def paused(history: History, from_ms: float, healed_ms: float) -> History:
    """broker-1 is paused so long: until a session (6 s) after that others may know less of it."""
    return history.fault("pause-broker", "broker-1", from_ms + 1, healed_ms)


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "verdict"),
    [
        (13_000, 13_999, "VIOLATED"),
        (13_000, 14_000, "UNKNOWN"),
        (20_050, 22_000, "UNKNOWN"),  # within the slack after its answer
        (20_051, 22_000, "VIOLATED"),
    ],
)
def test_a_broker_needs_reasons_until_it_breaks_and_a_session_after_it_was_healed(
    judge: Judge, from_ms: float, healed_ms: float, verdict: str
) -> None:
    history = stable().heartbeats("member-1", 20_000, error_code=25, generation=2)
    assert verdict == judge(paused(history, from_ms, healed_ms), "X56")["verdict"]


@pytest.mark.parametrize("event", ["loaded", "unloaded"])
@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(13_999, "VIOLATED"), (14_000, "UNKNOWN"), (26_000, "UNKNOWN"), (26_001, "VIOLATED")],
)
def test_within_a_session_of_a_new_coordinator_nobody_is_asked_for_reasons(
    judge: Judge, event: str, ms: float, verdict: str
) -> None:
    history = stable().heartbeats("member-1", 11_000, generation=2)
    history.heartbeats("member-1", 20_000, error_code=25, generation=2)
    assert verdict == judge(history.says(event, ms, members=1), "X56")["verdict"]


def test_who_joins_in_kip_848_has_no_epoch_yet_that_it_could_be_refused(judge: Judge) -> None:
    history = stable().request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", 20_000, generation=0, error_code=25
    )
    assert "UNKNOWN" == judge(history, "X56")["verdict"]


@pytest.mark.parametrize("error", [22, 27])
def test_a_rebalance_of_another_group_is_no_reason(judge: Judge, error: int) -> None:
    history = stable().rebalance(19_900, 7, 3, group="payments")
    history.says("rebalance_started", 19_990, generation=7, group="payments")
    history.heartbeats("member-1", 20_000, error_code=error, generation=2)
    assert "VIOLATED" == judge(history, "X56")["verdict"]


@pytest.mark.parametrize("error", [22, 27])
def test_where_the_group_stood_is_not_known_without_the_coordinators_lines(
    judge: Judge, error: int
) -> None:
    history = History().heartbeats("member-1", 20_000, error_code=error, generation=2)
    verdict = judge(history, "X56")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("ms", "epoch", "verdict"), [(5_050, 2, "HOLDS"), (5_051, 2, "HOLDS"), (5_051, 3, "VIOLATED")]
)
def test_just_after_it_was_told_the_next_epoch_a_member_may_be_refused_the_one_before(
    judge: Judge, ms: float, epoch: int, verdict: str
) -> None:
    """member-1 is told epoch 3 at 5 s; what member-2 is told is another matter."""
    history = History(group={"protocol": "consumer"}).says("member_added", 5, "member-1")
    beat(history, "member-1", 10, 0, 2)
    beat(history, "member-1", 5_000, 2, 3)
    beat(history, "member-2", 5_020, 0, 9)
    history.request("OFFSET_COMMIT", "member-1", ms, generation=epoch, error_code=113)
    assert verdict == judge(history, "X56")["verdict"]


def test_the_first_refusal_without_a_reason_is_told_or_else_the_first(judge: Judge) -> None:
    history = stable().heartbeats("member-1", 5_000, 9_000, error_code=22, generation=2)
    history.heartbeats("member-2", 5_000, 9_000, error_code=22)
    history.heartbeats("member-1", 20_000, error_code=25, generation=2)
    history.heartbeats("member-2", 4_000, error_code=22, generation=2)
    found = {row["subject"][:8]: row for row in judge(history, "X56")["rows"]}
    assert (at(20_000), 1) == (found["member-1"]["at"], found["member-1"]["measured"])
    assert (at(5_000), 2) == (found["member-2"]["at"], found["member-2"]["measured"])
    assert "broker-1-requests.log:3" == found["member-2"]["evidence"]
    fine = stable().heartbeats("member-1", 20_000, 21_000, error_code=22)
    assert [at(20_000)] == [row["at"] for row in judge(fine, "X56")["rows"]]


# X62


def out() -> History:
    """member-1 left at 20 s."""
    return stable().says("left", 20_000, "member-1")


@pytest.mark.parametrize("error", [0, 27])
@pytest.mark.parametrize(
    ("api", "ms", "row", "verdict"),
    [
        ("HEARTBEAT", 20_300, {}, "HOLDS"),
        ("HEARTBEAT", 20_301, {}, "VIOLATED"),
        ("SYNC_GROUP", 20_301, {}, "VIOLATED"),
        ("LEAVE_GROUP", 20_301, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 20_301, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 20_301, {"generation": -1}, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 20_301, {}, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", 20_301, {"generation": 0}, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 20_301, {"generation": -1}, "VIOLATED"),
        ("HEARTBEAT", 20_301, {"member_id": member_id("member-1", 2)}, "HOLDS"),
    ],
)
def test_who_is_out_is_not_accepted(
    judge: Judge, error: int, api: str, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = out().request(api, "member-1", ms, error_code=error, **row)
    assert verdict == judge(history, "X62")["verdict"]


def test_who_is_out_may_be_refused_and_may_come_back(judge: Judge) -> None:
    history = out().heartbeats("member-1", 21_000, error_code=25)
    history.says("member_added", 22_000, "member-1").heartbeats("member-1", 23_000)
    assert "HOLDS" == judge(history, "X62")["verdict"]


def test_a_broker_that_is_broken_may_not_know_who_is_out(judge: Judge) -> None:
    history = out().heartbeats("member-1", 21_000).fault("pause-broker", "broker-1", 19_000, 22_000)
    assert "VIOLATED" != judge(history, "X62")["verdict"]


def test_where_nobody_is_out_x62_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stable(), "X62")["verdict"]


@pytest.mark.parametrize(
    ("api", "ms", "row", "verdict"),
    [
        ("OFFSET_COMMIT", 10_000, {}, "VIOLATED"),
        ("OFFSET_COMMIT", 10_000, {"error_code": 25}, "HOLDS"),
        ("OFFSET_COMMIT", 60, {}, "UNKNOWN"),  # there may have been no member yet
        ("OFFSET_COMMIT", 10_000, {"group": "payments"}, "UNKNOWN"),
        ("OFFSET_DELETE", 10_000, {}, "VIOLATED"),
        ("OFFSET_DELETE", 10_000, {"error_code": 86}, "HOLDS"),
        ("OFFSET_DELETE", 20_000, {}, "UNKNOWN"),  # the group is empty
        ("OFFSET_FETCH", 10_000, {}, "UNKNOWN"),
    ],
)
def test_a_group_with_members_refuses_strangers(
    judge: Judge, api: str, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = History().says("member_added", 10, "member-1").heartbeats("member-1", 20)
    history.request(api, "payer", ms, member_id=None, **row)
    if ms == 20_000:
        history.says("left", 15_000, "member-1")
        del history.rows["requests"][0]
    judged = judge(history, "X62")
    found = [each for each in judged["rows"] if "no member" in each["subject"]]
    assert verdict == (judged["verdict"] if found else "UNKNOWN")


@pytest.mark.parametrize(("ms", "verdict"), [(21_949, "VIOLATED"), (21_950, "HOLDS")])
def test_who_is_about_to_be_back_may_be_accepted(judge: Judge, ms: float, verdict: str) -> None:
    history = out().heartbeats("member-1", ms).says("member_added", 22_000, "member-1")
    assert verdict == judge(history, "X62")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "verdict"),
    [
        (13_000, 13_999, "VIOLATED"),
        (13_000, 14_000, "UNKNOWN"),
        (21_000, 22_000, "UNKNOWN"),
        (21_001, 22_000, "VIOLATED"),
    ],
)
def test_a_broker_that_was_broken_at_the_removal_or_since_may_not_know_who_is_out(
    judge: Judge, from_ms: float, healed_ms: float, verdict: str
) -> None:
    """member-1 left at 20 s, and its heartbeat is accepted at 21 s."""
    history = paused(out().heartbeats("member-1", 21_000), from_ms, healed_ms)
    assert verdict == judge(history, "X62")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "verdict"),
    [
        (3_000, 3_999, "VIOLATED"),
        (3_000, 4_000, "UNKNOWN"),
        (10_000, 11_000, "UNKNOWN"),
        (10_001, 11_000, "VIOLATED"),
    ],
)
def test_a_broker_that_is_broken_may_not_know_who_is_in(
    judge: Judge, from_ms: float, healed_ms: float, verdict: str
) -> None:
    history = History().says("member_added", 10, "member-1")
    history.request("OFFSET_DELETE", "admin", 10_000, member_id=None)
    assert verdict == judge(paused(history, from_ms, healed_ms), "X62")["verdict"]


@pytest.mark.parametrize(("left_ms", "accepted"), [(10_050, []), (10_051, [1])])
def test_a_stranger_may_be_accepted_as_the_last_member_leaves(
    judge: Judge, left_ms: float, accepted: list[int]
) -> None:
    history = History().says("member_added", 10, "member-1").says("left", left_ms, "member-1")
    history.request("OFFSET_COMMIT", "payer", 10_000, member_id=None)
    rows = judge(history, "X62")["rows"]
    assert accepted == [row["measured"] for row in rows if "no member" in row["subject"]]


def test_the_first_request_of_a_stranger_is_told(judge: Judge) -> None:
    history = History().says("member_added", 10, "member-1")
    for ms in (10_000, 11_000):
        history.request("OFFSET_COMMIT", "payer", ms, member_id=None)
    (row,) = judge(history, "X62")["rows"]
    assert (at(10_000), 2, "broker-1-requests.log:1") == (
        row["at"], row["measured"], row["evidence"]
    )  # fmt: skip


# X70


def at_work(**group: Any) -> History:
    """broker-1 coordinates the group of member-1 from 10 ms on, and broker-2 from 30 s on."""
    history = History(group=group).member("member-1").says("member_id_given", 10, "member-1")
    history.says("member_added", 20, "member-1").join("member-1", 30, assignors=["range"])
    return history.says("loaded", 30_000, broker=2)


@pytest.mark.parametrize("api", ["HEARTBEAT", "JOIN_GROUP", "OFFSET_COMMIT", "OFFSET_FETCH"])
@pytest.mark.parametrize("error", [14, 15, 16])
@pytest.mark.parametrize(
    ("ms", "broker", "verdict"),
    [
        (20_000, 1, "VIOLATED"),
        (60, 1, "VIOLATED"),
        (59, 1, "HOLDS"),  # as the group began
        (20_000, 2, "HOLDS"),  # another broker
        (23_949, 1, "VIOLATED"),
        (23_950, 1, "HOLDS"),  # it may have resigned, and its successor be about to load the group
        (36_049, 2, "HOLDS"),
        (36_050, 2, "VIOLATED"),
    ],
)
def test_a_coordinator_in_office_does_not_say_that_it_is_none(
    judge: Judge, api: str, error: int, ms: float, broker: int, verdict: str
) -> None:
    history = at_work().request(api, "member-1", ms, broker=broker, error_code=error)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(6_060, "VIOLATED"), (6_059, "HOLDS")])
def test_a_lookup_finds_the_coordinator(judge: Judge, ms: float, verdict: str) -> None:
    history = at_work().request("FIND_COORDINATOR", "member-1", ms, broker=3, error_code=15)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("api", "broker", "error", "verdict"),
    [
        ("OFFSET_FETCH", 1, 16, "VIOLATED"),
        ("OFFSET_FETCH", 3, 16, "HOLDS"),
        ("DESCRIBE_GROUPS", 1, 16, "HOLDS"),
    ],
)
def test_the_observer_is_told_its_positions(
    judge: Judge, api: str, broker: int, error: int, verdict: str
) -> None:
    history = at_work().request(
        api, "observer", 20_000, member_id=None, broker=broker, error_code=error
    )
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize("error", [24, 42, 69, 112, 35, 12, 28, 7, -1, 88, 26])
def test_an_error_that_no_group_gives_a_reason_for_violates(judge: Judge, error: int) -> None:
    history = at_work().heartbeats("member-1", 20_000, error_code=error)
    verdict = judge(history, "X70")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("api", "error", "verdict"),
    [
        ("TXN_OFFSET_COMMIT", 47, "HOLDS"),
        ("TXN_OFFSET_COMMIT", 90, "HOLDS"),
        ("TXN_OFFSET_COMMIT", 42, "VIOLATED"),
        ("OFFSET_COMMIT", 90, "VIOLATED"),
    ],
)
def test_a_transaction_that_took_too_long_is_no_matter_of_the_group(
    judge: Judge, api: str, error: int, verdict: str
) -> None:
    history = at_work().request(api, "member-1", 20_000, error_code=error)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize("error", [0, 27, 79, 22, 25, 110, 113, 29, 30])
def test_what_other_rules_examine_is_left_to_them(judge: Judge, error: int) -> None:
    history = at_work().request("OFFSET_COMMIT", "member-1", 20_000, error_code=error)
    assert "HOLDS" == judge(history, "X70")["verdict"]


def test_a_broken_broker_and_another_group_give_reasons(judge: Judge) -> None:
    history = at_work().heartbeats("member-1", 20_000, error_code=-1)
    history.fault("kill-broker", "broker-3", 14_000, 14_500)
    assert "HOLDS" == judge(history, "X70")["verdict"]
    other = at_work().heartbeats("member-1", 20_000, error_code=-1, group="payments")
    assert "HOLDS" == judge(other, "X70")["verdict"]
    assert "HOLDS" == judge(at_work().heartbeats("probe", 20_000, error_code=-1), "X70")["verdict"]


@pytest.mark.parametrize(
    ("api", "life", "ms", "verdict"),
    [
        ("JOIN_GROUP", 1, 20_000, "VIOLATED"),
        ("JOIN_GROUP", 1, 24_960, "HOLDS"),  # it may be out by then
        ("JOIN_GROUP", 1, 28_000, "HOLDS"),
        ("JOIN_GROUP", 2, 20_000, "HOLDS"),  # an id that nobody has given
        ("LEAVE_GROUP", 1, 20_000, "VIOLATED"),
        ("LEAVE_GROUP", 1, 28_000, "HOLDS"),
    ],
)
def test_who_is_in_the_group_may_join_again_and_leave(
    judge: Judge, api: str, life: int, ms: float, verdict: str
) -> None:
    history = at_work().says("evicted", 25_000, "member-1")
    history.request(api, "member-1", ms, life=life, error_code=25)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("api", "epoch", "error", "verdict"),
    [
        ("OFFSET_FETCH", 1, 25, "VIOLATED"),
        ("OFFSET_FETCH", 1, 113, "HOLDS"),  # X22 and others are about epochs
        ("CONSUMER_GROUP_HEARTBEAT", -1, 25, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", 2, 25, "HOLDS"),  # X56
    ],
)
def test_who_is_in_the_group_may_ask_for_positions_and_leave_it(
    judge: Judge, api: str, epoch: int, error: int, verdict: str
) -> None:
    history = at_work().request(api, "member-1", 20_000, generation=epoch, error_code=error)
    assert verdict == judge(history, "X70")["verdict"]
    other = at_work().request(api, "member-1", 20_000, life=2, generation=epoch, error_code=25)
    assert "HOLDS" == judge(other, "X70")["verdict"]


def test_who_leaves_later_was_in_the_group(judge: Judge) -> None:
    history = at_work().request("JOIN_GROUP", "member-1", 20_000, error_code=25)
    assert "VIOLATED" == judge(history.request("LEAVE_GROUP", "member-1", 30_000), "X70")["verdict"]


@pytest.mark.parametrize(("accepted", "verdict"), [(True, "HOLDS"), (False, "VIOLATED")])
def test_who_left_was_not_refused(judge: Judge, accepted: bool, verdict: str) -> None:
    history = at_work().says("left", 25_000, "member-1")
    history.request("LEAVE_GROUP", "member-1", 25_001, error_code=25)
    if accepted:
        history.request("LEAVE_GROUP", "member-1", 25_000)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("event", "verdict"), [(None, "VIOLATED"), ("pending_evicted", "HOLDS"), ("left", "HOLDS")]
)
def test_who_was_given_an_id_may_join_with_it(
    judge: Judge, event: str | None, verdict: str
) -> None:
    history = at_work().says("member_id_given", 10_000, "member-2").member("member-2")
    if event is not None:
        history.says(event, 10_020, "member-2")
    history.request("JOIN_GROUP", "member-2", 10_005, error_code=25)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize("error", [82, 111])
@pytest.mark.parametrize(("twin", "verdict"), [(True, "HOLDS"), (False, "VIOLATED")])
def test_an_instance_id_is_fenced_for_another_process(
    judge: Judge, error: int, twin: bool, verdict: str
) -> None:
    history = at_work().heartbeats("member-1", 20_000, error_code=error, instance_id="i")
    if twin:
        history.heartbeats("member-2", 10_000, instance_id="i")
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("error", "other", "group", "verdict"),
    [
        (23, ["range"], {}, "VIOLATED"),
        (23, ["roundrobin"], {}, "HOLDS"),
        (81, ["range"], {}, "VIOLATED"),
        (88, ["range"], {}, "VIOLATED"),
        (88, ["range"], {"commit": "transaction"}, "HOLDS"),
    ],
)
def test_other_errors_need_what_they_are_about(
    judge: Judge, error: int, other: list[str], group: dict[str, Any], verdict: str
) -> None:
    history = at_work(**group).join("member-1", 20_000, error_code=error, assignors=["range"])
    history.join("member-2", 10_000, assignors=other)
    assert verdict == judge(history, "X70")["verdict"]


def test_a_fetch_that_names_no_member_is_refused_none(judge: Judge) -> None:
    history = at_work().request("OFFSET_FETCH", "member-1", 20_000, member_id=None, error_code=25)
    assert "VIOLATED" == judge(history, "X70")["verdict"]
    named = at_work().request("OFFSET_FETCH", "member-1", 20_000, life=2, error_code=25)
    assert "HOLDS" == judge(named, "X70")["verdict"]


def test_without_requests_of_members_x70_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().heartbeats("probe", 10, error_code=25), "X70")["verdict"]


# X71


@pytest.mark.parametrize(
    ("generation", "ms", "error", "verdict"),
    [
        (2, 20_000, 0, "HOLDS"),
        (1, 20_000, 0, "VIOLATED"),
        (3, 20_000, 0, "VIOLATED"),
        (1, 20_000, 22, "UNKNOWN"),
        (1, 10_059, 0, "HOLDS"),  # the line of the next may be stamped late
        (1, 10_060, 0, "VIOLATED"),
        (1, 9_000, 0, "HOLDS"),
    ],
)
def test_a_sync_is_accepted_in_its_generation(
    judge: Judge, generation: int, ms: float, error: int, verdict: str
) -> None:
    history = stable().sync("member-1", ms, generation, error_code=error)
    assert verdict == judge(history, "X71")["verdict"]


def test_a_sync_that_waits_counts_until_its_answer(judge: Judge) -> None:
    history = stable().sync("member-1", 5_000, 1, processed_at=at(10_015))
    assert "HOLDS" == judge(history, "X71")["verdict"]


def test_without_syncs_x71_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stable().heartbeats("member-1", 20_000), "X71")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_959, "VIOLATED"), (9_960, "HOLDS")])
def test_the_line_of_a_generation_may_come_after_the_sync_in_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Generation 2 is stable at 10.01 s."""
    assert verdict == judge(stable().sync("member-1", ms, 2), "X71")["verdict"]


def test_the_first_sync_in_another_generation_is_told_or_else_the_first(judge: Judge) -> None:
    history = stable().sync("member-1", 12_000, 2).sync("member-1", 20_000, 1)
    history.sync("member-1", 21_000, 3).sync("member-2", 12_000, 2).sync("member-2", 13_000, 2)
    found = {row["subject"]: row for row in judge(history, "X71")["rows"]}
    assert (at(20_000), 2, "broker-1-requests.log:2") == tuple(
        found["member-1 (syncs)"][name] for name in ("at", "measured", "evidence")
    )
    assert (at(12_000), 0, "broker-1-requests.log:4") == tuple(
        found["member-2 (syncs)"][name] for name in ("at", "measured", "evidence")
    )
