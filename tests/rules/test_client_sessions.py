from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


# R06-librdkafka, and R06 of librdkafka


def timed_out(*, lost_ms: float | None, timed_out_ms: float = 10_100) -> History:
    history = History().member("member-1").heartbeats("member-1", 2_000, 4_000)
    history.told("member-1", "session_timed_out", timed_out_ms, duration_ms=6_100.0)
    if lost_ms is not None:
        history.told("member-1", "lost", lost_ms, [0])
    return history


def test_losing_the_assignment_after_a_session_time_out_violates_the_old_rule(judge: Judge) -> None:
    assert "VIOLATED" == judge(timed_out(lost_ms=10_200), "R06")["verdict"]


def test_a_loss_long_after_the_time_out_is_another_matter(judge: Judge) -> None:
    assert "HOLDS" == judge(timed_out(lost_ms=12_000), "R06")["verdict"]


def test_a_loss_told_when_the_blocking_commit_is_answered_is_of_that_time_out(
    judge: Judge,
) -> None:
    """librdkafka tells from poll, and a member that waits for a commit does not poll."""
    history = timed_out(lost_ms=14_600)
    history.asked_commit("member-1", 9_000, 0, 10, answered_at=at(14_500))
    assert "VIOLATED" == judge(history, "R06")["verdict"]
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]


def test_without_a_session_time_out_r06_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().told("member-1", "lost", 5_000, [0]), "R06")["verdict"]


def test_librdkafka_gives_up_half_a_second_after_its_session_at_most(judge: Judge) -> None:
    assert "HOLDS" == judge(timed_out(lost_ms=10_200), "R06-librdkafka")["verdict"]


def test_librdkafka_giving_up_a_second_late_violates(judge: Judge) -> None:
    history = timed_out(lost_ms=11_100, timed_out_ms=11_000)
    assert "VIOLATED" == judge(history, "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("kind", "member", "thawed_ms", "verdict"),
    [
        ("freeze-consumer", "member-1", 15_500, "HOLDS"),
        ("freeze-consumer", "member-1", 15_400, "VIOLATED"),  # more than 500 ms ago
        ("freeze-consumer", "member-2", 15_500, "VIOLATED"),
        ("latency", "member-1", 15_500, "VIOLATED"),
    ],
)
def test_a_process_that_is_stopped_has_its_500_ms_when_it_goes_on(
    judge: Judge, kind: str, member: str, thawed_ms: float, verdict: str
) -> None:
    history = timed_out(lost_ms=16_010, timed_out_ms=16_000).fault(kind, member, 4_500, thawed_ms)
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("frozen_ms", "thawed_ms", "verdict"),
    [
        (3_990, 15_500, "HOLDS"),  # the answer came while it was being stopped
        (4_500, 16_050, "HOLDS"),  # it wrote before it was seen to go on
        (2_000, 3_990, "VIOLATED"),  # over before the answer
        (16_001, 17_000, "HOLDS"),  # from when it is being stopped: 1 ms before
        (16_010, 17_000, "VIOLATED"),  # only after the time-out
    ],
)
def test_a_stop_that_overlaps_the_time_without_an_answer_counts(
    judge: Judge, frozen_ms: float, thawed_ms: float, verdict: str
) -> None:
    history = timed_out(lost_ms=16_010, timed_out_ms=16_000)
    history.fault("freeze-consumer", "member-1", frozen_ms, thawed_ms)
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_librdkafka_keeping_its_assignment_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(timed_out(lost_ms=None), "R06-librdkafka")["verdict"]


def test_answers_into_an_isolated_link_do_not_count(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault("isolate", "members", 4_500, 15_000)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]


