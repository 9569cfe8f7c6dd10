from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


def bereft(history: History) -> History:
    """Its coordinator dies at 5 s; broker-2 has the group from 9 s on."""
    history.fault("kill-broker", "broker-1", 5_000, 30_000)
    return history.says("loaded", 9_000, broker=2, members=1)


def asked(history: History, ms: float, broker: int) -> History:
    named = f'{{"coordinator": {broker}}}'
    return history.request("FIND_COORDINATOR", "member-1", ms, broker=3, detail=named)


# R05


def test_a_heartbeat_after_the_lookup_that_named_its_broker_holds(judge: Judge) -> None:
    history = asked(bereft(java()), 9_100, 2).heartbeats("member-1", 9_200, broker=2)
    assert "HOLDS" == judge(history, "R05")["verdict"]


def test_a_heartbeat_to_another_broker_without_a_lookup_violates(judge: Judge) -> None:
    verdict = judge(bereft(java()).heartbeats("member-1", 9_200, broker=2), "R05")
    assert "VIOLATED" == verdict["verdict"]
    assert "without having asked" in verdict["reason"]


@pytest.mark.parametrize("asked_ms", [9_100, 9_200])
def test_a_heartbeat_to_another_broker_than_was_named_violates(
    judge: Judge, asked_ms: float
) -> None:
    """By a lookup before it, or in the same moment."""
    history = asked(bereft(java()), asked_ms, 1).heartbeats("member-1", 9_200, broker=2)
    assert "told of broker-1" in judge(history, "R05")["reason"]


@pytest.mark.parametrize(("asked_ms", "verdict"), [(9_250, "HOLDS"), (9_251, "VIOLATED")])
def test_the_line_of_the_lookup_may_be_as_late_as_the_slack(
    judge: Judge, asked_ms: float, verdict: str
) -> None:
    history = asked(bereft(java()), asked_ms, 2).heartbeats("member-1", 9_200, broker=2)
    assert verdict == judge(history, "R05")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_150, "HOLDS"), (9_151, "VIOLATED")])
def test_an_answer_from_elsewhere_within_the_slack_may_have_come_before(
    judge: Judge, ms: float, verdict: str
) -> None:
    """The member asks several brokers, and one that is cut off from its peers names itself."""
    history = asked(asked(bereft(java()), 9_100, 2), ms, 1)
    history.heartbeats("member-1", 9_200, broker=2)
    judged = judge(history, "R05")
    assert (verdict, "asked 2 times before") == (judged["verdict"], judged["rows"][0]["why"][-20:])


def test_no_heartbeat_between_loss_and_lookup_holds(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_sent", 4_000)
    history.told("member-1", "coordinator_lost", 5_000)
    history.told("member-1", "coordinator_found", 5_200).told("member-1", "heartbeat_sent", 5_201)
    assert "HOLDS" == judge(history, "R05")["verdict"]


def test_a_heartbeat_between_loss_and_lookup_violates(judge: Judge) -> None:
    history = java().told("member-1", "coordinator_lost", 5_000)
    history.told("member-1", "heartbeat_sent", 5_100).told("member-1", "coordinator_found", 5_200)
    verdict = judge(history, "R05")
    assert "VIOLATED" == verdict["verdict"]
    assert 1 == verdict["measured_max"]


def named(history: History, ms: float, broker: int, answered_ms: float, **row: Any) -> History:
    """A lookup that is answered later than it is asked."""
    row = {"detail": f'{{"coordinator": {broker}}}', **row}
    return history.request("FIND_COORDINATOR", "member-1", ms, answered_at=at(answered_ms), **row)


def test_the_last_of_a_members_own_lookups_counts(judge: Judge) -> None:
    """Of those that were answered, from the death to the heartbeat."""
    history = asked(asked(bereft(java()), 5_100, 1), 9_200, 2)
    named(history, 4_999, 1, 9_300)
    named(history, 9_201, 1, 9_300)
    named(history, 9_150, 1, 9_300, error_code=15)
    named(history, 9_150, 1, 9_300, client_id="member-2")
    named(history, 9_150, 1, 9_300, **OTHER)
    history.request(
        "METADATA", "member-1", 9_190, answered_at=at(9_300), detail='{"coordinator":1}'
    )
    history.heartbeats("member-1", 9_200, broker=2).heartbeats("member-1", 9_400, broker=3)
    verdict = judge(history, "R05")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "asked 2 times before" == verdict["rows"][0]["why"]


def test_the_first_heartbeat_to_another_broker_after_the_death_counts(judge: Judge) -> None:
    history = asked(bereft(java()), 9_100, 2).heartbeats("member-1", 4_999, broker=2)
    history.heartbeats("member-1", 5_500).heartbeats("member-1", 9_050, broker=2, **OTHER)
    history.join("member-1", 9_060, 2, broker=2).heartbeats("member-1", 9_200, broker=2)
    verdict = judge(history, "R05")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("kind", "broker", "took_effect", "examined"),
    [
        ("kill-broker", "broker-1", True, 1),
        ("kill-broker", "broker-3", True, 0),
        ("kill-broker", "broker-1", False, 0),
        ("pause-broker", "broker-1", True, 0),
    ],
)
def test_only_a_coordinator_that_was_killed_is_dead(
    judge: Judge, kind: str, broker: str, took_effect: bool, examined: int
) -> None:
    history = java().fault(kind, broker, 5_000, 30_000, took_effect)
    history.says("loaded", 9_000, broker=2).heartbeats("member-1", 9_200, broker=2)
    assert examined == judge(history, "R05")["examined"]


