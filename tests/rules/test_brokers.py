from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


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


def group_of(*members: str) -> History:
    """Members that joined at the start; broker-3 is gone from 10 s to 25 s."""
    history = killed()
    for member in members:
        history.member(member).says("member_added", 0, member).join(member, 5)
    return history


def taken(history: History, ms: float, reason: str) -> History:
    """A rebalance for this reason, in which member-1 gives up what it has."""
    return history.rebalance(ms, 2, 1, reason).told("member-1", "revoked", ms + 5, [0])


EVICTED = f"removing member {member_id('member-2')} on heartbeat expiration"
LEFT = f"explicit `LeaveGroup` request for ({member_id('member-2')}) members."
ADDED = f"Adding new member {member_id('member-3')} with group instance id null"


@pytest.mark.parametrize(
    ("kind", "who", "healed_ms", "ms", "broker_did_it"),
    [
        ("freeze-consumer", "member-2", 16_000, 14_000, False),
        ("freeze-consumer", "member-2", 9_000, 16_000, False),  # a session after, and a second
        ("freeze-consumer", "member-2", 9_000, 16_001, True),
        ("kill-consumer", "member-2", None, 24_000, False),
        ("freeze-consumer", "member-1", 16_000, 14_000, True),  # another one was frozen
        ("latency", "broker-1", 16_000, 14_000, True),
    ],
)
def test_the_eviction_of_a_member_with_a_fault_of_its_own_is_not_the_brokers_doing(
    judge: Judge, kind: str, who: str, healed_ms: float | None, ms: float, broker_did_it: bool
) -> None:
    history = group_of("member-1", "member-2").fault(kind, who, 8_000, healed_ms)
    taken(history.says("evicted", ms - 1, "member-2"), ms, EVICTED)
    told(judge, history, broker_did_it)


def told(judge: Judge, history: History, broker_did_it: bool) -> None:
    assert ("HOLDS" if broker_did_it else "VIOLATED") == judge(history, "R11")["verdict"]
    assert ("VIOLATED" if broker_did_it else "HOLDS") == judge(history, "R20d")["verdict"]


@pytest.mark.parametrize(("closing_ms", "broker_did_it"), [(14_000, False), (14_001, True)])
def test_a_member_that_ends_in_order_leaves_by_itself(
    judge: Judge, closing_ms: float, broker_did_it: bool
) -> None:
    history = group_of("member-1", "member-2").told("member-2", "closing", closing_ms)
    told(judge, taken(history.says("left", 13_999, "member-2"), 14_000, LEFT), broker_did_it)


@pytest.mark.parametrize(("added_ms", "broker_did_it"), [(13_999, False), (0, True)])
def test_a_process_joins_for_the_first_time_by_itself(
    judge: Judge, added_ms: float, broker_did_it: bool
) -> None:
    """One that had joined before comes back for a reason, which may be the broker."""
    history = group_of("member-1").says("member_added", added_ms, "member-3")
    history.join("member-3", 14_010, 2)
    told(judge, taken(history, 14_000, ADDED), broker_did_it)


def test_what_follows_from_a_members_own_fault_is_not_the_brokers_doing(judge: Judge) -> None:
    """In a cooperative group who gave something up joins again; another's eviction is no part."""
    history = group_of("member-1", "member-2").fault("freeze-consumer", "member-2", 8_000, 16_000)
    history.says("evicted", 13_999, "member-2")
    history.says("rebalance_started", 14_000, generation=1, reason=EVICTED)
    again = f"Leader {member_id('member-1')} re-joining group during Stable"
    history.says("rebalance_started", 14_010, generation=2, reason=again)
    told(judge, history, broker_did_it=False)
    history.says("rebalance_started", 14_020, reason=EVICTED.replace("member-2", "member-1"))
    told(judge, history, broker_did_it=True)


@pytest.mark.parametrize(("event", "named"), [("evicted", "member-2"), ("left", "member-1")])
def test_an_epoch_has_the_cause_of_the_line_before_it(judge: Judge, event: str, named: str) -> None:
    history = group_of("member-1", "member-2").fault("freeze-consumer", "member-2", 8_000, 16_000)
    history.says(event, 13_999, named).says("epoch_bumped", 14_000, generation=2, reason="x")
    told(judge, history, broker_did_it=named == "member-1")