def test_without_a_session_time_out_the_librdkafka_rule_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("lost", 10_100, "member-1", "HOLDS"),
        ("lost", 10_099, "member-1", "VIOLATED"),
        ("lost", 11_100, "member-1", "HOLDS"),
        ("lost", 11_101, "member-1", "VIOLATED"),
        ("lost", 10_200, "member-2", "VIOLATED"),
        ("revoked", 10_200, "member-1", "VIOLATED"),
    ],
)
def test_librdkafka_declares_its_own_assignment_lost_within_a_second(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = timed_out(lost_ms=None).told(member, event, ms, [0])
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("how", "asked_ms", "answered_ms", "member", "verdict"),
    [
        ("sync", 10_100, 14_500, "member-1", "HOLDS"),
        ("revoke", 9_000, 14_500, "member-1", "HOLDS"),
        ("interval", 9_000, 14_500, "member-1", "HOLDS"),
        ("async", 9_000, 14_500, "member-1", "VIOLATED"),
        ("sync", 10_101, 14_500, "member-1", "VIOLATED"),
        ("sync", 9_000, 10_050, "member-1", "VIOLATED"),
        ("sync", 9_000, 14_500, "member-2", "VIOLATED"),
    ],
)
def test_that_second_begins_when_the_member_no_longer_waits_for_a_commit(
    judge: Judge, how: str, asked_ms: float, answered_ms: float, member: str, verdict: str
) -> None:
    history = timed_out(lost_ms=15_500).delivered("member-1", 0, 0, 9, 10_000, 12_000)
    history.told("member-1", "closing", 10_150)
    history.asked_commit(member, asked_ms, 0, 10, how=how, answered_at=at(answered_ms))
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_or_works_on_a_batch(judge: Judge) -> None:
    history = timed_out(lost_ms=13_000).told("member-1", "lost", 13_100, [1])
    history.delivered("member-1", 0, 0, 9, 10_100, 12_000)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]
    verdict = judge(history, "R06")
    assert ("VIOLATED", 2_900) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_550, "HOLDS"), (10_551, "VIOLATED")],
)
def test_librdkafka_looks_at_its_session_twice_a_second(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = timed_out(lost_ms=ms, timed_out_ms=ms)
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_only_its_own_answers_before_a_time_out_count(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 10_101)
    history.heartbeats("member-2", 6_000).commit_request("member-1", 7_000, 0, 10)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]
    history.rows["members"].clear()
    verdict = judge(history, "R06-librdkafka")
    assert ("HOLDS", 6_100) == (verdict["verdict"], verdict["measured_max"])
    history.heartbeats("member-1", 10_051)  # one that was answered so late is on its way
    assert 6_100 == judge(history, "R06-librdkafka")["measured_max"]
    history.heartbeats("member-1", 10_050)
    assert 50 == judge(history, "R06-librdkafka")["measured_max"]


def test_a_time_out_without_an_answer_before_it_cannot_be_told(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200)
    history.rows["requests"].clear()
    verdict = judge(history, "R06-librdkafka")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("kind", "whose", "from_ms", "to_ms", "measured"),
    [
        ("isolate", "member-1", 5_001, 6_000, 6_100),  # from when it is being injected
        ("isolate", "members", 4_500, 5_000, 6_100),
        ("isolate", "member-1", 5_002, 6_000, 5_100),
        ("isolate", "member-1", 4_500, 4_999, 5_100),
        ("isolate", "member-2", 4_500, 6_000, 5_100),
        ("latency", "member-1", 4_500, 6_000, 5_100),
    ],
)
def test_an_answer_that_cannot_have_arrived_is_one_into_the_members_isolated_link(
    judge: Judge, kind: str, whose: str, from_ms: float, to_ms: float, measured: float
) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault(kind, whose, from_ms, to_ms)
    assert measured == judge(history, "R06-librdkafka")["measured_max"]


def test_a_link_that_is_never_mended_is_isolated_to_the_end(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault("isolate", "member-1", 4_500)
    assert 6_100 == judge(history, "R06-librdkafka")["measured_max"]


@pytest.mark.parametrize(
    ("answered_ms", "verdict"),
    [
        (6_999, "VIOLATED"),  # heard, so its session ends at 12,999
        (7_000, "HOLDS"),  # while the link was being cut
        (7_300, "HOLDS"),
        (7_349, "HOLDS"),  # a line may be stamped late
        (7_350, "VIOLATED"),  # surely not heard, so it was to end at 10,000
    ],
)
def test_an_answer_while_the_link_is_being_cut_may_have_arrived(
    judge: Judge, answered_ms: float, verdict: str
) -> None:
    ended_ms = answered_ms + 6_100 if verdict == "HOLDS" else 13_600
    history = timed_out(lost_ms=ended_ms + 50, timed_out_ms=ended_ms)
    history.heartbeats("member-1", answered_ms - 1, answered_at=at(answered_ms))
    history.fault("isolate", "member-1", 7_300, 20_000, injecting_ms=7_000)
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_one_that_had_not_arrived_changes_nothing(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 7_100)
    history.fault("isolate", "member-1", 7_300, 20_000, injecting_ms=7_000)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]


def test_the_longest_of_several_doubts_and_of_several_stops_counts(judge: Judge) -> None:
    history = timed_out(lost_ms=13_800, timed_out_ms=13_700)
    history.heartbeats("member-1", 7_050, 7_200)
    history.fault("isolate", "member-1", 7_300, 20_000, injecting_ms=7_000)
    assert 9_750 == judge(history, "R06-librdkafka")["bound_high"]
    for thawed_ms in (14_000, 13_500):
        history.fault("freeze-consumer", "member-1", 12_000, thawed_ms)
    verdict = judge(history, "R06-librdkafka")
    assert ("HOLDS", 10_550) == (verdict["verdict"], verdict["bound_high"])