@pytest.mark.parametrize(("loaded_ms", "examined"), [(4_998, 0), (4_999, 0), (5_000, 1)])
def test_the_coordinator_is_the_broker_that_loaded_the_group_last(
    judge: Judge, loaded_ms: float, examined: int
) -> None:
    history = java().fault("kill-broker", "broker-1", 5_000, 30_000)
    history.says("loaded", loaded_ms, broker=3).heartbeats("member-1", 9_200, broker=2)
    assert examined == judge(history, "R05")["examined"]


def test_a_group_may_have_had_another_coordinator_before(judge: Judge) -> None:
    history = java().says("loaded", 0.2, broker=3).says("loaded", 0.4, broker=1)
    verdict = judge(bereft(history).heartbeats("member-1", 9_200, broker=2), "R05")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("ms", "examined"),
    [
        (8_999, 1),  # a session before the kill, so it was no member any more
        (9_000, 2),
        (14_999, 2),  # in the moment of the kill
        (15_000, 1),
    ],
)
def test_who_sent_the_coordinator_a_heartbeat_in_the_session_before_has_lost_it(
    judge: Judge, ms: float, examined: int
) -> None:
    """Other requests keep nobody in the group. Of member-1 the last heartbeat is of 14 s."""
    history = java().heartbeats("member-1", 14_000).heartbeats("member-2", ms)
    history.commit_request("member-2", 14_500, 0, 10)
    history.fault("kill-broker", "broker-1", 15_000, 30_000).says("loaded", 17_000, broker=2)
    for member in ("member-1", "member-2"):
        history.heartbeats(member, 17_100, broker=2)
    assert examined == judge(history, "R05")["examined"]


def test_every_heartbeat_between_a_loss_and_the_next_lookup_counts(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_sent", 4_000)
    for event, ms in (
        ("coordinator_lost", 5_000), ("heartbeat_sent", 5_100), ("coordinator_found", 5_200),
        ("heartbeat_sent", 5_300), ("coordinator_lost", 6_000), ("heartbeat_sent", 6_100),
        ("heartbeat_failed", 6_150), ("heartbeat_sent", 6_200),
    ):  # fmt: skip
        history.told("member-1", event, ms)
    history.told("member-2", "coordinator_found", 5_050).told("member-2", "heartbeat_sent", 6_000)
    verdict = judge(history, "R05")
    assert (1, 3) == (verdict["examined"], verdict["measured_max"])
    assert at(5_000) == verdict["rows"][0]["at"]


# R05-lookup


def test_a_gap_in_which_another_broker_was_gone_too_shows_nothing(judge: Judge) -> None:
    history = asked(asked(bereft(java()), 5_100, 1), 12_000, 2)
    history.heartbeats("member-1", 12_100, broker=2)
    assert "VIOLATED" == judge(history, "R05-lookup")["verdict"]
    history.fault("kill-broker", "broker-2", 5_200, 11_900)
    verdict = judge(history, "R05-lookup")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("gone_ms", "back_ms", "verdict"),
    [
        (5_050, 5_099, "VIOLATED"),
        (5_050, 5_100, "UNKNOWN"),  # back as the gap begins, and gone in the only other one
        (12_001, 13_000, "HOLDS"),  # told to go as it ends
        (12_002, 13_000, "VIOLATED"),
    ],
)
def test_another_broker_that_goes_or_comes_back_with_the_gap_was_gone_in_it(
    judge: Judge, gone_ms: float, back_ms: float, verdict: str
) -> None:
    """It is told to go 1 ms before it is gone; the gap is from 5.1 to 12 s."""
    history = asked(asked(bereft(java()), 5_100, 1), 12_000, 2)
    history.heartbeats("member-1", 12_100, broker=2)
    history.fault("kill-broker", "broker-2", gone_ms, back_ms)
    assert verdict == judge(history, "R05-lookup")["verdict"]


