from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]


# R07


def stalled(duration_ms: float, left_ms: float | None, **member: Any) -> History:
    """member-1 stops polling at 1 s; its limit is 8 s."""
    history = History().member("member-1", max_poll_interval_ms=8_000, **member)
    history.says("member_added", 0, "member-1").join("member-1", 5)
    history.told("member-1", "stall_started", 1_000, duration_ms=duration_ms)
    if left_ms is not None:
        history.request("LEAVE_GROUP", "member-1", left_ms)
    return history


def test_leaving_within_half_a_second_of_the_limit_holds(judge: Judge) -> None:
    verdict = judge(stalled(12_000, 9_336), "R07")
    assert "HOLDS" == verdict["verdict"]
    assert 8_336 == verdict["measured_max"]


def test_leaving_a_second_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(stalled(12_000, 10_000), "R07")["verdict"]


def test_leaving_before_the_limit_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(stalled(12_000, 8_000), "R07")["verdict"]


def test_being_evicted_instead_of_leaving_violates(judge: Judge) -> None:
    history = stalled(12_000, None).says("evicted", 9_500, "member-1")
    assert "evicted instead" in judge(history, "R07")["reason"]


def test_a_stall_below_the_limit_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stalled(7_000, None), "R07")["verdict"]


@pytest.mark.parametrize(("client", "verdict"), [("java", "UNKNOWN"), ("librdkafka", "VIOLATED")])
def test_java_leaves_no_group_that_it_is_joining(judge: Judge, client: str, verdict: str) -> None:
    history = stalled(12_000, None).join("member-1", 500, 2, processed_at=at(5_000))
    history.group["client"] = client
    assert verdict == judge(history, "R07")["verdict"]


def test_without_a_stall_r07_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R07")["verdict"]


@pytest.mark.parametrize(
    ("left_ms", "verdict"),
    [(8_749, "VIOLATED"), (8_750, "HOLDS"), (9_550, "HOLDS"), (9_551, "VIOLATED")],
)
def test_leaving_has_an_idle_poll_before_and_a_tick_after_the_limit(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    assert verdict == judge(stalled(12_000, left_ms), "R07")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "member", "examined"),
    [
        (8_000, {}, 0),
        (8_001, {}, 1),
        (12_000, {"instance_id": "member-1"}, 0),
    ],
)
def test_only_dynamic_members_that_stall_beyond_the_limit_are_examined(
    judge: Judge, duration_ms: float, member: dict[str, Any], examined: int
) -> None:
    history = stalled(duration_ms, 9_100, **member)
    history.told("member-1", "stall_ended", 1_000, duration_ms=90_000.0)
    assert examined == judge(history, "R07")["examined"]


@pytest.mark.parametrize(
    ("api", "ms", "row", "measured"),
    [
        ("LEAVE_GROUP", 13_999, {}, 12_999),
        ("LEAVE_GROUP", 14_000, {}, 13_000),
        ("LEAVE_GROUP", 14_001, {}, None),
        ("LEAVE_GROUP", 1_000, {}, None),
        ("LEAVE_GROUP", 1_001, {}, 1),
        ("LEAVE_GROUP", 9_100, {"client_id": "member-2"}, None),
        ("HEARTBEAT", 9_100, {"generation": -1}, None),
        ("CONSUMER_GROUP_HEARTBEAT", 9_100, {"generation": -1}, 8_100),
        ("CONSUMER_GROUP_HEARTBEAT", 9_100, {"generation": 0}, None),
    ],
)
def test_a_member_leaves_by_its_own_request_from_its_stall_to_a_second_after(
    judge: Judge, api: str, ms: float, row: dict[str, Any], measured: float | None
) -> None:
    history = stalled(12_000, None).request(api, "member-1", ms, **row)
    verdict = judge(history, "R07")
    assert (1, measured) == (verdict["examined"], verdict["measured_max"])