NOTICED = f"Updating metadata for member {member_id('member-1')} during Stable"


@pytest.mark.parametrize(
    ("ms", "reason", "event", "broker_did_it"),
    [
        (14_000, NOTICED, "rebalance_started", False),
        (19_000, NOTICED, "rebalance_started", False),
        (19_001, NOTICED, "rebalance_started", True),
        (10_998, NOTICED, "rebalance_started", True),
        (14_000, EVICTED, "rebalance_started", True),
        (14_000, "metadata hash 2", "epoch_bumped", False),
        (14_000, "metadata hash 2", "rebalance_started", True),
    ],
)
def test_a_topic_that_grows_meanwhile_is_not_the_brokers_doing(
    judge: Judge, ms: float, reason: str, event: str, broker_did_it: bool
) -> None:
    """At 11 s; members ask for metadata every 5 s."""
    history = group_of("member-1", "member-2").fault("add-partitions", "t", 11_000)
    history.group["metadata_refresh_ms"] = 5_000
    history.says("epoch_bumped", 5_000, generation=1, reason="metadata hash 1")
    history.says(event, ms, generation=2, reason=reason)
    told(judge, history.told("member-1", "revoked", ms + 5, [0]), broker_did_it)


@pytest.mark.parametrize("rule", ["R11", "R20d"])
def test_a_broker_fault_without_effect_is_not_examined(judge: Judge, rule: str) -> None:
    history = History().fault("kill-broker", "broker-3", 10_000, 25_000, took_effect=False)
    assert "UNKNOWN" == judge(history, rule)["verdict"]
    assert "UNKNOWN" == judge(History(), rule)["verdict"]


@pytest.mark.parametrize(
    ("ms", "row", "counts"),
    [
        (10_000, {}, True),
        # From the intent on: who is told to end hands over first.
        (9_999, {}, True),
        (9_998, {}, False),
        (25_000, {}, True),
        (25_001, {}, False),
        (15_000, {**OTHER}, False),
        (15_000, {"event": "epoch_bumped"}, True),
        (15_000, {"event": "stabilized"}, False),
        (15_000, {"event": "epoch_bumped", **OTHER}, False),
    ],
)
def test_a_rebalance_counts_while_the_broker_is_gone(
    judge: Judge, ms: float, row: dict[str, Any], counts: bool
) -> None:
    history = killed().says(ms=ms, **{"event": "rebalance_started", "reason": "x", **row})
    assert ("HOLDS" if counts else "VIOLATED") == judge(history, "R11")["verdict"]
    assert ("VIOLATED" if counts else "HOLDS") == judge(history, "R20d")["verdict"]


@pytest.mark.parametrize(("ms", "counts"), [(40_000, True), (40_001, False)])
def test_a_broker_that_never_comes_back_is_looked_at_for_half_a_minute(
    judge: Judge, ms: float, counts: bool
) -> None:
    history = History().fault("kill-broker", "broker-3", 10_000)
    history.says("rebalance_started", ms, reason="x").says("rebalance_started", ms + 1, reason="y")
    assert ("HOLDS" if counts else "VIOLATED") == judge(history, "R11")["verdict"]
    assert ("VIOLATED" if counts else "HOLDS") == judge(history, "R20d")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "verdict"),
    [
        ("lost", 10_000, "VIOLATED"),
        ("revoked", 25_000, "VIOLATED"),
        ("lost", 9_999, "VIOLATED"),
        ("lost", 9_998, "HOLDS"),
        ("revoked", 25_001, "HOLDS"),
        ("assigned", 15_000, "HOLDS"),
    ],
)
def test_a_callback_counts_while_the_broker_is_gone(
    judge: Judge, event: str, ms: float, verdict: str
) -> None:
    judged = judge(killed().told("member-1", event, ms, [0]), "R20d")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_each_fault_has_its_own_rebalances(judge: Judge) -> None:
    history = killed().rebalance(12_000, 2, 1).fault("kill-broker", "broker-2", 30_000, 40_000)
    history.told("member-1", "lost", 35_000, [0])
    assert (2, 1) == (judge(history, "R11")["examined"], judge(history, "R11")["violations"])
    assert (2, 2) == (judge(history, "R20d")["examined"], judge(history, "R20d")["violations"])