def test_who_never_asks_has_no_gap_between_lookups(judge: Judge) -> None:
    verdict = judge(bereft(java()).heartbeats("member-1", 9_200, broker=2), "R05-lookup")
    assert ("UNKNOWN", 0) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("ms", "lookups"), [(4_999, 2), (5_000, 3), (6_600, 3), (6_601, 2)])
def test_lookups_from_the_kill_to_the_heartbeat_count(
    judge: Judge, ms: float, lookups: int
) -> None:
    """One in the moment in which the broker is told to go, 4,999 ms, was sent before."""
    history = asked(asked(asked(bereft(java()), 5_400, 2), 6_000, 2), ms, 2)
    verdict = judge(history.heartbeats("member-1", 6_600, broker=2), "R05-lookup")
    assert f"longest gap of {lookups} lookups" == verdict["rows"][0]["why"]


def test_lookups_within_the_backoff_hold(judge: Judge) -> None:
    history = bereft(java())
    for ms in (5_100, 6_200, 7_400, 8_600, 9_700):
        asked(history, ms, 2)
    history.heartbeats("member-1", 9_800, broker=2)
    assert "HOLDS" == judge(history, "R05-lookup")["verdict"]


def test_a_member_that_rests_between_lookups_violates(judge: Judge) -> None:
    history = asked(asked(bereft(java()), 5_100, 1), 9_100, 2)
    verdict = judge(history.heartbeats("member-1", 9_200, broker=2), "R05-lookup")
    assert "VIOLATED" == verdict["verdict"]
    assert 4_000 == verdict["measured_max"]


@pytest.mark.parametrize(
    ("times", "ms", "verdict"),
    [
        ((6_500,), 1_500, "HOLDS"),  # from the death
        ((6_501,), 1_501, "VIOLATED"),
        ((5_100, 6_600), 1_500, "HOLDS"),
        ((5_100, 6_601), 1_501, "VIOLATED"),
        ((4_999, 5_100, 6_000, 9_000), 900, "HOLDS"),  # before the death, after the heartbeat
    ],
)
def test_the_longest_gap_counts_from_the_death_to_the_heartbeat(
    judge: Judge, times: tuple[float, ...], ms: float, verdict: str
) -> None:
    history = bereft(java())
    for each in times:
        asked(history, each, 2)
    history.heartbeats("member-1", times[1] if len(times) < 4 and times[1:] else 6_600, broker=2)
    judged = judge(history, "R05-lookup")
    assert (verdict, ms) == (judged["verdict"], judged["measured_max"])


def test_a_member_that_was_not_there_yet_has_lost_no_coordinator(judge: Judge) -> None:
    history = asked(bereft(java()), 5_100, 2).heartbeats("member-1", 5_200, broker=2)
    history.member("member-2").request("FIND_COORDINATOR", "member-2", 90_000, broker=3)
    history.heartbeats("member-2", 90_100, broker=2)
    assert ("HOLDS", 1) == tuple(
        judge(history, "R05-lookup")[key] for key in ("verdict", "examined")
    )


def test_a_kill_may_take_a_while(judge: Judge) -> None:
    """An engine is asked to kill a container, and a busy machine takes its time as well."""
    history = java().fault("kill-broker", "broker-1", 6_000, 30_000, injecting_ms=5_000)
    asked(asked(history.says("loaded", 9_000, broker=2, members=1), 7_300, 2), 8_600, 2)
    history.heartbeats("member-1", 8_700, broker=2)
    verdict = judge(history, "R05-lookup")
    assert ("HOLDS", 1_300) == (verdict["verdict"], verdict["measured_max"])


