from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


def group_of_two() -> History:
    """member-1 may be late by 6 s, member-2 by 9 s."""
    history = History().rebalance(0, 1, 2)
    for name, limit_ms in (("member-1", 6_000), ("member-2", 9_000)):
        history.member(name, max_poll_interval_ms=limit_ms)
        history.says("member_added", 1, name)
        history.join(name, 5, rebalance_timeout_ms=limit_ms)
    return history


def late(
    ended_ms: float, *, removed: bool = True, joined_ms: float | None = None, **row: Any
) -> History:
    """A rebalance starts at 10 s; member-2 joins at 11 s, member-1 not until it ends."""
    history = group_of_two().says("rebalance_started", 10_000, generation=1, reason="x")
    if removed:
        history.says("stragglers_removed", ended_ms, reason=f"[{member_id('member-1')}]")
    else:
        history.join("member-1", ended_ms, 2, rebalance_timeout_ms=6_000)
    joined_ms = ended_ms + 1 if joined_ms is None else joined_ms
    history.says("stabilized", joined_ms, generation=2, members=1)
    in_time = {"arrived_at": at(11_000)} | row
    return history.join("member-2", ended_ms + 1, 2, rebalance_timeout_ms=9_000, **in_time)


def told_elsewhere(history: History) -> History:
    """Limits of 20 s that no accepted JoinGroup of this group tells of its members."""
    limits = {"rebalance_timeout_ms": 20_000, "session_timeout_ms": 20_000}
    history.join("member-1", 6, error_code=79, **limits).join("member-1", 6, group="pay", **limits)
    history.join("stranger", 6, group="pay", **limits)
    return history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 6, rebalance_timeout_ms=20_000)


# R04


def test_limits_as_they_were_set_hold(judge: Judge) -> None:
    verdict = judge(group_of_two(), "R04")
    assert ("HOLDS", 2, 6_000, 9_000) == (
        verdict["verdict"], verdict["examined"], verdict["measured_min"], verdict["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize("row", [{"max_poll_interval_ms": 7_000}, {"session_timeout_ms": 7_000}])
def test_another_limit_than_was_set_violates(judge: Judge, row: dict[str, int]) -> None:
    history = group_of_two()
    history.rows["members"][0] |= row
    assert "VIOLATED" == judge(history, "R04")["verdict"]


def test_only_what_members_tell_their_own_group_counts(judge: Judge) -> None:
    history = told_elsewhere(late(17_000, removed=False)).join("stranger", 5, session_timeout_ms=1)
    history.join("stranger", 5, session_timeout_ms=1, rebalance_timeout_ms=1)
    verdict = judge(history, "R04")
    assert ("HOLDS", 2, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    assert {at(5)} == {row["at"] for row in verdict["rows"]}


def test_without_joins_r04_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), "R04")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "limit_ms", "verdict"),
    [
        (0, 6_000, "HOLDS"),
        (0, 5_999, "VIOLATED"),
        (0, 6_001, "VIOLATED"),
        (0, None, "VIOLATED"),
        (2, 6_000, "HOLDS"),
        (2, 7_000, "VIOLATED"),
        (2, None, "HOLDS"),
    ],
)
def test_in_kip_848_a_heartbeat_names_the_limit(
    judge: Judge, epoch: int, limit_ms: int | None, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1", max_poll_interval_ms=6_000)
    for ms, generation, limit in ((5, 0, 6_000), (2_000, epoch, limit_ms)):
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", "member-1", ms, generation=generation,
            rebalance_timeout_ms=limit,
        )  # fmt: skip
    judged = judge(history, "R04")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"rebalance_timeout_ms": 6_001}, "a rebalance timeout above its max.poll.interval.ms"),
        ({"session_timeout_ms": 6_001}, "a session timeout of 6001 ms instead of 6000"),
    ],
)
def test_a_member_that_asks_for_more_when_it_joins_again_violates(
    judge: Judge, limits: dict[str, int], why: str
) -> None:
    history = group_of_two().join("member-1", 9_000, 2, **{"rebalance_timeout_ms": 6_000, **limits})
    assert why in judge(history, "R04")["reason"]