def test_the_first_of_several_rebalances_or_callbacks_is_told(judge: Judge) -> None:
    history = killed().told("member-2", "lost", 16_000, [0]).told("member-1", "lost", 15_000, [0])
    assert "partitions were taken from member-1" == judge(history, "R20d")["rows"][0]["why"]
    history.says("rebalance_started", 13_000, reason="y")
    history.says("rebalance_started", 12_000, reason="x")
    why = "partitions were taken from member-1; logged reason: x"
    assert why == judge(history, "R20d")["rows"][0]["why"]
    assert "logged reason: x" == judge(history, "R11")["rows"][0]["why"]


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


@pytest.mark.parametrize(("frozen", "verdict"), [("member-2", "HOLDS"), ("member-3", "VIOLATED")])
def test_a_member_put_out_for_its_own_fault_is_not_the_failovers_doing(
    judge: Judge, frozen: str, verdict: str
) -> None:
    history = failover().says("member_added", 0, "member-2").join("member-2", 5)
    history.rows["coordinator_events"] = [
        {**row, "members": 2} if row["event"] == "loaded" else row
        for row in history.rows["coordinator_events"]
    ]
    history.heartbeats("member-1", 20_000, 22_000, broker=2)
    history.fault("freeze-consumer", frozen, 9_000, 30_000)
    history.rebalance(20_500, 2, 1, EVICTED, broker=2).told("member-1", "revoked", 20_505, [0])
    (row,) = [row for row in judge(history, "X12")["rows"] if "member-1" in row["subject"]]
    assert (verdict == "HOLDS") == row["ok"]


def test_a_member_that_loses_its_assignment_in_a_failover_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(failover().told("member-1", "lost", 15_150, [0]), "X12")["verdict"]


@pytest.mark.parametrize(("loaded", "violations"), [(3, 0), (2, 0), (1, 2), (None, 0)], ids=str)
def test_the_next_coordinator_loads_all_members_that_were_stored(
    judge: Judge, loaded: int | None, violations: int
) -> None:
    """A member that was given no part by then need not have been stored."""
    history = failover()
    history.rows["coordinator_events"][-1]["members"] = loaded
    for member, answered_ms in (("member-1", 1_000), ("member-2", 1_000), ("member-3", 10_001)):
        history.says("member_added", 0, member).join(member, 5).sync(member, answered_ms)
    assert violations == judge(history, "X12")["violations"]


def test_a_rebalance_right_after_the_load_violates(judge: Judge) -> None:
    history = failover().rebalance(20_000, 2, 1, broker=2)
    assert "VIOLATED" == judge(history, "X12")["verdict"]


@pytest.mark.parametrize(
    ("heard_ms", "timed_out_ms", "verdict"),
    [
        (10_000, 16_000, "HOLDS"),
        (10_051, 16_000, "VIOLATED"),  # its session had not ended
        (10_050, 16_000, "HOLDS"),
        (10_000, 19_099, "HOLDS"),  # the next coordinator was there, and had not answered it
        (10_000, 19_102, "HOLDS"),  # two clocks that round
        (10_000, 19_103, "VIOLATED"),  # that was after all was lost
        (10_000, 9_999, "VIOLATED"),  # that was another matter
    ],
)
def test_a_member_whose_own_session_ends_before_another_coordinator_is_there_gives_up(
    judge: Judge, heard_ms: float, timed_out_ms: float, verdict: str
) -> None:
    history = failover().heartbeats("member-1", heard_ms)
    history.told("member-1", "session_timed_out", timed_out_ms)
    history.told("member-1", "lost", 19_100, [0]).rebalance(19_600, 2, 1, broker=2)
    assert verdict == judge(history, "X12")["verdict"]


@pytest.mark.parametrize(("timed_out_ms", "verdict"), [(14_000, "HOLDS"), (13_999, "VIOLATED")])
def test_a_session_that_ended_long_before_the_failover_is_another_matter(
    judge: Judge, timed_out_ms: float, verdict: str
) -> None:
    """It begins at 20 s; the member was last answered at 2 s."""
    history = History().says("member_added", 0, "member-1").join("member-1", 5).rebalance(1, 1, 1)
    history.heartbeats("member-1", 2_000).fault("kill-broker", "broker-1", 20_000, 40_000)
    history.says("loaded", 29_000, broker=2, members=1)
    history.told("member-1", "session_timed_out", timed_out_ms)
    assert verdict == judge(history.told("member-1", "lost", 25_000, [0]), "X12")["verdict"]