def test_the_next_gap_counts_from_a_lookup_before_the_kill_was_through(judge: Judge) -> None:
    history = java().fault("kill-broker", "broker-1", 6_000, 30_000, injecting_ms=5_000)
    asked(asked(history.says("loaded", 9_000, broker=2, members=1), 5_500, 2), 7_001, 2)
    verdict = judge(history.heartbeats("member-1", 7_100, broker=2), "R05-lookup")
    assert ("VIOLATED", 1_501) == (verdict["verdict"], verdict["measured_max"])


def test_lookups_of_others_or_for_other_groups_fill_no_gap(judge: Judge) -> None:
    history = asked(bereft(java()), 7_000, 2).heartbeats("member-1", 7_100, broker=2)
    named(named(history, 6_000, 2, 6_000, client_id="member-2"), 6_000, 2, 6_000, **OTHER)
    verdict = judge(history, "R05-lookup")
    assert ("VIOLATED", 2_000) == (verdict["verdict"], verdict["measured_max"])


# R35


def test_heartbeats_with_a_name_at_the_coordinator_hold(judge: Judge) -> None:
    assert "HOLDS" == judge(java(), "R35")["verdict"]


def test_a_heartbeat_without_a_generation_violates(judge: Judge) -> None:
    history = java().heartbeats("member-1", 6_000, generation=-1)
    assert "VIOLATED" == judge(history, "R35")["verdict"]


def test_a_heartbeat_at_another_broker_violates(judge: Judge) -> None:
    history = java().heartbeats("member-1", 6_000, broker=2)
    assert "named broker-1" in judge(history, "R35")["reason"]


def test_a_removed_member_is_refused_and_joins_anew(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1")
    history.heartbeats("member-1", 12_000, error_code=25)
    assert "VIOLATED" == judge(history, "R35")["verdict"]
    assert "HOLDS" == judge(history.join("member-1", 12_100, life=2), "R35")["verdict"]


def dropped(timed_out_ms: float, error_code: int = 25) -> History:
    """A heartbeat without an id at 6 s, after the client's own session has ended."""
    history = History(group={"client": "librdkafka"}).member("member-1")
    asked(history, 0, 1)
    history.heartbeats("member-1", 2_000).told("member-1", "session_timed_out", timed_out_ms)
    return history.heartbeats("member-1", 6_000, member_id=None, error_code=error_code)


def test_an_id_that_librdkafka_dropped_is_refused_and_joins_anew(judge: Judge) -> None:
    assert "did not join anew" in judge(dropped(5_997), "R35")["reason"]
    verdict = judge(dropped(5_997).join("member-1", 6_010, life=2), "R35")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_an_id_stays_dropped_until_the_member_joins_anew(judge: Judge) -> None:
    """The application may be busy for seconds before it can be told that all is lost."""
    history = dropped(3_000).join("member-1", 6_200, life=2)
    assert "HOLDS" == judge(history, "R35")["verdict"]


def test_a_heartbeat_without_an_id_violates_unless_the_client_has_just_dropped_it(
    judge: Judge,
) -> None:
    joined = dropped(3_000).join("member-1", 3_500, life=2)
    for history in (joined, dropped(6_100), dropped(5_997, error_code=0)):
        history.join("member-1", 6_200, life=2)
        assert "VIOLATED" == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(
    ("loaded_ms", "verdict"), [(6_001, "HOLDS"), (5_950, "HOLDS"), (5_949, "VIOLATED")]
)
def test_a_broker_that_loads_the_group_accepts_every_heartbeat(
    judge: Judge, loaded_ms: float, verdict: str
) -> None:
    """GroupCoordinatorService.heartbeat answers so while the coordinator is loading.

    The heartbeat comes at 6 s; that the group is loaded may be on record as early as the slack.
    """
    history = History(group={"client": "librdkafka"}).member("member-1")
    history.says("stabilized", 100, generation=1).says("loaded", loaded_ms, broker=2, members=1)
    asked(history, 0, 1).heartbeats("member-1", 2_000)
    history.told("member-1", "session_timed_out", 5_990)
    asked(history, 5_995, 2).heartbeats("member-1", 6_000, member_id=None, broker=2)
    history.join("member-1", 6_010, life=2, broker=2)
    assert verdict == judge(history, "R35")["verdict"]


def test_a_member_that_has_closed_need_not_join_anew(judge: Judge) -> None:
    history = java().told("member-1", "closing", 9_000).says("left", 9_010, "member-1")
    history.heartbeats("member-1", 9_012, error_code=25)
    assert "HOLDS" == judge(history, "R35")["verdict"]


def test_a_removed_member_that_is_answered_as_one_violates(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1").heartbeats("member-1", 12_000)
    history.join("member-1", 12_100, life=2)
    assert "answered with error 0" in judge(history, "R35")["reason"]


@pytest.mark.parametrize(("error", "verdict"), [(30, "HOLDS"), (16, "HOLDS"), (29, "VIOLATED")])
def test_who_may_not_ask_about_the_group_is_told_nothing_of_its_members(
    judge: Judge, error: int, verdict: str
) -> None:
    history = java().says("evicted", 10_001, "member-1")
    history.heartbeats("member-1", 12_000, error_code=error).join("member-1", 12_100, life=2)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(
    ("ms", "error", "verdict"),
    [
        (10_051, 0, "HOLDS"),  # a line is stamped late, so it may have come before
        (10_051, 27, "HOLDS"),
        (10_052, 0, "VIOLATED"),
        (10_051, 22, "VIOLATED"),
    ],
)
def test_one_that_was_accepted_just_then_may_have_come_before_the_removal(
    judge: Judge, ms: float, error: int, verdict: str
) -> None:
    history = java().says("left", 10_001, "member-1").join("member-1", 12_100, life=2)
    history.heartbeats("member-1", ms, error_code=error)
    assert verdict == judge(history, "R35")["verdict"]


def test_the_last_answered_lookup_by_the_first_heartbeat_names_the_coordinator(
    judge: Judge,
) -> None:
    history = java()
    named(history, 2_000, 1, 2_001)
    named(history, 1_000, 2, 1_000)
    for row in ({"ms": 2_050.5}, {"error_code": 15}, {"client_id": "member-2"}, {**OTHER}):
        named(history, broker=2, answered_ms=3_000, **{"ms": 1_500, **row})
    verdict = judge(history, "R35")
    assert ("HOLDS", 1, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(("ms", "verdict"), [(2_050, "HOLDS"), (2_051, "VIOLATED")])
@pytest.mark.parametrize("before", [True, False])
def test_the_line_of_the_lookup_that_named_it_may_be_late(
    judge: Judge, ms: float, verdict: str, before: bool
) -> None:
    history = java()
    history.rows["requests"] = [
        row for row in history.rows["requests"] if row["api"] != "FIND_COORDINATOR"
    ]
    if before:
        named(history, 1_000, 2, 1_000)
    named(history, ms, 1, ms)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_050, "HOLDS"), (1_051, "VIOLATED")])