def test_in_kip_848_the_larger_of_two_wrong_limits_is_told(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1", max_poll_interval_ms=6_000)
    for ms, member, limit_ms in (
        (5, "member-1", 5_000), (6, "member-1", 7_000), (7, "stranger", 8_000)
    ):  # fmt: skip
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", member, ms, generation=0, rebalance_timeout_ms=limit_ms
        )
    verdict = judge(history, "R04")
    assert ("VIOLATED", 1, 7_000) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


# R04-longest


def test_waiting_for_the_longest_limit_holds(judge: Judge) -> None:
    verdict = judge(late(19_000), "R04-longest")
    assert ("HOLDS", 1, 9_001) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_member_that_comes_after_its_own_limit_is_still_waited_for(judge: Judge) -> None:
    assert "HOLDS" == judge(late(17_000, removed=False), "R04-longest")["verdict"]


@pytest.mark.parametrize("ended_ms", [16_000, 19_100])
def test_waiting_for_another_time_violates(judge: Judge, ended_ms: float) -> None:
    assert "VIOLATED" == judge(late(ended_ms), "R04-longest")["verdict"]


def test_waiting_past_every_limit_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(late(20_000, removed=False), "R04-longest")["verdict"]


@pytest.mark.parametrize(
    ("broker", "from_ms", "to_ms", "examined"),
    [
        (1, 15_000, 19_500, 0),
        (2, 15_000, 19_500, 1),
        (1, 5_000, 9_000, 0),  # it works off what waited for another second
        (1, 5_000, 8_999.9, 1),
        (1, 20_001, 30_000, 0),
        (1, 20_001.1, 30_000, 1),
    ],
)
@pytest.mark.parametrize("rule", ["R04-longest", "X09"])
def test_a_coordinator_that_is_stopped_meanwhile_looks_at_no_limit(
    judge: Judge, rule: str, broker: int, from_ms: float, to_ms: float, examined: int
) -> None:
    history = late(20_000)
    history.fault("pause-broker", f"broker-{broker}", from_ms, to_ms, injecting_ms=from_ms)
    assert examined == judge(history, rule)["examined"]


@pytest.mark.parametrize("rule", ["R04-longest", "X09"])
def test_members_whose_joins_are_on_no_log_have_no_limit_on_record(judge: Judge, rule: str) -> None:
    history = late(19_000)
    history.rows["requests"].clear()
    assert 0 == judge(history, rule)["examined"]


def test_a_short_join_phase_tells_no_limit(judge: Judge) -> None:
    assert "UNKNOWN" == judge(late(12_000, removed=False), "R04-longest")["verdict"]


@pytest.mark.parametrize(
    ("ended_ms", "verdict"),
    [
        (14_000, "VIOLATED"),  # before the shortest limit
        (18_948, "VIOLATED"),
        (18_949, "HOLDS"),
        (19_049, "HOLDS"),
        (19_050, "VIOLATED"),
    ],
)
def test_a_join_phase_that_somebody_missed_ends_50_ms_around_the_longest_limit(
    judge: Judge, ended_ms: float, verdict: str
) -> None:
    assert verdict == judge(told_elsewhere(late(ended_ms)), "R04-longest")["verdict"]


@pytest.mark.parametrize(
    ("ended_ms", "verdict"),
    [(15_999, "UNKNOWN"), (16_000, "HOLDS"), (19_049, "HOLDS"), (19_050, "VIOLATED")],
)
def test_a_join_phase_that_all_came_to_tells_of_a_limit_once_it_is_past_one(
    judge: Judge, ended_ms: float, verdict: str
) -> None:
    assert verdict == judge(late(ended_ms, removed=False), "R04-longest")["verdict"]


def test_who_had_gone_or_came_later_is_not_waited_for(judge: Judge) -> None:
    history = late(19_000)
    for name, added_ms in (("member-3", 2), ("member-4", 30_000)):
        history.says("member_added", added_ms, name)
        history.join(name, added_ms + 5, rebalance_timeout_ms=20_000)
    history.says("left", 5_000, "member-3")
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 9_050) == (verdict["verdict"], verdict["bound_high"])