def test_the_first_of_two_leaves_counts(judge: Judge) -> None:
    history = stalled(12_000, 9_100).request("LEAVE_GROUP", "member-1", 10_500)
    assert ("HOLDS", 8_100) == (
        judge(history, "R07")["verdict"], judge(history, "R07")["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize(("life", "verdict"), [(1, "VIOLATED"), (2, "HOLDS")])
def test_of_two_leaves_the_first_tells_which_id_must_not_be_evicted(
    judge: Judge, life: int, verdict: str
) -> None:
    history = stalled(12_000, 9_100).request("LEAVE_GROUP", "member-1", 10_500, life=2)
    history.says("evicted", 12_000, "member-1", life=life)
    assert verdict == judge(history, "R07")["verdict"]


@pytest.mark.parametrize(
    ("ms", "member", "life", "verdict"),
    [
        (1_000, "member-1", 1, "HOLDS"),
        (1_001, "member-1", 1, "VIOLATED"),
        (20_000, "member-1", 1, "VIOLATED"),
        (20_001, "member-1", 1, "HOLDS"),  # it was back under its id, as in KIP-848
        (20_000, "member-1", 2, "HOLDS"),  # it was back under another id
        (9_000, "member-2", 1, "HOLDS"),
    ],
)
def test_an_eviction_after_the_stall_and_of_that_id_is_instead_of_leaving(
    judge: Judge, ms: float, member: str, life: int, verdict: str
) -> None:
    history = stalled(12_000, 9_100).says("evicted", ms, member, life=life)
    assert verdict == judge(history, "R07")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "examined"),
    [
        ("kill-consumer", "member-1", 5_000, None, 0),
        ("kill-consumer", "member-1", 9_501, None, 0),
        ("kill-consumer", "member-1", 9_502, None, 1),  # it had to have left by then
        ("kill-consumer", "member-1", 1_000, None, 1),
        ("kill-consumer", "member-1", 1_001, None, 0),  # as it stalled
        ("kill-consumer", "member-2", 5_000, None, 1),
        ("close-consumer", "member-1", 5_000, None, 0),
        ("freeze-consumer", "member-1", 5_000, 15_000, 0),
        ("freeze-consumer", "member-1", 500, 999, 1),
        ("freeze-consumer", "member-1", 500, 1_000, 0),
        ("freeze-consumer", "member-2", 5_000, 15_000, 1),
        ("isolate", "members", 9_501, 15_000, 0),
        ("isolate", "members", 9_502, 15_000, 1),
        ("kill-broker", "broker-1", 5_000, 15_000, 0),
    ],
)
def test_who_is_stopped_cut_off_or_ended_before_the_limit_cannot_leave(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float | None, examined: int
) -> None:
    history = stalled(20_000, None).fault(kind, resolved, from_ms, to_ms).member("member-2")
    assert examined == judge(history, "R07")["examined"]


# R18 and R34


def slow(*heartbeats: float) -> History:
    """member-1 processes for 16 s from 1 s on, with a session of 6 s and 60 s between polls."""
    history = History().member("member-1").says("member_added", 0, "member-1").join("member-1", 5)
    history.told("member-1", "stall_started", 1_000, duration_ms=16_000.0)
    return history.heartbeats("member-1", *heartbeats)


def test_staying_in_the_group_while_slow_violates_the_old_rule(judge: Judge) -> None:
    assert "VIOLATED" == judge(slow(), "R18")["verdict"]


def test_being_dropped_while_slow_is_what_the_old_rule_says(judge: Judge) -> None:
    assert "HOLDS" == judge(slow().says("evicted", 8_000, "member-1"), "R18")["verdict"]


def test_a_stall_below_the_session_says_nothing_of_slow_members(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "stall_started", 0, duration_ms=5_000.0)
    assert "UNKNOWN" == judge(history, "R18")["verdict"]
    assert "UNKNOWN" == judge(history, "R34")["verdict"]