def test_the_first_loss_after_a_time_out_and_its_longest_note_count(judge: Judge) -> None:
    """It may write twice in one moment."""
    history = timed_out(lost_ms=10_300).told("member-1", "lost", 10_200, [1])
    history.told("member-1", "session_timed_out", 10_100, duration_ms=6_000.0)
    verdict = judge(history, "R06-librdkafka")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "its own log says 6100 ms" == verdict["rows"][0]["why"]
    verdict = judge(history, "R06")
    assert (1, 100) == (verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("api", "error", "renews"),
    [
        ("HEARTBEAT", 27, True),
        ("HEARTBEAT", 22, False),
        ("SYNC_GROUP", 0, True),
        ("SYNC_GROUP", 27, False),
    ],
)
def test_accepted_requests_and_heartbeats_answered_27_begin_a_session_of_librdkafka(
    judge: Judge, api: str, error: int, renews: bool
) -> None:
    ms = 11_100 if renews else 10_100
    history = timed_out(lost_ms=ms + 50, timed_out_ms=ms)
    history.request(api, "member-1", 5_000, error_code=error)
    verdict = judge(history, "R06-librdkafka")
    assert ("HOLDS", 6_100) == (verdict["verdict"], verdict["measured_max"])


def test_nor_does_a_refusal_or_another_member_s(judge: Judge) -> None:
    history = timed_out(lost_ms=13_200, timed_out_ms=13_100)
    history.heartbeats("member-1", 7_100, error_code=25).heartbeats("member-2", 7_100)
    history.commit_request("member-1", 7_100, 0, 10)
    history.fault("isolate", "members", 7_300, 20_000, injecting_ms=7_000)
    assert "VIOLATED" == judge(history, "R06-librdkafka")["verdict"]


# R06 of Java


def test_java_keeps_its_assignment_through_a_silent_session(judge: Judge) -> None:
    history = java().heartbeats("member-1", 12_000)
    verdict = judge(history, "R06")
    assert "HOLDS" == verdict["verdict"]
    assert "8000 ms without an answer" == verdict["rows"][0]["why"]


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


def test_of_two_silences_that_begin_together_the_longer_one_is_told(judge: Judge) -> None:
    """Its former id is refused as its new one is heard, and both again much later."""
    history = java().heartbeats("member-1", 12_000, error_code=25)
    history.join("member-1", 4_000, 2, life=2).heartbeats("member-1", 13_000, life=2)
    verdict = judge(history, "R06")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "9000 ms without an answer" == verdict["rows"][0]["why"]


# R06-java


@pytest.mark.parametrize(
    ("ms", "verdict"), [(10_100, "HOLDS"), (9_900, "VIOLATED"), (10_400, "VIOLATED")]
)
def test_java_gives_its_coordinator_up_when_its_session_ends(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = java().told("member-1", "session_timed_out", ms)
    assert verdict == judge(history, "R06-java")["verdict"]


@pytest.mark.parametrize(
    ("kind", "member", "thawed_ms", "verdict"),
    [
        ("freeze-consumer", "member-1", 15_650, "HOLDS"),
        ("freeze-consumer", "member-1", 15_649, "VIOLATED"),  # more than 350 ms ago
        ("freeze-consumer", "member-1", 16_050, "HOLDS"),  # it wrote before it was seen to go on
        ("freeze-consumer", "member-2", 15_900, "VIOLATED"),
        ("latency", "member-1", 15_900, "VIOLATED"),
    ],
)
def test_a_java_process_that_is_stopped_looks_at_its_session_when_it_goes_on(
    judge: Judge, kind: str, member: str, thawed_ms: float, verdict: str
) -> None:
    history = java().told("member-1", "session_timed_out", 16_000)
    history.fault(kind, member, 4_500, thawed_ms)
    assert verdict == judge(history, "R06-java")["verdict"]


def test_java_may_have_had_an_answer_while_its_link_was_being_cut(judge: Judge) -> None:
    history = java().heartbeats("member-1", 6_000).told("member-1", "session_timed_out", 12_100)
    history.fault("isolate", "member-1", 6_100, 20_000, injecting_ms=5_900)
    verdict = judge(history, "R06-java")
    assert ("HOLDS", 8_100) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("begun_ms", "ended_ms", "verdict"),
    [
        (10_350, 10_350, "HOLDS"),
        (5_000, 14_000, "HOLDS"),
        (5_000, None, "HOLDS"),
        (5_000, 10_349, "VIOLATED"),
        (10_351, 14_000, "VIOLATED"),
    ],
)
def test_a_java_application_that_waits_for_a_commit_holds_its_heartbeats_up(
    judge: Judge, begun_ms: float, ended_ms: float | None, verdict: str
) -> None:
    """The last answer came at 4 s, and the bound ends at 10.35 s."""
    history = java().told("member-1", "session_timed_out", 13_000)
    history.waited_for_commit("member-1", begun_ms, ended_ms)
    found = judge(history, "R06-java")
    assert (verdict, 1) == (found["verdict"], found["examined"])
    assert (verdict == "HOLDS") == ("waited for a commit" in found["reason"])


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