def nobody_in_time(
    *joins: float, joined_ms: float, static: bool = True, least_ms: int = 9_000
) -> History:
    """A rebalance starts at 10 s; its static members, with limits of 9 s, join when they do.

    The last of them may have another limit.
    """
    history = History()
    for number, ms in enumerate(joins, start=1):
        limit_ms = least_ms if number == len(joins) else 9_000
        row: dict[str, Any] = {"rebalance_timeout_ms": limit_ms}
        if static:
            row["instance_id"] = f"member-{number}"
        history.says("member_added", 1, f"member-{number}")
        history.join(f"member-{number}", 5, **row)
        history.join(f"member-{number}", joined_ms, 2, arrived_at=at(ms), **row)
    history.says("rebalance_started", 10_000, generation=1, reason="x")
    return history.says("stabilized", joined_ms, generation=2, members=len(joins))


@pytest.mark.parametrize(
    ("joins", "joined_ms", "bound"),
    [
        ((20_000, 24_000), 24_000, 18_050),  # the second waits for the first's time to end
        ((20_000, 27_999), 28_000, 18_050),
        ((29_000, 36_999), 37_000, 27_050),
        ((18_950, 27_900), 28_000, 18_050),  # just in time, or just too late
        ((18_949, 19_030), 19_040, 9_050),
        ((20_000,), 20_000, 18_050),  # who comes alone is waited for no longer
    ],
)
def test_a_limit_begins_anew_as_long_as_nobody_has_joined(
    judge: Judge, joins: tuple[float, ...], joined_ms: float, bound: float
) -> None:
    verdict = judge(nobody_in_time(*joins, joined_ms=joined_ms), "R04-longest")
    assert ("HOLDS", bound) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize("joins", [(18_000, 27_900), (20_000, 37_000)])
def test_a_limit_does_not_begin_anew_once_somebody_has_joined(
    judge: Judge, joins: tuple[float, ...]
) -> None:
    history = nobody_in_time(*joins, joined_ms=joins[-1] + 100)
    assert "VIOLATED" == judge(history, "R04-longest")["verdict"]


def test_nobody_is_left_to_wait_for_where_all_are_dynamic(judge: Judge) -> None:
    history = nobody_in_time(20_000, 24_000, joined_ms=24_000, static=False)
    assert "VIOLATED" == judge(history, "R04-longest")["verdict"]


def test_the_largest_limit_of_the_static_members_begins_anew(judge: Judge) -> None:
    history = nobody_in_time(20_000, 26_000, joined_ms=26_000, least_ms=6_000)
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 18_050) == (verdict["verdict"], verdict["bound_high"])


def test_a_group_of_which_nobody_comes_is_empty_at_the_longest_limit(judge: Judge) -> None:
    history = group_of_two().says("rebalance_started", 10_000, generation=1, reason="x")
    both = f"[{member_id('member-1')}, {member_id('member-2')}]"
    history.says("stragglers_removed", 19_000, reason=both).says("emptied", 19_000, generation=2)
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 1, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    verdict = judge(history, "X09")
    assert ("HOLDS", 2, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_the_limit_of_who_comes_meanwhile_does_not_count(judge: Judge) -> None:
    """The coordinator has set its timer by then."""
    history = late(19_000).says("member_added", 12_000, "member-3")
    history.join("member-3", 19_001, 2, arrived_at=at(12_000), rebalance_timeout_ms=20_000)
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 9_050) == (verdict["verdict"], verdict["bound_high"])
    assert "HOLDS" == judge(history, "X09")["verdict"]


@pytest.mark.parametrize(
    ("added_ms", "arrived_ms"),
    [
        (9_999.9, 10_000.5),
        (10_000, 10_000.5),
        (10_000.5, 9_999.9),  # the one or the other is stamped late
        (None, 9_999.9),  # a member whose line is on no log
    ],
)
def test_the_limit_of_who_begins_the_rebalance_counts(
    judge: Judge, added_ms: float | None, arrived_ms: float
) -> None:
    history = late(30_000)
    if added_ms is not None:
        history.says("member_added", added_ms, "member-3")
    history.join("member-3", 30_001, 2, arrived_at=at(arrived_ms), rebalance_timeout_ms=20_000)
    history.join("member-3", 40_000, 3, rebalance_timeout_ms=20_000)
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 20_050) == (verdict["verdict"], verdict["bound_high"])