@pytest.mark.parametrize(("timed_out_ms", "verdict"), [(21_002, "HOLDS"), (21_003, "VIOLATED")])
def test_who_keeps_its_part_may_have_timed_out_up_to_two_seconds_after_the_load(
    judge: Judge, timed_out_ms: float, verdict: str
) -> None:
    history = failover().told("member-1", "session_timed_out", timed_out_ms)
    assert verdict == judge(history.rebalance(20_900, 2, 1, broker=2), "X12")["verdict"]


def test_the_first_time_that_its_session_ended_is_told(judge: Judge) -> None:
    history = failover()
    for ms in (16_000, 18_500, 17_000):
        history.told("member-1", "session_timed_out", ms)
    (row,) = judge(history.told("member-1", "lost", 19_100, [0]), "X12")["rows"]
    assert "its own session had ended 3000 ms before the group was loaded" == row["note"]


def test_a_rebalance_is_that_of_a_member_that_gave_up(judge: Judge) -> None:
    history = failover().says("member_added", 0, "member-2").join("member-2", 5)
    history.sync("member-2", 6).rebalance(19_600, 2, 1, broker=2)
    assert 2 == judge(history, "X12")["violations"]
    history.told("member-2", "session_timed_out", 16_000).told("member-2", "lost", 19_100, [0])
    assert "HOLDS" == judge(history, "X12")["verdict"]
    assert 1 == judge(history.told("member-1", "lost", 19_100, [0]), "X12")["violations"]


def test_a_session_may_have_ended_while_the_former_coordinator_still_answered(judge: Judge) -> None:
    """It could write nothing any more, and held heartbeats back."""
    history = History().says("member_added", 0, "member-1").join("member-1", 5).rebalance(1, 1, 1)
    history.heartbeats("member-1", 2_000).heartbeats("member-1", 10_000, error_code=15)
    history.says("unloaded", 10_000).says("loaded", 10_500, broker=2, members=1)
    history.told("member-1", "session_timed_out", 9_990).told("member-1", "lost", 10_600, [0])
    assert "HOLDS" == judge(history, "X12")["verdict"]
    assert "VIOLATED" == judge(history.heartbeats("member-1", 4_041), "X12")["verdict"]


@pytest.mark.parametrize(("done_ms", "verdict"), [(None, "HOLDS"), (9_500, "VIOLATED")])
def test_a_rebalance_that_was_under_way_goes_on(
    judge: Judge, done_ms: float | None, verdict: str
) -> None:
    history = failover().says("rebalance_started", 9_000)
    if done_ms is not None:
        history.says("assignment_received", done_ms)
    assert verdict == judge(history.says("rebalance_started", 19_600, broker=2), "X12")["verdict"]


def test_a_loss_long_after_the_failover_is_another_matter(judge: Judge) -> None:
    assert "HOLDS" == judge(failover().told("member-1", "lost", 22_000, [0]), "X12")["verdict"]