@pytest.mark.parametrize(
    ("killed_ms", "member", "examined", "verdict"),
    [
        (8_000, "member-1", 1, "HOLDS"),  # its heartbeats ended with it
        (6_999, "member-1", 0, "UNKNOWN"),  # before the session would have ended
        (1_001, "member-1", 0, "UNKNOWN"),
        (8_000, "member-2", 1, "VIOLATED"),
    ],
)
def test_a_stall_ends_with_its_process(
    judge: Judge, killed_ms: float, member: str, examined: int, verdict: str
) -> None:
    history = slow(2_000, 4_000, 6_000, 7_500).fault("kill-consumer", member, killed_ms)
    history.fault("kill-consumer", member, 30_000)  # the process that took its place
    judged = judge(history, "R34")
    assert (examined, verdict) == (judged["examined"], judged["verdict"])
    assert examined == judge(history, "R18")["examined"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "examined"),
    [
        ("freeze-consumer", "member-1", 5_000, 12_000, 0),
        ("freeze-consumer", "member-2", 5_000, 12_000, 1),
        ("kill-broker", "broker-1", 5_000, 12_000, 0),
        ("kill-broker", "broker-1", 17_001, 20_000, 0),
        ("kill-broker", "broker-1", 17_002, 20_000, 1),
        ("isolate", "members", 500, 999, 1),
        ("isolate", "members", 500, 1_000, 0),
    ],
)
def test_heartbeats_that_a_fault_holds_up_say_nothing_of_the_stall(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float, examined: int
) -> None:
    history = slow().member("member-2").fault(kind, resolved, from_ms, to_ms)
    assert examined == judge(history, "R34")["examined"]


def test_heartbeats_that_go_on_while_slow_hold(judge: Judge) -> None:
    history = slow(*range(500, 18_001, 2_000))
    assert "HOLDS" == judge(history, "R34")["verdict"]


def test_a_heartbeat_in_the_last_moment_of_a_stall_is_one_of_it(judge: Judge) -> None:
    verdict = judge(slow(*range(1_000, 19_001, 2_000)), "R34")
    assert "HOLDS" == verdict["verdict"]
    assert "9 heartbeats while nothing was polled" == verdict["rows"][0]["why"]


def test_a_heartbeat_missing_while_slow_violates(judge: Judge) -> None:
    history = slow(500, 2_500, 6_500, 8_500, 10_500, 12_500, 14_500, 16_500)
    assert "VIOLATED" == judge(history, "R34")["verdict"]


@pytest.mark.parametrize(
    ("process", "to_ms", "verdict"),
    [
        ("member-1", 4_000, "UNKNOWN"),
        ("toxiproxy", 4_000, "UNKNOWN"),
        ("producer-1", 4_000, "VIOLATED"),
        ("member-1", 2_499, "VIOLATED"),  # before the heartbeat that was the last for 4 s
        ("member-1", 9_000, "VIOLATED"),  # after the next one
    ],
)
def test_who_waited_meanwhile_may_be_why_a_heartbeat_is_missing_while_slow(
    judge: Judge, process: str, to_ms: float, verdict: str
) -> None:
    history = slow(500, 2_500, 6_500, 8_500, 10_500, 12_500, 14_500, 16_500)
    history.waited(process, to_ms - 2_000, to_ms, 1_900)
    assert verdict == judge(history, "R34")["verdict"]


def test_no_heartbeat_at_all_while_slow_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(slow(), "R34")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "row", "examined"),
    [
        (6_000, {}, 0),
        (6_001, {}, 1),
        (59_999, {}, 1),
        (60_000, {}, 0),
    ],
)
@pytest.mark.parametrize("rule", ["R18", "R34"])
def test_slow_is_a_stall_between_a_session_and_the_longest_interval(
    judge: Judge, rule: str, duration_ms: float, row: dict[str, Any], examined: int
) -> None:
    history = History().member("member-1", **row).heartbeats("member-1", 500)
    history.told("member-1", "stall_started", 1_000, duration_ms=duration_ms)
    history.told("member-1", "stall_ended", 1_000, duration_ms=20_000.0)
    assert examined == judge(history, rule)["examined"]