def test_a_member_that_asks_for_less_when_it_comes_had_been_waited_for_longer(judge: Judge) -> None:
    history = late(18_000, removed=False)
    history.rows["requests"][-1]["rebalance_timeout_ms"] = 6_000
    verdict = judge(history, "R04-longest")
    assert ("HOLDS", 9_050) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(("left_ms", "verdict"), [(9_999.9, "VIOLATED"), (10_000, "HOLDS")])
def test_who_goes_in_the_moment_that_a_rebalance_begins_may_have_set_its_limit(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    history = late(30_000, removed=False).says("member_added", 2, "member-3")
    history.join("member-3", 5, rebalance_timeout_ms=20_000).says("left", left_ms, "member-3")
    assert verdict == judge(history, "R04-longest")["verdict"]


# X09


def missed_by_all(joined_ms: float, first_ms: float) -> History:
    """Both of 6 s and 9 s are late: member-1 is removed, and static member-2 waited for anew."""
    history = late(19_000, joined_ms=joined_ms, arrived_at=at(first_ms), instance_id="member-2")
    return history.join("member-2", 6, rebalance_timeout_ms=9_000, instance_id="member-2")


@pytest.mark.parametrize(
    ("first_ms", "verdict"), [(18_949.9, "VIOLATED"), (18_950, "HOLDS"), (21_000, "HOLDS")]
)
def test_who_is_late_is_removed_though_nobody_else_has_joined(
    judge: Judge, first_ms: float, verdict: str
) -> None:
    assert verdict == judge(missed_by_all(21_001, first_ms), "X09")["verdict"]
    assert verdict == judge(missed_by_all(21_001, first_ms), "R04-longest")["verdict"]


def test_who_is_late_is_removed_in_time(judge: Judge) -> None:
    verdict = judge(late(19_000), "X09")
    assert ("HOLDS", 1, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize("ended_ms", [16_000, 19_100])
def test_removed_at_another_time_violates(judge: Judge, ended_ms: float) -> None:
    assert "VIOLATED" == judge(late(ended_ms), "X09")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "verdict"),
    [(18_997.9, "UNKNOWN"), (18_998, "HOLDS"), (19_060, "HOLDS"), (19_061, "VIOLATED")],
)
def test_the_others_go_on_at_once_when_somebody_is_removed(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    assert verdict == judge(late(19_000, joined_ms=joined_ms), "X09")["verdict"]


def test_who_is_evicted_or_removed_in_another_rebalance_is_no_straggler(judge: Judge) -> None:
    history = late(19_000).says("member_added", 2, "member-3").says("evicted", 12_000, "member-3")
    history.join("member-3", 3, rebalance_timeout_ms=1_000).rebalance(30_000, 3, 1)
    verdict = judge(history, "X09")
    assert ("HOLDS", 1, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_static_member_that_is_removed_violates(judge: Judge) -> None:
    history = late(19_000).heartbeats("member-1", 2_000, instance_id="member-1")
    assert "is to be kept" in judge(history, "X09")["reason"]


def test_without_stragglers_x09_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(late(17_000, removed=False), "X09")["verdict"]


# X31


def in_callback(duration_ms: float = 13_000) -> History:
    return late(19_000).told("member-1", "callback_stall_started", 10_500, duration_ms=duration_ms)


def test_a_callback_that_only_the_coordinator_ends_holds(judge: Judge) -> None:
    verdict = judge(in_callback(), "X31")
    assert ("HOLDS", 1, 8_500) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_client_that_leaves_violates(judge: Judge) -> None:
    history = in_callback().request("LEAVE_GROUP", "member-1", 16_600)
    assert "left after 6100 ms" in judge(history, "X31")["reason"]


def test_a_client_that_notices_violates(judge: Judge) -> None:
    history = in_callback().told("member-1", "max_poll_exceeded", 16_600)
    assert "VIOLATED" == judge(history, "X31")["verdict"]


def test_a_callback_that_nobody_notices_holds(judge: Judge) -> None:
    history = group_of_two().told("member-1", "callback_stall_started", 10_500, duration_ms=7e3)
    assert ("HOLDS", 7_000) == (
        (verdict := judge(history, "X31"))["verdict"], verdict["measured_max"]
    )  # fmt: skip


def test_a_callback_within_the_limit_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(in_callback(5_000), "X31")["verdict"]


@pytest.mark.parametrize(("duration_ms", "examined"), [(6_550, 0), (6_551, 1)])
def test_a_callback_counts_once_it_is_past_the_limit_and_the_timers_grid(
    judge: Judge, duration_ms: float, examined: int
) -> None:
    history = in_callback(float(duration_ms))
    history.told("member-1", "stall_started", 10_500, duration_ms=13_000.0)
    assert examined == judge(history, "X31")["examined"]


def test_what_others_do_or_it_does_before_or_after_is_not_the_callbacks(judge: Judge) -> None:
    history = in_callback().heartbeats("member-1", 16_600).told("member-1", "error", 16_600)
    history.request("LEAVE_GROUP", "member-2", 16_600).says("evicted", 12_000, "member-2")
    history.told("member-2", "max_poll_exceeded", 16_600)
    for ms, life in ((10_499, 2), (23_501, 3)):
        history.request("LEAVE_GROUP", "member-1", ms).told("member-1", "max_poll_exceeded", ms)
        history.says("evicted", ms, "member-1", life=life)
    history.says("evicted", 22_000, "member-1", life=4)  # when it was gone already
    verdict = judge(history, "X31")
    assert ("HOLDS", 1, 8_500) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize("ms", [10_500, 23_500])
def test_whatever_happens_from_its_first_moment_to_its_last_is_the_callbacks(
    judge: Judge, ms: float
) -> None:
    left = in_callback().request("LEAVE_GROUP", "member-1", ms)
    left.request("LEAVE_GROUP", "member-1", 23_500)
    assert f"left after {ms - 10_500:.0f} ms" in judge(left, "X31")["reason"]
    noticed = in_callback().told("member-1", "max_poll_exceeded", ms)
    assert "was warned by its client" in judge(noticed, "X31")["reason"]
    evicted = group_of_two().told("member-1", "callback_stall_started", 10_500, duration_ms=13e3)
    assert "removed otherwise" in judge(evicted.says("evicted", ms, "member-1"), "X31")["reason"]


# X31-java


def left_from_callback(left_ms: float | None, **member: Any) -> History:
    """member-1 is called back at 10.5 s for 13 s; its limit is 6 s."""
    history = History(group={"client": "java"})
    history.member("member-1", client="java", max_poll_interval_ms=6_000, **member)
    history.says("member_added", 0, "member-1").join("member-1", 5)
    history.told("member-1", "callback_stall_started", 10_500, duration_ms=13_000.0)
    return history if left_ms is None else history.request("LEAVE_GROUP", "member-1", left_ms)


@pytest.mark.parametrize(
    ("left_ms", "verdict"),
    [(16_249, "VIOLATED"), (16_250, "HOLDS"), (16_650, "HOLDS"), (16_651, "VIOLATED")],
)
def test_a_java_member_leaves_at_its_limit_from_within_the_callback(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    assert verdict == judge(left_from_callback(left_ms), "X31-java")["verdict"]


def test_a_java_member_that_does_not_leave_violates(judge: Judge) -> None:
    assert "did not leave" in judge(left_from_callback(None), "X31-java")["reason"]


def test_a_stall_between_polls_is_no_callback(judge: Judge) -> None:
    history = left_from_callback(16_500)
    history.rows["client_events"][-1]["event"] = "stall_started"
    assert "UNKNOWN" == judge(history, "X31-java")["verdict"]


# R08-client


def told_of_a_rebalance(*heartbeats: float, error: int = 27) -> History:
    """Its last heartbeat without an error at 1 s; its session is 6 s."""
    history = History().member("member-1").heartbeats("member-1", 1_000)
    return history.heartbeats("member-1", *heartbeats, error_code=error)


@pytest.mark.parametrize(
    ("event", "ms", "verdict"),
    [
        (None, 0, "HOLDS"),
        ("session_timed_out", 7_000, "VIOLATED"),
        ("session_timed_out", 9_000, "VIOLATED"),
        ("session_timed_out", 6_999, "HOLDS"),  # of a session before
        ("session_timed_out", 9_001, "HOLDS"),
        ("coordinator_lost", 8_000, "HOLDS"),  # its connection, for one
        ("revoked", 8_000, "HOLDS"),
    ],
)
def test_a_session_goes_on_while_heartbeats_are_answered_with_a_rebalance(
    judge: Judge, event: str | None, ms: float, verdict: str
) -> None:
    history = told_of_a_rebalance(3_000, 5_000, 7_000, 9_000)
    if event is not None:
        history.told("member-1", event, ms).told("member-2", "session_timed_out", 8_000)
    found = judge(history, "R08-client")
    assert (verdict, 1, 8_000) == (found["verdict"], found["examined"], found["measured_max"])


def test_the_first_end_of_a_session_in_a_rebalance_is_told(judge: Judge) -> None:
    history = told_of_a_rebalance(3_000, 5_000, 7_000, 9_000)
    for ms in (8_000, 7_500):
        history.told("member-1", "session_timed_out", ms)
    assert "took its session for ended after 6500 ms" in judge(history, "R08-client")["reason"]


def test_what_is_no_answer_to_a_heartbeat_or_a_join_begins_nothing_anew(judge: Judge) -> None:
    history = told_of_a_rebalance(3_000, 5_000, 7_000, 9_000)
    history.request("OFFSET_COMMIT", "member-1", 6_000)
    history.heartbeats("member-1", 6_500, error_code=16)
    verdict = judge(history, "R08-client")
    assert ("HOLDS", 1, 8_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_rebalance_of_which_a_member_hears_first_of_all_has_no_beginning(judge: Judge) -> None:
    history = History().member("member-1")
    history.heartbeats("member-1", *range(3_000, 12_000, 2_000), error_code=27)
    assert 0 == judge(history, "R08-client")["examined"]


@pytest.mark.parametrize(
    "heartbeats",
    [
        (3_000, 5_000, 7_000),  # not for longer than a session
        (3_000, 9_000),  # one was not answered for as long
        (7_500,),
    ],
)
def test_a_shorter_rebalance_or_a_silence_says_nothing_of_the_client(
    judge: Judge, heartbeats: tuple[float, ...]
) -> None:
    assert 0 == judge(told_of_a_rebalance(*heartbeats), "R08-client")["examined"]


def test_an_answer_without_an_error_begins_anew(judge: Judge) -> None:
    history = told_of_a_rebalance(3_000, 5_000, 7_000, 9_000).sync("member-1", 6_000)
    assert 0 == judge(history, "R08-client")["examined"]
    errors = told_of_a_rebalance(3_000, 5_000, 7_000, 9_000, error=25)
    assert 0 == judge(errors, "R08-client")["examined"]


def test_the_first_join_may_be_stamped_after_the_line_that_it_ends_the_wait_with(
    judge: Judge,
) -> None:
    """A request's line counts back from its end."""
    history = nobody_in_time(20_001, joined_ms=20_000)
    assert "HOLDS" == judge(history, "R04-longest")["verdict"]


@pytest.mark.parametrize("rule", ["R04-longest", "X09"])
def test_a_straggler_is_of_the_rebalance_that_ends_and_not_of_the_one_that_begins(
    judge: Judge, rule: str
) -> None:
    history = late(19_000, joined_ms=19_000).says("rebalance_started", 19_000, generation=2)
    history.says("stabilized", 19_500, generation=3, members=1)
    history.join("member-2", 19_500, 3, rebalance_timeout_ms=9_000)
    verdict = judge(history, rule)
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("rule", ["R04", "X85", "X31"])
def test_max_poll_interval_ms_may_be_as_long_as_kafka_lets_it(judge: Judge, rule: str) -> None:
    """2,147,483,647 ms: the query fails with "Overflow in addition of INT32"."""
    history = History(group={"max_poll_interval_ms": 2**31 - 1})
    history.member("member-1", max_poll_interval_ms=2**31 - 1)
    history.says("member_added", 0, "member-1").join("member-1", 5, rebalance_timeout_ms=2**31 - 1)
    for event in ("stall_started", "callback_stall_started"):
        history.told("member-1", event, 1_000, duration_ms=16_000.0)
    assert "VIOLATED" != judge(history, rule)["verdict"]
