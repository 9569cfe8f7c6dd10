from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


def java() -> History:
    """One Java member in generation 1, coordinated by broker-1."""
    history = History(group={"client": "java"}).member("member-1", client="java")
    history.request("FIND_COORDINATOR", "member-1", 0, detail='{"coordinator": 1}')
    history.says("member_added", 1, "member-1").join("member-1", 5)
    return history.rebalance(1, 1, 1).heartbeats("member-1", 2_000, 4_000)


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


def test_a_heartbeat_to_another_broker_than_was_named_violates(judge: Judge) -> None:
    history = asked(bereft(java()), 9_100, 1).heartbeats("member-1", 9_200, broker=2)
    assert "told of broker-1" in judge(history, "R05")["reason"]


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
        ((6_399,), 1_400, "HOLDS"),  # from the death
        ((6_400,), 1_401, "VIOLATED"),
        ((5_100, 6_500), 1_400, "HOLDS"),
        ((5_100, 6_501), 1_401, "VIOLATED"),
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


def test_lookups_of_others_or_for_other_groups_fill_no_gap(judge: Judge) -> None:
    history = asked(bereft(java()), 7_000, 2).heartbeats("member-1", 7_100, broker=2)
    named(named(history, 6_000, 2, 6_000, client_id="member-2"), 6_000, 2, 6_000, **OTHER)
    verdict = judge(history, "R05-lookup")
    assert ("VIOLATED", 2_001) == (verdict["verdict"], verdict["measured_max"])


# R06


def test_java_keeps_its_assignment_through_a_silent_session(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000)
    verdict = judge(history, "R06")
    assert "HOLDS" == verdict["verdict"]
    assert "kept its assignment" in verdict["rows"][0]["why"]


def test_java_that_drops_its_assignment_in_the_silence_violates(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000).told("member-1", "lost", 10_200, [0])
    assert "VIOLATED" == judge(history, "R06")["verdict"]


def test_what_the_coordinator_s_answer_takes_away_is_no_violation(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000, error_code=25)
    history.told("member-1", "lost", 12_010, [0])
    assert "HOLDS" == judge(history, "R06")["verdict"]


def test_an_answer_may_be_told_after_what_it_did(judge: Judge) -> None:
    """A coordinator that has just woken up is slow to log."""
    history = java().heartbeats("member-1", 12_000, error_code=25, answered_at=at(12_060))
    history.told("member-1", "lost", 12_010, [0])
    assert "HOLDS" == judge(history, "R06")["verdict"]


def test_a_parked_join_is_no_silence(judge: Judge) -> None:
    history = java().join("member-1", 5_000, generation=2, answered_at=at(14_000))
    assert "UNKNOWN" == judge(history, "R06")["verdict"]


def test_librdkafka_is_taken_at_its_word(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "session_timed_out", 10_000)
    assert "HOLDS" == judge(history, "R06")["verdict"]
    assert "VIOLATED" == judge(history.told("member-1", "lost", 10_010, [0]), "R06")["verdict"]


@pytest.mark.parametrize(("ms", "examined"), [(10_150, 0), (10_151, 1)])
def test_a_silence_is_longer_than_a_session_and_what_java_takes_on_top(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(java().heartbeats("member-1", ms), "R06")["examined"]


@pytest.mark.parametrize("error", [0, 22, 25, 27, 82])
def test_whatever_says_something_of_the_member_ends_a_silence(judge: Judge, error: int) -> None:
    history = java().heartbeats("member-1", 8_000, error_code=error)
    assert "UNKNOWN" == judge(history.heartbeats("member-1", 12_000), "R06")["verdict"]


def test_what_says_nothing_of_the_member_ends_no_silence(judge: Judge) -> None:
    history = java().heartbeats("member-1", 8_000, error_code=16)
    history.heartbeats("member-1", 8_000, **OTHER).heartbeats("member-1", 8_000, member_id=None)
    history.request("OFFSET_FETCH", "member-1", 8_000).heartbeats("member-2", 8_000)
    verdict = judge(history.heartbeats("member-1", 12_000), "R06")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("kind", "whose", "from_ms", "to_ms", "examined"),
    [
        ("isolate", "member-1", 8_001, 9_000, 1),
        ("isolate", "members", 7_000, 8_000, 1),
        ("isolate", "members", 7_000, None, 1),
        ("isolate", "member-1", 8_002, 9_000, 0),
        ("isolate", "member-1", 7_000, 7_999, 0),
        ("isolate", "member-2", 7_000, 9_000, 0),
        ("latency", "member-1", 7_000, 9_000, 0),
    ],
)
def test_an_answer_into_its_isolated_link_ends_no_silence(
    judge: Judge, kind: str, whose: str, from_ms: float, to_ms: float | None, examined: int
) -> None:
    history = java().heartbeats("member-1", 8_000).fault(kind, whose, from_ms, to_ms)
    if to_ms is None:  # never healed
        history.end_ms = 8_000
    history.heartbeats("member-1", 12_000)
    assert examined == judge(history, "R06")["examined"]