@pytest.mark.parametrize("rule", ["R06", "R06-java"])
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]


# X86

CLASSIC_NOTE = "Discovered group coordinator 127.0.0.1:1 (id: {} rack: null)"
NOTES = (
    (CLASSIC_NOTE, "+{}"),
    (CLASSIC_NOTE, "2147483647-{}"),
    ("Discovered group coordinator Coordinator(key='g', nodeId={}, host='h')", "{}"),
)


def noted(broker: int, ms: float, form: tuple[str, str] = NOTES[0]) -> History:
    """A broker names broker-1 at 10 s, and the client notes that it found this one."""
    history = History(group={"client": "java"}).member("member-1", client="java")
    history.request("FIND_COORDINATOR", "member-1", 10_000, detail='{"coordinator": 1}')
    text, number = form
    shown = str(2_147_483_647 - broker) if "-" in number else number.format(broker)
    return history.told("member-1", "coordinator_found", ms, detail=text.format(shown))


@pytest.mark.parametrize("form", NOTES)
@pytest.mark.parametrize(
    ("broker", "ms", "verdict"),
    [
        (1, 10_010, "HOLDS"),
        (2, 10_010, "VIOLATED"),
        (1, 9_700, "HOLDS"),
        (1, 9_699, "VIOLATED"),
        (1, 16_000, "HOLDS"),
        (1, 16_001, "VIOLATED"),
    ],
)
def test_java_finds_whom_a_broker_named(
    judge: Judge, broker: int, ms: float, verdict: str, form: tuple[str, str]
) -> None:
    assert verdict == judge(noted(broker, ms, form), "X86")["verdict"]


TIMED_OUT = "Group coordinator is unavailable due to cause: session timed out without receiving a"


def gave_up_session(ms: float, detail: str | None = TIMED_OUT) -> History:
    """Its heartbeat at 4 s is answered, and it notes at some moment that its session is over."""
    return java().told("member-1", "coordinator_lost", ms, detail=detail)


@pytest.mark.parametrize(
    ("ms", "detail", "verdict"),
    [
        (9_950, TIMED_OUT, "HOLDS"),
        (9_949, TIMED_OUT, "VIOLATED"),
        (5_000, "coordinator unavailable", "VIOLATED"),
        (5_000, None, "UNKNOWN"),
    ],
)
def test_java_gives_its_coordinator_up_after_a_session(
    judge: Judge, ms: float, detail: str | None, verdict: str
) -> None:
    assert verdict == judge(gave_up_session(ms, detail), "X86")["verdict"]


LOST = "Group coordinator is unavailable due to cause: null. isDisconnected: true."