def test_of_lookups_that_were_answered_at_nearly_the_same_time_any_may_have_come_last(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = named(java(), 1_000, 1, 1_000)
    named(history, ms, 2, ms)
    assert verdict == judge(history, "R35")["verdict"]


def test_heartbeats_of_another_group_and_other_requests_are_not_examined(judge: Judge) -> None:
    history = java().heartbeats("member-1", 6_000, generation=-1, **OTHER)
    history.request("SYNC_GROUP", "member-1", 6_000, generation=-1)
    verdict = judge(history, "R35")
    assert ("HOLDS", 1, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("generation", "error", "verdict"),
    [
        (1, 0, "HOLDS"),
        (None, 0, "VIOLATED"),
        (0, 22, "HOLDS"),  # no group has that one, so it is refused; but it is one
        (-1, 22, "VIOLATED"),
    ],
)
def test_a_heartbeat_names_a_generation(
    judge: Judge, generation: int | None, error: int, verdict: str
) -> None:
    history = java().heartbeats("member-1", 6_000, generation=generation, error_code=error)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (6_051, {}, "VIOLATED"),
        (6_051, {"error_code": 27}, "VIOLATED"),
        (6_051, {"error_code": 22}, "HOLDS"),
        (6_049, {}, "HOLDS"),
        (6_051, {"generation": 2}, "HOLDS"),
        (6_051, {"generation": 3}, "VIOLATED"),
        (5_940, {"generation": 2}, "VIOLATED"),
        (5_940, {"generation": 2, "processed_at": at(5_949)}, "VIOLATED"),
        (5_940, {"generation": 2, "processed_at": at(5_950)}, "HOLDS"),
        (7_010, {}, "HOLDS"),
        (7_100, {}, "HOLDS"),
    ],
)
def test_a_heartbeat_of_another_generation_is_refused(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    """The group is in generation 2 from 6 s on; its coordinator loads it anew at 7 s."""
    history = java().says("stabilized", 6_000, generation=2, members=1).says("loaded", 7_000)
    history.heartbeats("member-1", ms, **row)
    assert verdict == judge(history, "R35")["verdict"]


def test_the_first_of_those_that_were_accepted_is_told(judge: Judge) -> None:
    history = java().says("stabilized", 6_000, generation=2, members=1)
    history.heartbeats("member-1", 6_100, generation=1).heartbeats("member-1", 6_200, generation=3)
    reason = judge(history, "R35")["reason"]
    assert "2 of its heartbeats were accepted in generation 1, when the group was in 2" in reason


def test_only_the_id_is_accused_that_was_accepted_in_another_generation(judge: Judge) -> None:
    """Its member joins anew under another one."""
    history = java().says("stabilized", 6_000, generation=2, members=1)
    history.heartbeats("member-1", 6_100, generation=1)
    history.heartbeats("member-1", 6_200, generation=2, life=2)
    verdict = judge(history, "R35")
    assert (2, 1) == (verdict["examined"], verdict["violations"])


@pytest.mark.parametrize(
    ("ms", "generation", "synced", "verdict"),
    [
        (7_049, 1, (6_010,), "HOLDS"),
        (7_050, 1, (6_010,), "VIOLATED"),
        (7_050, 3, (6_010,), "VIOLATED"),
        (7_050, 2, (6_010,), "HOLDS"),
        (7_050, 1, (), "HOLDS"),
        # Another member is given its part when the group has been loaded.
        (7_050, 1, (6_010, 7_020), "VIOLATED"),
        (7_050, 1, (7_000,), "HOLDS"),  # it may have been stored by whoever loaded the group
    ],
)
def test_a_coordinator_that_takes_over_knows_the_generation_that_was_stored(
    judge: Judge, ms: float, generation: int, synced: tuple[float, ...], verdict: str
) -> None:
    """The group is in generation 2 from 6 s on; its coordinator loads it anew at 7 s."""
    history = java().says("stabilized", 6_000, generation=2, members=1).says("loaded", 7_000)
    for number, synced_ms in enumerate(synced, start=1):
        history.sync(f"member-{number}", synced_ms, 2)
    history.heartbeats("member-1", ms, generation=generation)
    assert verdict == judge(history, "R35")["verdict"]


def test_a_client_that_is_told_that_its_id_is_unknown_drops_it(judge: Judge) -> None:
    """As librdkafka does while a callback keeps it from joining anew."""
    history = java().says("evicted", 5_000, "member-1")
    history.heartbeats("member-1", 6_000, error_code=25)
    history.heartbeats("member-1", 8_000, error_code=25, member_id=None)
    history.join("member-1", 9_000, 2, life=2)
    assert "HOLDS" == judge(history, "R35")["verdict"]
    history.heartbeats("member-1", 9_500, error_code=25, member_id=None)
    assert "name no member" in judge(history, "R35")["reason"]


def test_a_member_whose_place_was_taken_is_fenced_and_does_not_join_anew(judge: Judge) -> None:
    history = java().says("replaced", 5_000, "member-1")
    fenced = history.heartbeats("member-1", 6_000, error_code=82)
    assert "HOLDS" == judge(fenced, "R35")["verdict"]
    assert "error 25" in judge(fenced.heartbeats("member-1", 7_000, error_code=25), "R35")["reason"]


def test_a_member_that_never_asked_for_its_coordinator_violates(judge: Judge) -> None:
    history = java()
    history.rows["requests"].pop(0)
    assert "had not asked" in judge(history, "R35")["reason"]


@pytest.mark.parametrize(
    ("at_ms", "row", "violations"),
    [
        (12_100, {}, 0),
        (12_000, {}, 1),  # it was under way when the heartbeat came
        (12_100, {"client_id": "member-2"}, 1),
    ],
)
def test_joining_anew_is_its_own_next_join_group(
    judge: Judge, at_ms: float, row: dict[str, Any], violations: int
) -> None:
    history = java().says("evicted", 10_001, "member-1").sync("member-1", 12_050, life=2)
    history.heartbeats("member-1", 12_000, error_code=25).join("member-1", at_ms, life=2, **row)
    verdict = judge(history, "R35")
    assert violations == verdict["violations"]
    whys = [row["why"] for row in verdict["rows"]]
    assert ("joined anew 100 ms later" in whys) is not bool(violations)


def test_of_several_joins_the_next_is_the_one_by_which_it_joins_anew(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1")
    history.heartbeats("member-1", 12_000, error_code=25)
    history.join("member-1", 12_100, life=2).join("member-1", 20_000, 3, life=2)
    assert "joined anew 100 ms later" in [row["why"] for row in judge(history, "R35")["rows"]]


@pytest.mark.parametrize(
    ("ms", "error", "examined"),
    [(10_001, 25, 1), (10_002, 25, 2), *((10_002, elsewhere, 1) for elsewhere in (14, 15, 16))],
)
def test_a_heartbeat_after_the_removal_that_reaches_the_group_is_examined(
    judge: Judge, ms: float, error: int, examined: int
) -> None:
    history = java().says("evicted", 10_001, "member-1").join("member-1", 12_100, life=2)
    history.heartbeats("member-1", ms, error_code=error)
    assert examined == judge(history, "R35")["examined"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("closing", 12_000, "member-1", "HOLDS"),
        ("closing", 18_000, "member-1", "HOLDS"),
        ("closing", 18_001, "member-1", "VIOLATED"),
        ("closing", 9_000, "member-2", "VIOLATED"),
        ("lost", 9_000, "member-1", "VIOLATED"),
    ],
)
def test_only_a_member_that_closes_soon_need_not_join_anew(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = java().says("evicted", 10_001, "member-1").told(member, event, ms)
    history.heartbeats("member-1", 12_000, error_code=25)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(
    ("kind", "member", "ms", "verdict"),
    [
        ("kill-consumer", "member-1", 12_002, "HOLDS"),
        ("kill-consumer", "member-1", 12_001, "VIOLATED"),  # as if it had sent it after its death
        ("kill-consumer", "member-1", 18_002, "VIOLATED"),
        ("kill-consumer", "member-2", 12_002, "VIOLATED"),
        ("freeze-consumer", "member-1", 12_002, "VIOLATED"),
    ],
)
def test_nor_one_that_is_ended_by_a_fault(
    judge: Judge, kind: str, member: str, ms: float, verdict: str
) -> None:
    history = java().says("evicted", 10_001, "member-1").fault(kind, member, ms)
    history.heartbeats("member-1", 12_000, error_code=25)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize(
    ("timed_out_ms", "joined_ms", "row", "verdict"),
    [
        (6_002, 6_200, {}, "HOLDS"),  # stamps are rounded
        (6_003, 6_200, {}, "VIOLATED"),
        (3_000, 3_000, {}, "VIOLATED"),
        (3_000, 6_000, {}, "VIOLATED"),
        (3_000, 2_999, {}, "HOLDS"),
        (3_000, 4_000, {"api": "SYNC_GROUP"}, "HOLDS"),
        (3_000, 4_000, {"client_id": "member-2"}, "HOLDS"),
    ],
)
def test_an_id_is_dropped_from_the_time_out_to_the_members_own_next_join(
    judge: Judge, timed_out_ms: float, joined_ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = dropped(timed_out_ms).told("member-1", "lost", 3_000)
    history.told("member-2", "session_timed_out", 5_000)
    row = {"api": "JOIN_GROUP", **row}
    history.request(row.pop("api"), "member-1", joined_ms, life=2, **row)
    history.join("member-1", 6_300, life=3)
    assert verdict == judge(history, "R35")["verdict"]


@pytest.mark.parametrize("rule", ["R05", "R05-lookup", "R35"])
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]


def test_a_broker_may_load_the_group_while_the_one_before_answers_others(judge: Judge) -> None:
    """Brokers hear of a new leader one after the other; broker-1 answers until it does."""
    history = History(group={"client": "librdkafka"}).member("member-1").member("member-2")
    history.says("stabilized", 100, generation=1).says("loaded", 6_010, broker=2, members=2)
    for member in ("member-1", "member-2"):
        history.request("FIND_COORDINATOR", member, 0, detail='{"coordinator": 1}')
    history.heartbeats("member-1", 2_000).heartbeats("member-2", 6_001)
    history.told("member-1", "session_timed_out", 5_990)
    named = '{"coordinator": 2}'
    history.request("FIND_COORDINATOR", "member-1", 5_995, broker=3, detail=named)
    history.heartbeats("member-1", 6_000, member_id=None, broker=2)
    history.join("member-1", 6_020, life=2, broker=2)
    assert judge(history, "R35")["verdict"] == "HOLDS"