@pytest.mark.parametrize(
    ("ms", "member", "event", "verdict"),
    [
        (9_999, "member-1", "lost", "HOLDS"),
        (10_000, "member-1", "lost", "VIOLATED"),
        (11_999, "member-1", "lost", "VIOLATED"),
        (12_000, "member-1", "lost", "HOLDS"),
        (11_000, "member-1", "revoked", "HOLDS"),
        (11_000, "member-2", "lost", "HOLDS"),
    ],
)
def test_java_s_loss_belongs_to_a_silence_from_the_session_s_end_to_the_answer(
    judge: Judge, ms: float, member: str, event: str, verdict: str
) -> None:
    history = java().heartbeats("member-1", 12_000).told(member, event, ms, [0])
    history.told("member-1", "session_timed_out", 10_000)
    judged = judge(history, "R06")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_the_first_loss_in_a_silence_is_measured(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000).told("member-1", "lost", 11_000, [0])
    verdict = judge(history.told("member-1", "lost", 10_200, [1]), "R06")
    assert (1, 200) == (verdict["examined"], verdict["measured_max"])


def test_a_silence_is_java_s_own_where_clients_are_mixed(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000)
    history.rows["members"][0]["client"] = "librdkafka"
    assert "UNKNOWN" == judge(history, "R06")["verdict"]


# R06-java