@pytest.mark.parametrize(
    ("api", "error", "ms", "verdict"),
    [
        *(("HEARTBEAT", error, 29_000, "HOLDS") for error in (14, 15, 16)),
        ("OFFSET_COMMIT", 7, 29_000, "HOLDS"),
        ("HEARTBEAT", 27, 29_000, "VIOLATED"),
        ("HEARTBEAT", 16, 24_000, "HOLDS"),
        ("HEARTBEAT", 16, 23_999, "VIOLATED"),  # a session before
        ("HEARTBEAT", 16, 30_300, "HOLDS"),  # its line may be stamped late
        ("HEARTBEAT", 16, 30_301, "VIOLATED"),
    ],
)
def test_java_gives_up_a_coordinator_that_refused_it(
    judge: Judge, api: str, error: int, ms: float, verdict: str
) -> None:
    history = gave_up_session(30_000, LOST).request(api, "member-1", ms, error_code=error)
    assert verdict == judge(history, "X86")["verdict"]
    other = gave_up_session(30_000, LOST).request(api, "member-2", ms, error_code=error)
    assert "VIOLATED" == judge(other, "X86")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "answered_ms", "verdict"),
    [
        (24_000, 30_000, "HOLDS"),
        (24_001, 30_000, "VIOLATED"),
        (24_000, 29_999, "VIOLATED"),
    ],
)
def test_java_gives_up_a_coordinator_that_lets_it_wait(
    judge: Judge, arrived_ms: float, answered_ms: float, verdict: str
) -> None:
    history = gave_up_session(30_000, LOST)
    history.commit_request("member-1", arrived_ms, 0, 10, answered_at=at(answered_ms))
    assert verdict == judge(history, "X86")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "healed_ms", "verdict"),
    [
        ("kill-broker", "broker-2", 24_000, "HOLDS"),
        ("kill-broker", "broker-2", 23_999, "VIOLATED"),  # a session before
        ("kill-broker", "broker-2", None, "HOLDS"),
        ("connections-reset", "member-1", 25_000, "HOLDS"),
        ("connections-reset", "members", 25_000, "HOLDS"),
        ("connections-reset", "member-2", 25_000, "VIOLATED"),
        ("freeze-consumer", "member-1", 25_000, "HOLDS"),
        ("stall-consumer", "member-1", 25_000, "HOLDS"),
        ("kill-consumer", "member-1", None, "HOLDS"),
        ("start-consumer", "member-1", None, "VIOLATED"),
        ("add-partitions", "t", None, "VIOLATED"),
    ],
)
def test_java_gives_up_a_coordinator_that_it_cannot_reach(
    judge: Judge, kind: str, resolved: str, healed_ms: float | None, verdict: str
) -> None:
    history = gave_up_session(30_000, LOST).fault(kind, resolved, 20_000, healed_ms)
    assert verdict == judge(history, "X86")["verdict"]


@pytest.mark.parametrize(("from_ms", "verdict"), [(30_001, "HOLDS"), (30_002, "VIOLATED")])
def test_a_fault_that_comes_later_does_not_explain_it(
    judge: Judge, from_ms: float, verdict: str
) -> None:
    history = gave_up_session(30_000, LOST).fault("kill-broker", "broker-1", from_ms)
    assert verdict == judge(history, "X86")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "times"),
    [
        ("coordinator_lost", 24_000, 1),  # itself
        ("coordinator_lost", 23_999, 2),
        ("closing", 24_000, 0),
        ("closing", 23_999, 1),
        ("closing", 30_000, 1),
        ("revoked", 29_000, 1),
    ],
)
def test_what_was_given_up_may_be_given_up_again_in_that_session(
    judge: Judge, event: str, ms: float, times: int
) -> None:
    history = gave_up_session(30_000, LOST).told("member-1", event, ms, detail=LOST)
    assert times == judge(history, "X86")["violations"]


@pytest.mark.parametrize(("kind", "verdict"), [("latency", "UNKNOWN"), ("isolate", "UNKNOWN")])
def test_answers_may_be_lost_on_a_disturbed_link(judge: Judge, kind: str, verdict: str) -> None:
    history = gave_up_session(5_000).fault(kind, "member-1", 3_000, 6_000)
    assert verdict == judge(history, "X86")["verdict"]


@pytest.mark.parametrize(
    ("whose", "from_ms", "to_ms", "verdict"),
    [
        ("member-1", 2_000, 3_000, "UNKNOWN"),  # in the session before
        ("member-1", 2_000, 2_999, "VIOLATED"),
        ("member-1", 9_001, 9_500, "UNKNOWN"),  # from when it is being injected: 1 ms before
        ("member-1", 9_002, 9_500, "VIOLATED"),
        ("member-2", 2_000, 9_500, "VIOLATED"),
    ],
)
def test_only_a_disturbance_of_its_own_in_that_session_loses_answers(
    judge: Judge, whose: str, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = gave_up_session(9_000).member("member-2", client="java")
    assert verdict == judge(history.fault("isolate", whose, from_ms, to_ms), "X86")["verdict"]


def test_only_its_own_heartbeats_before_it_speak_against_a_note(judge: Judge) -> None:
    history = gave_up_session(10_000).heartbeats("member-2", 8_000)
    history.commit_request("member-1", 8_000, 0, 10).heartbeats("member-1", 8_000, error_code=25)
    verdict = judge(history.heartbeats("member-1", 10_500), "X86")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    history.heartbeats("member-1", 8_000, error_code=27)
    assert "2000 ms after a heartbeat" in judge(history, "X86")["reason"]


@pytest.mark.parametrize("lacking", ["members", "requests"])
def test_a_note_of_whom_nothing_else_is_known_is_not_examined(judge: Judge, lacking: str) -> None:
    history = gave_up_session(5_000)
    history.rows[lacking].clear()
    assert "UNKNOWN" == judge(history, "X86")["verdict"]