@pytest.mark.parametrize(
    ("ms", "member", "verdict"),
    [
        (1_000, "member-1", "HOLDS"),
        (999, "member-1", "VIOLATED"),
        (17_050, "member-1", "HOLDS"),
        (17_051, "member-1", "VIOLATED"),
        (8_000, "member-2", "VIOLATED"),
    ],
)
def test_being_dropped_while_slow_is_so_from_the_stall_to_its_end(
    judge: Judge, ms: float, member: str, verdict: str
) -> None:
    assert verdict == judge(slow().says("evicted", ms, member), "R18")["verdict"]


def test_the_first_of_two_removals_is_measured(judge: Judge) -> None:
    history = slow().says("evicted", 8_000, "member-1").says("left", 12_000, "member-1", life=2)
    assert 7_000 == judge(history, "R18")["measured_max"]


@pytest.mark.parametrize(
    ("last_ms", "missing_ms", "verdict"),
    [
        (14_450, 0, "HOLDS"),
        (14_449, 0, "VIOLATED"),
        (16_500, 2_550, "HOLDS"),
        (16_500, 2_551, "VIOLATED"),
    ],
)
def test_the_longest_gap_in_a_stall_counts_and_the_one_to_its_end(
    judge: Judge, last_ms: int, missing_ms: int, verdict: str
) -> None:
    times = list(range(500, last_ms, 500))
    history = slow(*(ms for ms in times if not 6_000 < ms < 6_000 + missing_ms), last_ms)
    if missing_ms:
        history.heartbeats("member-1", 6_000 + missing_ms)
    assert verdict == judge(history, "R34")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"error_code": 27}, "HOLDS"),
        ({"error_code": 25}, "VIOLATED"),
        ({"client_id": "member-2"}, "VIOLATED"),
    ],
)
def test_only_its_own_heartbeats_that_are_accepted_fill_a_stall(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = slow(500).heartbeats("member-1", *range(2_500, 16_501, 2_000), **row)
    history.heartbeats("member-1", 17_001)
    assert verdict == judge(history, "R34")["verdict"]


# R36


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (63_080, "HOLDS"),
        (63_300, "VIOLATED"),
        (62_900, "HOLDS"),
        (62_700, "VIOLATED"),
        (62_750, "HOLDS"),
        (62_749, "VIOLATED"),
        (63_150, "HOLDS"),
        (63_151, "VIOLATED"),
    ],
)
def test_a_missed_poll_is_noticed_from_an_idle_poll_before_to_a_tick_after(
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


@pytest.mark.parametrize("rule", ["R36"])
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]


# R07-reason

CLOSED, NOT_POLLED = "the consumer is being closed", "consumer poll timeout has expired."


def leaving(reason: str, closing_ms: float | None, limit_ms: float = 9_990) -> History:
    """member-1 leaves at 10 s for a reason, and is told to close at some moment, or never.

    It says at some moment that its poll limit is over.
    """
    history = History(group={"client": "java"}).member("member-1")
    history.told("member-1", "max_poll_exceeded", limit_ms)
    history.says("member_added", 0, "member-1").join("member-1", 5)
    if closing_ms is not None:
        history.told("member-1", "closing", closing_ms)
    return history.says("left", 10_000, "member-1", reason=reason)


@pytest.mark.parametrize(
    ("reason", "closing_ms", "verdict"),
    [
        (CLOSED, 9_990, "HOLDS"),
        (CLOSED, 10_050, "HOLDS"),
        (CLOSED, 10_051, "VIOLATED"),
        (CLOSED, None, "VIOLATED"),
        (CLOSED, 0, "HOLDS"),
        (CLOSED, -1, "VIOLATED"),  # of a membership before
        (NOT_POLLED, None, "HOLDS"),
        (NOT_POLLED, 30_000, "HOLDS"),
        (NOT_POLLED, 9_951, "HOLDS"),
        (NOT_POLLED, 9_950, "VIOLATED"),
        ("not provided", 9_990, "VIOLATED"),
    ],
)
def test_a_java_member_says_why_it_leaves(
    judge: Judge, reason: str, closing_ms: float | None, verdict: str
) -> None:
    found = judge(leaving(reason, closing_ms), "R07-reason")
    assert (verdict, 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("reason", "limit_ms", "verdict"),
    [
        (NOT_POLLED, 10_050, "HOLDS"),
        (NOT_POLLED, 10_051, "VIOLATED"),
        (NOT_POLLED, -1, "VIOLATED"),  # of a membership before
        (NOT_POLLED, 0, "HOLDS"),
        (CLOSED, 10_051, "HOLDS"),
    ],
)
def test_who_leaves_for_its_poll_limit_has_said_that_it_is_over(
    judge: Judge, reason: str, limit_ms: float, verdict: str
) -> None:
    closing_ms = 9_990 if reason == CLOSED else None
    history = leaving(reason, closing_ms, limit_ms)
    assert verdict == judge(history, "R07-reason")["verdict"]