@pytest.mark.parametrize(
    ("ms", "verdict"), [(10_100, "HOLDS"), (9_900, "VIOLATED"), (10_400, "VIOLATED")]
)
def test_java_gives_its_coordinator_up_when_its_session_ends(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = java().told("member-1", "session_timed_out", ms)
    assert verdict == judge(history, "R06-java")["verdict"]


def test_a_coordinator_found_again_begins_a_new_session(judge: Judge) -> None:
    history = java().told("member-1", "coordinator_found", 7_000)
    history.told("member-1", "session_timed_out", 13_050)
    verdict = judge(history, "R06-java")
    assert "HOLDS" == verdict["verdict"]
    assert 6_050 == verdict["measured_max"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_350, "HOLDS"), (10_351, "VIOLATED")],
)
def test_java_looks_at_its_session_with_its_timer_and_its_poll(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Not longer than 100, 200 and 50 ms on top."""
    history = java().told("member-1", "session_timed_out", ms).told("member-1", "lost", 20_000)
    judged = judge(history, "R06-java")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("api", "error", "renews"),
    [
        ("HEARTBEAT", 0, True),
        ("HEARTBEAT", 27, True),
        ("JOIN_GROUP", 0, True),
        ("HEARTBEAT", 25, False),
        ("OFFSET_COMMIT", 0, False),
    ],
)
def test_heartbeats_and_joins_that_are_accepted_begin_a_new_session(
    judge: Judge, api: str, error: int, renews: bool
) -> None:
    history = java().request(api, "member-1", 5_000, error_code=error)
    history.heartbeats("member-2", 6_000).heartbeats("member-1", 16_000)
    history.told("member-1", "coordinator_lost", 6_000).told("member-2", "coordinator_found", 6_000)
    history.told("member-1", "session_timed_out", 11_100 if renews else 10_100)
    verdict = judge(history, "R06-java")
    assert ("HOLDS", 6_100) == (verdict["verdict"], verdict["measured_max"])
    assert f"since {api if renews else 'HEARTBEAT'}" == verdict["rows"][0]["why"]


def test_a_coordinator_found_in_the_same_moment_counts(judge: Judge) -> None:
    history = java().told("member-1", "coordinator_found", 10_100)
    verdict = judge(history.told("member-1", "session_timed_out", 10_100), "R06-java")
    assert ("VIOLATED", 0) == (verdict["verdict"], verdict["measured_max"])


def test_a_session_of_which_nothing_before_is_on_record_cannot_be_told(judge: Judge) -> None:
    history = History(group={"client": "java"}).member("member-1")
    verdict = judge(history.told("member-1", "session_timed_out", 10_100), "R06-java")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


# R09


def failed() -> History:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    return history.told("member-1", "coordinator_found", 10_500)


def test_a_failed_heartbeat_is_repeated_after_the_backoff(judge: Judge) -> None:
    verdict = judge(failed().told("member-1", "heartbeat_sent", 10_700), "R09")
    assert "HOLDS" == verdict["verdict"]
    assert 200 == verdict["measured_max"]


def test_a_member_that_joins_anew_first_has_nothing_to_repeat(judge: Judge) -> None:
    history = failed().told("member-1", "lost", 11_000, [0])
    history.told("member-1", "heartbeat_sent", 16_000)
    assert "UNKNOWN" == judge(history, "R09")["verdict"]


def test_a_whole_interval_after_a_failed_heartbeat_violates(judge: Judge) -> None:
    verdict = judge(failed().told("member-1", "heartbeat_sent", 12_500), "R09")
    assert "VIOLATED" == verdict["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(11_850, "HOLDS"), (11_851, "VIOLATED")])
def test_a_failed_heartbeat_is_repeated_within_the_longest_backoff_and_a_tick(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(failed().told("member-1", "heartbeat_sent", ms), "R09")["verdict"]


@pytest.mark.parametrize(
    ("api", "row", "examined"),
    [
        ("HEARTBEAT", {"error_code": 14}, 1),
        ("HEARTBEAT", {"error_code": 15}, 1),
        ("HEARTBEAT", {"error_code": 16}, 1),
        ("HEARTBEAT", {"error_code": 27}, 0),
        ("HEARTBEAT", {"error_code": 16, **OTHER}, 0),
        ("JOIN_GROUP", {"error_code": 16}, 0),
    ],
)
def test_a_heartbeat_fails_where_the_group_is_elsewhere(
    judge: Judge, api: str, row: dict[str, Any], examined: int
) -> None:
    history = java().request(api, "member-1", 10_000, **row)
    verdict = judge(history.told("member-1", "heartbeat_sent", 10_300), "R09")
    assert examined == verdict["examined"]
    assert [300] * examined == [row["measured"] for row in verdict["rows"]]


def test_heartbeats_that_fail_together_count_once_and_from_the_last(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    history.told("member-1", "heartbeat_failed", 10_200)
    history.told("member-1", "heartbeat_sent", 10_200.5).told("member-1", "heartbeat_sent", 12_000)
    history.told("member-2", "heartbeat_sent", 10_100).told("member-1", "coordinator_lost", 10_050)
    verdict = judge(history, "R09")
    assert ("HOLDS", 1, 0.5) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_heartbeat_sent_in_the_moment_of_the_failure_is_no_repetition(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    history.told("member-1", "heartbeat_sent", 10_000).told("member-1", "heartbeat_sent", 10_400)
    assert 400 == judge(history, "R09")["measured_max"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "examined"),
    [
        ("lost", 10_001, "member-1", 0),
        ("revoked", 10_300, "member-1", 0),
        ("assigned", 10_700, "member-1", 0),
        ("closing", 10_300, "member-1", 0),
        ("closing", 10_000, "member-1", 1),
        ("closing", 10_701, "member-1", 1),
        ("closing", 10_300, "member-2", 1),
        ("stall_started", 10_300, "member-1", 1),
    ],
)
def test_only_what_comes_between_failure_and_heartbeat_leaves_nothing_to_repeat(
    judge: Judge, event: str, ms: float, member: str, examined: int
) -> None:
    history = failed().told("member-1", "heartbeat_sent", 10_700).told(member, event, ms)
    assert examined == judge(history, "R09")["examined"]


@pytest.mark.parametrize(
    ("found_ms", "member", "measured"),
    [
        (10_600, "member-1", 100),  # the last of two
        (10_700, "member-1", 0),
        (10_701, "member-1", 200),
        (10_600, "member-2", 200),
        (9_999, "member-1", 200),
    ],
)
def test_the_coordinator_found_last_before_the_heartbeat_counts(
    judge: Judge, found_ms: float, member: str, measured: float
) -> None:
    history = failed().told("member-1", "heartbeat_sent", 10_700)
    history.told("member-1", "coordinator_lost", 10_650)
    verdict = judge(history.told(member, "coordinator_found", found_ms), "R09")
    assert (1, measured) == (verdict["examined"], verdict["measured_max"])


# R16


def test_each_removal_with_its_timer_holds(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1")
    assert "HOLDS" == judge(history, "R16")["verdict"]
    left = java().told("member-1", "stall_started", 3_000, duration_ms=90_000.0)
    assert "HOLDS" == judge(left.says("left", 63_001, "member-1"), "R16")["verdict"]
    closed = java().told("member-1", "closing", 5_000).says("left", 5_010, "member-1")
    assert "HOLDS" == judge(closed, "R16")["verdict"]


def test_an_eviction_before_the_session_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(java().says("evicted", 8_000, "member-1"), "R16")["verdict"]


def test_a_member_that_leaves_without_a_reason_violates(judge: Judge) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=20_000.0)
    verdict = judge(history.says("left", 9_000, "member-1"), "R16")
    assert "VIOLATED" == verdict["verdict"]
    assert "no timer" in verdict["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_950, "HOLDS"), (9_949, "VIOLATED")])
def test_an_eviction_needs_a_session_but_for_the_slack(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(java().says("evicted", ms, "member-1"), "R16")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("closing", 9_002, "member-1", "HOLDS"),  # stamps are rounded
        ("closing", 9_003, "member-1", "VIOLATED"),
        ("closing", 8_000, "member-2", "VIOLATED"),
        ("lost", 8_000, "member-1", "VIOLATED"),
    ],
)
def test_who_leaves_has_closed_before(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = java().told(member, event, ms).says("left", 9_000, "member-1")
    assert verdict == judge(history, "R16")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "left_ms", "verdict"),
    [
        (90_000, 62_750, "HOLDS"),
        (90_000, 62_749, "VIOLATED"),
        (60_000, 63_000, "HOLDS"),
        (59_999, 63_000, "VIOLATED"),  # it polls again before
    ],
)
def test_who_leaves_has_not_polled_for_its_longest_interval(
    judge: Judge, duration_ms: float, left_ms: float, verdict: str
) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=duration_ms)
    history.told("member-1", "stall_started", 10_000, duration_ms=90_000.0)
    history.told("member-1", "closing", 70_000).told("member-1", "revoked", 0, duration_ms=9e9)
    judged = judge(history.says("left", left_ms, "member-1"), "R16")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_only_evictions_and_leaves_of_members_that_are_known_are_examined(judge: Judge) -> None:
    history = java().says("left", 9_000, "observer").says("replaced", 9_000, "member-1")
    assert "UNKNOWN" == judge(history, "R16")["verdict"]


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


def test_a_member_that_has_closed_need_not_join_anew(judge: Judge) -> None:
    history = java().told("member-1", "closing", 9_000).says("left", 9_010, "member-1")
    history.heartbeats("member-1", 9_012, error_code=25)
    assert "HOLDS" == judge(history, "R35")["verdict"]


def test_a_removed_member_that_is_answered_as_one_violates(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1").heartbeats("member-1", 12_000)
    history.join("member-1", 12_100, life=2)
    assert "answered with error 0" in judge(history, "R35")["reason"]


def test_the_last_answered_lookup_by_the_first_heartbeat_names_the_coordinator(
    judge: Judge,
) -> None:
    history = java()
    named(history, 2_000, 1, 2_001)
    named(history, 1_000, 2, 1_000)
    for row in ({"ms": 2_000.5}, {"error_code": 15}, {"client_id": "member-2"}, {**OTHER}):
        named(history, broker=2, answered_ms=3_000, **{"ms": 1_500, **row})
    verdict = judge(history, "R35")
    assert ("HOLDS", 1, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_heartbeats_of_another_group_and_other_requests_are_not_examined(judge: Judge) -> None:
    history = java().heartbeats("member-1", 6_000, generation=-1, **OTHER)
    history.request("SYNC_GROUP", "member-1", 6_000, generation=-1)
    verdict = judge(history, "R35")
    assert ("HOLDS", 1, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(("generation", "verdict"), [(0, "HOLDS"), (None, "VIOLATED")])
def test_a_heartbeat_names_a_generation(judge: Judge, generation: int | None, verdict: str) -> None:
    history = java().heartbeats("member-1", 6_000, generation=generation)
    assert verdict == judge(history, "R35")["verdict"]


def test_a_member_that_never_asked_for_its_coordinator_violates(judge: Judge) -> None:
    history = java()
    history.rows["requests"].pop(0)
    assert "it had not asked" in judge(history, "R35")["reason"]


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
    assert ("refused, and it joined anew" in whys) is not bool(violations)


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
        ("closing", 12_001, "member-1", "VIOLATED"),
        ("closing", 9_000, "member-2", "VIOLATED"),
        ("lost", 9_000, "member-1", "VIOLATED"),
    ],
)
def test_only_a_member_that_closes_need_not_join_anew(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = java().says("evicted", 10_001, "member-1").told(member, event, ms)
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


# R36


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(63_080, "HOLDS"), (63_300, "VIOLATED"), (62_900, "HOLDS"), (62_700, "VIOLATED")],
)
def test_a_missed_poll_is_noticed_within_the_thread_s_wait(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=90_000.0)
    history.told("member-1", "max_poll_exceeded", ms)
    assert verdict == judge(history, "R36")["verdict"]


def test_a_missed_poll_without_a_stall_or_of_a_stranger_is_not_examined(judge: Judge) -> None:
    history = java().told("member-1", "max_poll_exceeded", 63_000)
    history.told("observer", "stall_started", 3_000).told("observer", "max_poll_exceeded", 63_000)
    assert "UNKNOWN" == judge(history, "R36")["verdict"]
    assert 0 == judge(history, "R36")["examined"]


def test_a_missed_poll_counts_from_the_members_own_last_stall_and_by_its_own_limit(
    judge: Judge,
) -> None:
    history = java().told("member-1", "stall_started", 1_000).told("member-1", "lost", 4_000)
    history.told("member-1", "stall_started", 3_000).told("member-1", "stall_started", 33_080)
    history.told("member-2", "stall_started", 5_000).told("member-1", "max_poll_exceeded", 33_080)
    history.rows["members"][0]["max_poll_interval_ms"] = 30_000
    verdict = judge(history, "R36")
    assert ("HOLDS", 1, 80) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(62_750, "HOLDS"), (62_749, "VIOLATED"), (63_150, "HOLDS"), (63_151, "VIOLATED")],
)
def test_a_missed_poll_is_noticed_from_an_idle_poll_before_to_a_tick_after(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=90_000.0)
    history.told("member-1", "max_poll_exceeded", ms)
    assert verdict == judge(history, "R36")["verdict"]


@pytest.mark.parametrize(
    "rule", ["R05", "R05-lookup", "R06", "R06-java", "R09", "R16", "R35", "R36"]
)
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]
