from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


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


@pytest.mark.parametrize(
    "rule", ["R05", "R05-lookup", "R06", "R06-java", "R09", "R16", "R35", "R36"]
)
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]