def test_who_does_not_leave_gives_no_reason(judge: Judge) -> None:
    history = leaving(CLOSED, None)
    history.rows["coordinator_events"][-1]["event"] = "evicted"
    assert "UNKNOWN" == judge(history, "R07-reason")["verdict"]
    modern = leaving("Member 7 left the consumer group", 9_990)
    assert "UNKNOWN" == judge(modern, "R07-reason")["verdict"]


def test_each_that_leaves_is_examined_once_whoever_else_is_there(judge: Judge) -> None:
    history = leaving(CLOSED, 9_990).says("member_added", 5_000, "member-2")
    history.says("member_added", 10_000, "member-3").told("member-3", "closing", 10_000)
    history.says("left", 10_000, "member-3", reason=CLOSED)  # in the moment that it came
    verdict = judge(history, "R07-reason")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_member_of_which_no_join_is_on_record_is_not_examined(judge: Judge) -> None:
    history = History(group={"client": "java"}).says("left", 10_000, "member-1", reason=CLOSED)
    assert 0 == judge(history, "R07-reason")["examined"]


# X78


@pytest.mark.parametrize(
    ("ms", "verdict"), [(60_750, "HOLDS"), (60_749, "VIOLATED"), (70_000, "HOLDS")]
)
def test_a_client_gives_up_when_its_limit_is_over(judge: Judge, ms: float, verdict: str) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 1_000)
    history.told("member-1", "max_poll_exceeded", ms).delivered("member-1", 0, 10, 19, 80_000)
    assert verdict == judge(history, "X78")["verdict"]


def test_the_limit_of_the_member_counts(judge: Judge) -> None:
    history = History().member("member-1", max_poll_interval_ms=10_000)
    history.delivered("member-1", 0, 0, 9, 1_000).delivered("member-2", 0, 10, 19, 9_000)
    history.told("member-1", "max_poll_exceeded", 11_000)
    assert "HOLDS" == judge(history, "X78")["verdict"]


def test_a_poll_limit_counts_from_the_last_of_the_members_own_polls(judge: Judge) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 1_000)
    history.delivered("member-1", 0, 10, 19, 5_000).told("member-1", "max_poll_exceeded", 61_500)
    verdict = judge(history, "X78")
    assert ("VIOLATED", 56_500) == (verdict["verdict"], verdict["measured_max"])


def test_who_has_polled_nothing_or_is_no_member_of_the_run_is_not_examined(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "max_poll_exceeded", 61_500)
    history.delivered("stranger", 0, 0, 9, 1_000).told("stranger", "max_poll_exceeded", 61_500)
    assert 0 == judge(history, "X78")["examined"]


def test_nobody_that_gives_up_leaves_x78_unknown(judge: Judge) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 1_000)
    assert "UNKNOWN" == judge(history, "X78")["verdict"]


# X85


def beyond(*said_ms: float, duration_ms: float = 12_000) -> History:
    """member-1 stops polling at 1 s for so long, with a limit of 8 s, and says so at moments."""
    history = History().member("member-1", max_poll_interval_ms=8_000)
    history.told("member-1", "stall_started", 1_000, duration_ms=duration_ms)
    for ms in said_ms:
        history.told("member-1", "max_poll_exceeded", ms)
    return history