def test_a_coordinator_that_comes_back_keeps_its_members_too(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").heartbeats("member-1", 2_000)
    history.says("loaded", 9_000, members=1)
    assert "HOLDS" == judge(history, "X12")["verdict"]
    assert "VIOLATED" == judge(history.told("member-1", "lost", 9_500, [0]), "X12")["verdict"]


@pytest.mark.parametrize(
    ("ms", "event", "verdict"),
    [
        (19_000, "evicted", "VIOLATED"),  # as it was loaded
        (24_949, "evicted", "VIOLATED"),  # 5,949 ms after the load
        (24_950, "evicted", "HOLDS"),
        (24_949, "left", "HOLDS"),
        (26_000, "evicted", "HOLDS"),  # too late, which is R01's matter
    ],
)
def test_a_session_starts_anew_with_the_next_coordinator(
    judge: Judge, ms: float, event: str, verdict: str
) -> None:
    history = failover().says(event, ms, "member-1", broker=2)
    assert verdict == judge(history, "X12")["verdict"]


def test_without_a_load_x12_is_unknown(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").heartbeats("member-1", 2_000)
    assert "UNKNOWN" == judge(history, "X12")["verdict"]


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (20_000, {}, "VIOLATED"),
        (20_000, {"error_code": 0}, "HOLDS"),
        (19_000, {}, "VIOLATED"),
        (18_999, {}, "HOLDS"),
        (20_000, {"broker": 3}, "HOLDS"),
        (20_000, {"life": 2}, "HOLDS"),
    ],
)
def test_a_member_that_had_its_part_is_known_to_the_next_coordinator(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    refused = {"broker": 2, "error_code": 25, **row}
    history = failover().sync("member-1", 16).heartbeats("member-1", ms, **refused)
    assert verdict == judge(history, "X12")["verdict"]
    history.says("left", min(ms, 19_500), "member-1", broker=2)
    assert "HOLDS" == judge(history, "X12")["verdict"]


@pytest.mark.parametrize(("gone", "row"), [("left", {}), ("loaded", {"broker": 3, "members": 1})])
@pytest.mark.parametrize(("ms", "violations"), [(20_001, 1), (20_000, 0), (19_999, 0)])
def test_a_member_is_known_as_long_as_it_is_there_and_so_is_its_coordinator(
    judge: Judge, gone: str, row: dict[str, Any], ms: float, violations: int
) -> None:
    """It is refused at 20 s, and at `ms` it has left, or a third broker has the group."""
    history = failover().sync("member-1", 16)
    history.heartbeats("member-1", 20_000, broker=2, error_code=25)
    history.says(gone, ms, None if row else "member-1", **{"broker": 2, **row})
    assert violations == judge(history, "X12")["violations"]


def test_the_first_answer_by_which_a_member_is_unknown_is_told(judge: Judge) -> None:
    history = failover().sync("member-1", 16)
    history.request("OFFSET_COMMIT", "member-1", 20_100, broker=2, error_code=25)
    history.heartbeats("member-1", 20_000, broker=2, error_code=25)
    why = "was not known to the next coordinator, by its answer to HEARTBEAT"
    assert why == judge(history, "X12")["rows"][0]["why"]


@pytest.mark.parametrize(
    ("epoch", "answered_ms", "error", "verdict"),
    [
        (1, 9_999, 0, "VIOLATED"),
        (1, 10_000, 0, "HOLDS"),
        (2, 5_000, 0, "VIOLATED"),
        (0, 5_000, 0, "HOLDS"),  # it has joined, and was given nothing that it acknowledged
        (1, 5_000, 110, "HOLDS"),
    ],
)
def test_a_member_of_kip_848_had_its_part_when_it_was_answered_in_an_epoch(
    judge: Judge, epoch: int, answered_ms: float, error: int, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.fault("kill-broker", "broker-1", 10_000, 40_000).says("loaded", 19_000, broker=2)
    api = "CONSUMER_GROUP_HEARTBEAT"
    history.request(api, "member-1", 1, generation=0)
    history.request(api, "member-1", answered_ms, generation=epoch, error_code=error)
    history.request(api, "member-1", 20_000, generation=epoch, broker=2, error_code=25)
    assert verdict == judge(history, "X12")["verdict"]


def test_a_member_that_had_no_part_yet_may_be_forgotten(judge: Judge) -> None:
    history = failover().heartbeats("member-1", 20_000, broker=2, error_code=25)
    assert "HOLDS" == judge(history, "X12")["verdict"]


@pytest.mark.parametrize(
    ("kind", "broker", "ms", "measured"),
    [
        ("kill-broker", "broker-3", 15_000, 9_000),
        ("kill-broker", "broker-1", 19_001, 9_000),
        ("kill-broker", "broker-1", 15_000, 4_000),  # the last of two
        ("kill-broker", "broker-1", 19_000, 0),
        ("latency", "broker-1", 15_000, 9_000),
    ],
)
def test_a_failover_begins_with_the_last_fault_of_the_former_coordinator(
    judge: Judge, kind: str, broker: str, ms: float, measured: float
) -> None:
    history = failover().fault(kind, broker, ms, 50_000)
    assert measured == judge(history, "X12")["measured_max"]


@pytest.mark.parametrize(("loaded_ms", "measured"), [(70_000, 60_000), (70_001, 62_001)])
def test_a_fault_more_than_a_minute_ago_is_not_what_began_it(
    judge: Judge, loaded_ms: float, measured: float
) -> None:
    """Without one, it begins with the last sign that the former coordinator was at work."""
    history = failover()
    history.end_ms = 90_000
    history.rows["coordinator_events"][-1]["at"] = at(loaded_ms)
    assert measured == judge(history, "X12")["measured_max"]


@pytest.mark.parametrize(("members", "examined"), [(1, 1), (None, 1), (0, 0)])
def test_a_group_that_was_loaded_without_members_is_not_examined(
    judge: Judge, members: int | None, examined: int
) -> None:
    history = failover()
    history.rows["coordinator_events"][-1]["members"] = members
    assert examined == judge(history, "X12")["examined"]


@pytest.mark.parametrize(
    ("event", "ms", "examined"),
    [
        ("member_added", 10_000, 1),
        ("member_added", 9_999, 2),
        ("left", 9_999, 1),
        ("left", 10_000, 2),
    ],
)
def test_members_at_a_failover_are_those_when_it_began(
    judge: Judge, event: str, ms: float, examined: int
) -> None:
    history = failover().sync("member-2", 9_999)
    if event == "left":
        history.says("member_added", 5, "member-2")
    assert examined == judge(history.says(event, ms, "member-2"), "X12")["examined"]


@pytest.mark.parametrize(
    ("kind", "whose", "ms", "examined"),
    [
        ("kill-consumer", "member-1", 21_001, 0),  # it is begun a millisecond before
        ("kill-consumer", "member-1", 21_002, 1),
        ("kill-consumer", "member-2", 15_000, 1),
        ("freeze-consumer", "member-1", 15_000, 1),
    ],
)
def test_a_member_that_is_killed_by_then_is_not_examined(
    judge: Judge, kind: str, whose: str, ms: float, examined: int
) -> None:
    assert examined == judge(failover().fault(kind, whose, ms), "X12")["examined"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("lost", 10_000, "member-1", "VIOLATED"),
        ("revoked", 21_000, "member-1", "VIOLATED"),
        ("lost", 9_999, "member-1", "HOLDS"),
        ("lost", 21_001, "member-1", "HOLDS"),
        ("lost", 15_000, "member-2", "HOLDS"),
        ("assigned", 15_000, "member-1", "HOLDS"),
    ],
)
def test_a_member_notices_a_failover_up_to_two_seconds_after_the_load(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    assert verdict == judge(failover().told(member, event, ms, [0]), "X12")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "row", "verdict"),
    [
        ("rebalance_started", 10_000, {}, "VIOLATED"),
        ("epoch_bumped", 21_000, {}, "VIOLATED"),
        ("rebalance_started", 9_999, {}, "HOLDS"),
        ("rebalance_started", 21_001, {}, "HOLDS"),
        ("rebalance_started", 15_000, {**OTHER}, "HOLDS"),
        ("member_id_given", 15_000, {}, "HOLDS"),
    ],
)
def test_a_rebalance_belongs_to_a_failover_up_to_two_seconds_after_the_load(
    judge: Judge, event: str, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = failover().says(event, ms, reason="x", **row)
    assert verdict == judge(history, "X12")["verdict"]


def test_what_the_first_rebalance_or_callback_says_is_told(judge: Judge) -> None:
    def why(history: History) -> str:
        return str(judge(history, "X12")["rows"][0]["why"])

    assert "None" == why(failover())
    rebalanced = failover().says("rebalance_started", 16_000, reason="y")
    rebalanced.says("rebalance_started", 15_000, reason="x")
    assert "had to rebalance; logged reason: x" == why(rebalanced)
    assert "had its assignment lost" == why(rebalanced.told("member-1", "lost", 15_000, [0]))
    assert "had its assignment lost" == why(rebalanced.told("member-1", "revoked", 15_100, [0]))


# R11-idle


def leaderless(until_ms: float | None = 12_000, from_ms: float = 5_000) -> History:
    """member-1 has partition 0, which nobody leads for some seconds, and member-2 the other."""
    history = History()
    for number in (0, 1):
        history.told(f"member-{number + 1}", "assigned", 0, (number,))
    leads(history, 0, 0, 2)
    leads(history, 1, 0, 1)
    leads(history, 0, from_ms, -1)
    leads(history, 0, from_ms + 10, -1)  # something else changed
    if until_ms is not None:
        leads(history, 0, until_ms, 2)
    return history


def leads(history: History, partition: int, ms: float, leader: int, topic: str = "t") -> None:
    history.add(
        "topology", at=at(ms), what="partition", topic=topic, partition=partition, leader=leader
    )


@pytest.mark.parametrize(
    ("ms", "until_ms", "verdict"),
    [
        (4_900, 12_000, "HOLDS"),
        (6_000, 12_000, "HOLDS"),
        (6_001, 12_000, "VIOLATED"),
        (10_999, 12_000, "VIOLATED"),
        (11_000, 12_000, "HOLDS"),  # the observer may have seen its leader late
        (12_000, 12_000, "HOLDS"),
        (30_000, None, "VIOLATED"),
    ],
)
def test_a_partition_without_a_leader_gives_nothing(
    judge: Judge, ms: float, until_ms: float | None, verdict: str
) -> None:
    history = leaderless(until_ms).delivered("member-1", 0, 0, 9, ms)
    history.delivered("member-2", 1, 0, 9, 8_000)
    found = judge(history, "R11-idle")
    assert (verdict, 1) == (found["verdict"], found["examined"])


def test_partitions_that_have_a_leader_soon_are_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(leaderless(7_000), "R11-idle")["verdict"]
    assert "HOLDS" == judge(leaderless(7_001), "R11-idle")["verdict"]


def test_without_a_time_without_a_leader_r11_idle_is_unknown(judge: Judge) -> None:
    history = History()
    leads(history, 0, 0, 2)
    leads(history, 0, 5_000, 1)
    assert "UNKNOWN" == judge(history, "R11-idle")["verdict"]


def test_the_broker_with_the_number_zero_is_a_leader(judge: Judge) -> None:
    history = History()
    for ms, leader in ((0, 0), (5_000, -1), (12_000, 0), (20_000, 2), (30_000, 0)):
        leads(history, 0, ms, leader)
    found = judge(history, "R11-idle")
    assert ["t-0 of nobody"] == [row["subject"] for row in found["rows"]]
    assert [at(5_000)] == [row["at"] for row in found["rows"]]


def test_partitions_of_other_topics_are_not_examined(judge: Judge) -> None:
    history = leaderless()
    leads(history, 1, 0, 2, topic="other")
    leads(history, 1, 5_000, -1, topic="other")
    assert 1 == judge(history, "R11-idle")["examined"]


@pytest.mark.parametrize(
    ("given_ms", "taken_ms", "holder"),
    [
        (5_000, None, "member-1"),
        (5_001, None, "nobody"),
        (0, 5_000, "nobody"),
        (0, 5_001, "member-1"),
        (0, 4_999, "nobody"),
    ],
)
def test_a_partition_is_of_who_held_it_when_its_leader_was_gone(
    judge: Judge, given_ms: float, taken_ms: float | None, holder: str
) -> None:
    """member-2 has another partition, and member-0 had this one before."""
    history = History().told("member-2", "assigned", 0, (1,))
    history.told("member-0", "assigned", -9_000, (0,)).told("member-0", "revoked", -1, (0,))
    history.told("member-1", "assigned", given_ms, (0,))
    if taken_ms is not None:
        history.told("member-1", "revoked", taken_ms, (0,))
    for ms, leader in ((0, 2), (5_000, -1), (12_000, 2)):
        leads(history, 0, ms, leader)
    (row,) = judge(history, "R11-idle")["rows"]
    assert f"t-0 of {holder}" == row["subject"]


def test_of_two_that_hold_a_partition_without_a_leader_one_is_told(judge: Judge) -> None:
    """A zombie does not know yet that it was evicted."""
    history = leaderless().told("member-3", "assigned", 4_000, (0,))
    (row,) = judge(history, "R11-idle")["rows"]
    assert "t-0 of member-1" == row["subject"]


def test_an_answer_on_its_way_as_the_session_ends_is_too_late(judge: Judge) -> None:
    history = failover().heartbeats("member-1", 19_000, broker=2)
    history.told("member-1", "session_timed_out", 19_000).told("member-1", "lost", 19_100, [0])
    assert "HOLDS" == judge(history, "X12")["verdict"]