@pytest.mark.parametrize(
    ("said_ms", "verdict"),
    [
        ([9_300], "HOLDS"),
        ([13_050], "HOLDS"),  # when it polls again
        ([13_051], "VIOLATED"),
        ([999], "VIOLATED"),
        ([], "VIOLATED"),
    ],
)
def test_a_client_says_that_its_limit_is_over(
    judge: Judge, said_ms: list[float], verdict: str
) -> None:
    assert verdict == judge(beyond(*said_ms), "X85")["verdict"]


def test_what_another_member_says_is_of_its_own_limit(judge: Judge) -> None:
    history = beyond().told("member-2", "max_poll_exceeded", 9_300)
    assert "VIOLATED" == judge(history, "X85")["verdict"]


@pytest.mark.parametrize(("duration_ms", "examined"), [(8_550, 0), (8_551, 1)])
def test_a_stall_up_to_a_tick_past_the_limit_says_nothing(
    judge: Judge, duration_ms: float, examined: int
) -> None:
    assert examined == judge(beyond(duration_ms=duration_ms), "X85")["examined"]


@pytest.mark.parametrize(
    ("kind", "ms", "verdict"),
    [
        ("kill-consumer", 9_000, "UNKNOWN"),
        ("kill-consumer", 14_000, "VIOLATED"),
        ("kill-consumer", 13_051, "UNKNOWN"),  # it was killed from a millisecond before on
        ("kill-consumer", 13_052, "VIOLATED"),
        ("kill-consumer", 1_001, "UNKNOWN"),
        ("kill-consumer", 1_000, "VIOLATED"),
        ("close-consumer", 9_000, "UNKNOWN"),
        ("freeze-consumer", 9_000, "VIOLATED"),
    ],
)
def test_a_process_that_ended_says_nothing_any_more(
    judge: Judge, kind: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(beyond().fault(kind, "member-1", ms), "X85")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "client", "verdict"),
    [
        (999, "java", "UNKNOWN"),  # its heartbeat thread sleeps until the next poll
        (1_000, "java", "UNKNOWN"),
        (999, "librdkafka", "VIOLATED"),
        (1_001, "java", "VIOLATED"),
    ],
)
def test_java_says_nothing_while_its_join_waits(
    judge: Judge, joined_ms: float, client: str, verdict: str
) -> None:
    history = beyond().join("member-1", joined_ms, processed_at=at(joined_ms + 5_000))
    history.group["client"] = client
    assert verdict == judge(history, "X85")["verdict"]


@pytest.mark.parametrize(("client", "verdict"), [("java", "UNKNOWN"), ("librdkafka", "VIOLATED")])
def test_java_says_nothing_while_its_coordinator_is_gone(
    judge: Judge, client: str, verdict: str
) -> None:
    history = beyond().fault("isolate", "member-1", 8_000, 20_000)
    history.group["client"] = client
    assert verdict == judge(history, "X85")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "verdict"),
    [
        ("isolate", "member-1", 500, 999, "VIOLATED"),
        ("isolate", "member-1", 500, 1_000, "UNKNOWN"),
        ("isolate", "member-1", 9_101, 20_000, "UNKNOWN"),
        ("isolate", "member-1", 9_102, 20_000, "VIOLATED"),  # it had to say so by then
        ("isolate", "member-2", 5_000, 20_000, "VIOLATED"),
        ("kill-broker", "broker-1", 5_000, 20_000, "UNKNOWN"),
    ],
)
def test_java_has_no_coordinator_while_its_link_or_a_broker_is_broken(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = beyond().member("member-2").fault(kind, resolved, from_ms, to_ms)
    history.group["client"] = "java"
    assert verdict == judge(history, "X85")["verdict"]


# X99


def too_slow(lost_ms: float | None = 14_000) -> History:
    """member-1 is past its limit at 9 s, and hears of it when it polls again, or never."""
    history = History().member("member-1", max_poll_interval_ms=8_000).member("member-2")
    history.told("member-1", "max_poll_exceeded", 9_000)
    return history if lost_ms is None else history.told("member-1", "lost", lost_ms, [0])


@pytest.mark.parametrize(
    ("polled_ms", "records", "verdict"),
    [
        (9_000, 0, "HOLDS"),
        (9_001, 10, "VIOLATED"),
        (13_999, 10, "VIOLATED"),
        (14_000, 0, "HOLDS"),
    ],
)
def test_who_was_too_slow_hears_that_it_is_out_before_it_is_handed_a_record(
    judge: Judge, polled_ms: float, records: int, verdict: str
) -> None:
    history = too_slow().delivered("member-1", 0, 0, 9, polled_ms)
    found = judge(history.delivered("member-2", 1, 0, 9, 9_500), "X99")
    assert (verdict, 1, records) == (found["verdict"], found["examined"], found["measured_max"])


@pytest.mark.parametrize("event", ["lost", "revoked", "closing"])
def test_it_may_hear_of_it_by_any_callback_or_close(judge: Judge, event: str) -> None:
    history = too_slow(None).told("member-1", event, 12_000)
    history.delivered("member-1", 0, 0, 9, 12_500)
    assert "HOLDS" == judge(history, "X99")["verdict"]


@pytest.mark.parametrize(
    ("api", "generation", "verdict"),
    [
        ("JOIN_GROUP", -1, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 0, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", 3, "VIOLATED"),
        ("HEARTBEAT", 3, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("member", ["member-1", "member-2"])
def test_who_has_joined_again_is_in_the_group(
    judge: Judge, member: str, api: str, generation: int, verdict: str
) -> None:
    history = too_slow(None).request(api, member, 12_000, generation=generation)
    history.delivered("member-1", 0, 0, 9, 12_500)
    wanted = verdict if member == "member-1" else "VIOLATED"
    assert wanted == judge(history, "X99")["verdict"]


def test_a_second_limit_is_examined_as_well(judge: Judge) -> None:
    history = too_slow().told("member-1", "max_poll_exceeded", 30_000)
    history.told("member-1", "lost", 33_000, [0]).delivered("member-1", 0, 0, 9, 32_000)
    found = judge(history, "X99")
    assert ("VIOLATED", 2) == (found["verdict"], found["examined"])
    assert "in 1 polls, from 2000 ms to 2000 ms after its limit" in found["reason"]


def test_without_a_member_that_was_too_slow_x99_is_unknown(judge: Judge) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 12_500)
    assert "UNKNOWN" == judge(history, "X99")["verdict"]


# X104


def joins_while_too_slow(
    ms: float, api: str = "JOIN_GROUP", stall: str = "stall_started", **row: Any
) -> History:
    """member-1 stalls from 1 s to 14 s, is past its limit at 9 s, and asks to join at `ms`."""
    history = too_slow(None).told("member-1", stall, 1_000, duration_ms=13_000)
    return history.request(api, "member-1", ms, **{"generation": 0, **row})


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (9_300, "HOLDS"),  # one that was sent before may be stamped late
        (9_301, "VIOLATED"),
        (13_949, "VIOLATED"),
        (13_950, "HOLDS"),
        (14_500, "HOLDS"),
    ],
)
@pytest.mark.parametrize("stall", ["stall_started", "callback_stall_started"])
def test_who_was_too_slow_joins_again_when_its_application_polls(
    judge: Judge, ms: float, stall: str, verdict: str
) -> None:
    found = judge(joins_while_too_slow(ms, stall=stall), "X104")
    assert (verdict, 1) == (found["verdict"], found["examined"])
    if verdict == "VIOLATED":
        (row,) = found["rows"]
        assert (at(ms - 100), at(ms + 100)) == (row["guard_from"], row["guard_to"])
        assert "did not poll for 5000 ms after its limit" in found["reason"]


@pytest.mark.parametrize(
    ("api", "row", "verdict"),
    [
        ("JOIN_GROUP", {"error_code": 79, "generation": -1}, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", {}, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", {"generation": -1}, "HOLDS"),
        ("HEARTBEAT", {}, "HOLDS"),
        ("JOIN_GROUP", {"group": "payments"}, "HOLDS"),
    ],
)
def test_it_joins_by_a_joingroup_or_a_heartbeat_of_epoch_0(
    judge: Judge, api: str, row: dict[str, Any], verdict: str
) -> None:
    assert verdict == judge(joins_while_too_slow(12_000, api, **row), "X104")["verdict"]


def test_another_member_may_join_meanwhile_and_all_its_own_joins_count(judge: Judge) -> None:
    history = joins_while_too_slow(14_100).join("member-2", 12_000)
    assert "HOLDS" == judge(history, "X104")["verdict"]
    history.request("JOIN_GROUP", "member-1", 12_000, evidence="first")
    history.request("JOIN_GROUP", "member-1", 13_000, evidence="second")
    (row,) = judge(history, "X104")["rows"]
    assert (2, "first", at(11_900), at(13_100)) == (
        row["measured"],
        row["evidence"],
        row["guard_from"],
        row["guard_to"],
    )


@pytest.mark.parametrize(
    ("start_ms", "duration_ms", "examined"),
    [
        (9_000, 5_000, 1),
        (9_001, 5_000, 0),
        (1_000, 8_001, 1),
        (1_000, 8_000, 0),
    ],
)
def test_only_a_limit_within_a_stall_is_examined(
    judge: Judge, start_ms: float, duration_ms: float, examined: int
) -> None:
    history = too_slow(None).told("member-1", "stall_started", start_ms, duration_ms=duration_ms)
    assert examined == judge(history, "X104")["examined"]


def test_the_stall_of_another_member_is_not_its_own(judge: Judge) -> None:
    history = too_slow(None).told("member-2", "stall_started", 1_000, duration_ms=13_000)
    assert "UNKNOWN" == judge(history.join("member-1", 12_000), "X104")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "healed_ms", "examined"),
    [
        ("latency", "members", 5_000, 8_999, 1),
        ("latency", "members", 5_000, 9_000, 0),
        ("latency", "members", 14_001, None, 0),
        ("latency", "members", 14_002, None, 1),
        ("isolate", "member-1", 10_000, 11_000, 0),
        ("isolate", "member-2", 10_000, 11_000, 1),
        ("kill-consumer", "member-1", 1_000, None, 1),
        ("kill-consumer", "member-1", 1_001, None, 0),
        ("kill-consumer", "member-1", 14_001, None, 0),
        ("kill-consumer", "member-1", 14_002, None, 1),
        ("close-consumer", "member-1", 12_000, None, 0),
        ("kill-consumer", "member-2", 12_000, None, 1),
    ],
)
def test_a_stall_during_faults_shows_no_join(
    judge: Judge, kind: str, resolved: str, from_ms: float, healed_ms: float | None, examined: int
) -> None:
    """A fault is injected a millisecond after it is begun."""
    history = joins_while_too_slow(12_000).fault(kind, resolved, from_ms, healed_ms)
    assert examined == judge(history, "X104")["examined"]


def test_without_a_member_that_was_too_slow_x104_is_unknown(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "stall_started", 1_000, duration_ms=9e3)
    assert "UNKNOWN" == judge(history, "X104")["verdict"]


def test_silence_to_the_first_heartbeat_of_all_cannot_hide(judge: Judge) -> None:
    """16 s without a heartbeat: its gap is null, as there is none before."""
    assert "VIOLATED" == judge(slow(16_900), "R34")["verdict"]


def test_who_polls_in_the_moment_that_its_limit_is_over_has_not_polled_before(
    judge: Judge,
) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 1_000)
    history.told("member-1", "max_poll_exceeded", 61_100).delivered("member-1", 0, 10, 19, 61_100)
    assert "HOLDS" == judge(history, "X78")["verdict"]


def test_java_may_hear_of_its_join_in_the_moment_in_which_it_stalls(judge: Judge) -> None:
    """stalling 34, doubtful: processed_at > event_at, where both clocks tick by a millisecond."""
    history = beyond().join("member-1", 500, processed_at=at(1_000))
    history.group["client"] = "java"
    assert "UNKNOWN" == judge(history, "X85")["verdict"]
