from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group
from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# R10


def crash(*, next_owner_ms: float | None) -> History:
    history = History().member("member-1").fault("kill-consumer", "member-2", 10_000)
    history.member("member-2", end="killed", ended_at=at(10_000))
    history.told("member-1", "assigned", 100, [0]).told("member-2", "assigned", 100, [1])
    if next_owner_ms is not None:
        history.told("member-1", "revoked", 16_000, [0])
        history.told("member-1", "assigned", next_owner_ms, [0, 1])
    return history


def test_an_orphaned_partition_owned_again_in_time_holds(judge: Judge) -> None:
    verdict = judge(crash(next_owner_ms=18_000), "R10")
    assert "HOLDS" == verdict["verdict"]
    assert (1, 8_000) == (verdict["examined"], verdict["measured_max"])


def test_an_orphaned_partition_owned_too_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(crash(next_owner_ms=19_100), "R10")["verdict"]


def test_an_orphaned_partition_that_nobody_gets_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(crash(next_owner_ms=None), "R10")["verdict"]


def test_a_run_that_ended_before_the_deadline_cannot_tell(judge: Judge) -> None:
    history = crash(next_owner_ms=None)
    history.end_ms = 15_000
    assert "UNKNOWN" == judge(history, "R10")["verdict"]


def test_a_member_that_closed_left_no_orphans(judge: Judge) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [1])
    assert "UNKNOWN" == judge(history, "R10")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(19_050, "HOLDS"), (19_051, "VIOLATED")])
def test_an_orphaned_partition_waits_for_a_session_a_heartbeat_and_a_second(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(crash(next_owner_ms=ms), "R10")["verdict"]


LATE = 19_200.0  # 150 ms after the deadline


def stalled(member: str = "member-1", from_ms: float = 9_000, lasts_ms: float = 9_500) -> History:
    history = crash(next_owner_ms=LATE)
    return history.told(member, "stall_started", from_ms, duration_ms=lasts_ms)


@pytest.mark.parametrize(
    ("history", "given_ms", "verdict"),
    [
        (stalled(), 16_500, "HOLDS"),
        (stalled(lasts_ms=7_499), 16_500, "VIOLATED"),
        (stalled(from_ms=16_501), 16_500, "VIOLATED"),
        (stalled(lasts_ms=12_000), 19_050, "HOLDS"),
        (stalled(lasts_ms=12_000), 19_051, "VIOLATED"),
        (stalled("member-2"), 16_500, "VIOLATED"),
    ],
)
def test_a_stalled_member_takes_nothing_up_that_it_is_given(
    judge: Judge, history: History, given_ms: float, verdict: str
) -> None:
    history.join("member-1", 16_100, 2).sync("member-1", given_ms, 2, [("member-1", 1)])
    assert verdict == judge(history, "R10")["verdict"]


def test_another_partition_than_the_one_that_it_is_given_is_handed_on(judge: Judge) -> None:
    history = stalled().join("member-1", 16_100, 2)
    history.sync("member-1", 16_500, 2, [("member-1", 0)])
    assert "VIOLATED" == judge(history, "R10")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "verdict"),
    [
        (16_000, 19_100, "HOLDS"),
        (19_050, 19_100, "HOLDS"),
        (19_051, 19_100, "VIOLATED"),  # it began too late by itself
        (16_000, 16_200, "VIOLATED"),  # and another one, which waited for nobody, came after it
    ],
)
def test_a_rebalance_waits_for_a_stalled_member(
    judge: Judge, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = stalled(from_ms=16_100, lasts_ms=3_500)
    history.says("rebalance_started", from_ms, generation=1, reason="because")
    history.says("stabilized", to_ms, generation=2, members=1)
    if to_ms < 19_000:
        history.rebalance(19_110, 3, 1)
    assert verdict == judge(history, "R10")["verdict"]


def waits_for(*stalls: tuple[str, float, float], from_ms: float = 16_000) -> History:
    """A rebalance until 19.1 s that gives the orphan away, and members that stall meanwhile."""
    history = crash(next_owner_ms=LATE)
    for member, stalled_ms, lasts_ms in stalls:
        history.told(member, "stall_started", stalled_ms, duration_ms=lasts_ms)
    history.says("rebalance_started", from_ms, generation=1, reason="because")
    return history.says("stabilized", 19_100, generation=2, members=1)


@pytest.mark.parametrize(
    ("member", "from_ms", "lasts_ms", "verdict"),
    [
        ("member-1", 9_000, 6_999, "VIOLATED"),
        ("member-1", 9_000, 7_000, "HOLDS"),
        ("member-1", 19_100, 500, "HOLDS"),
        ("member-1", 19_100.1, 500, "VIOLATED"),
        ("member-2", 16_100, 3_500, "VIOLATED"),  # which is dead
    ],
)
def test_a_rebalance_waits_for_who_is_stalled_in_it(
    judge: Judge, member: str, from_ms: float, lasts_ms: float, verdict: str
) -> None:
    assert verdict == judge(waits_for((member, from_ms, lasts_ms)), "R10")["verdict"]


def test_a_rebalance_does_not_wait_for_who_is_at_work(judge: Judge) -> None:
    history = waits_for().delivered("member-1", 0, 0, 9, 16_100, 19_600)
    assert "VIOLATED" == judge(history, "R10")["verdict"]


@pytest.mark.parametrize("from_ms", [10_000, 16_000])
def test_later_rebalances_did_not_give_it_away(judge: Judge, from_ms: float) -> None:
    history = waits_for(("member-1", 16_100, 3_500), ("member-3", 16_100, 3_500), from_ms=from_ms)
    verdict = judge(history.rebalance(30_000, 3, 1), "R10")
    assert "HOLDS" == verdict["verdict"]
    assert "member-3 was stalled" in verdict["rows"][0]["why"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(19_051, "VIOLATED"), (19_050, "UNKNOWN")])
def test_a_run_that_ends_just_at_the_deadline_can_tell(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = crash(next_owner_ms=None)
    history.end_ms = end_ms
    assert verdict == judge(history, "R10")["verdict"]


@pytest.mark.parametrize(
    ("kind", "took_effect", "examined"),
    [("kill-consumer", True, 1), ("kill-consumer", False, 0), ("freeze-consumer", True, 0)],
)
def test_only_a_member_that_was_killed_leaves_orphans(
    judge: Judge, kind: str, took_effect: bool, examined: int
) -> None:
    history = History().member("member-1").member("member-2", end="killed", ended_at=at(10_000))
    history.told("member-2", "assigned", 100, [1]).told("member-1", "assigned", 12_000, [1])
    history.fault(kind, "member-2", 10_000, None, took_effect)
    assert examined == judge(history, "R10")["examined"]


@pytest.mark.parametrize(
    ("assigned_ms", "revoked_ms", "examined"),
    [(9_999, None, 1), (10_000, None, 0), (100, 9_999, 1), (100, 9_998, 0), (100, 12_000, 1)],
)
def test_orphans_are_what_it_held_when_it_was_killed(
    judge: Judge, assigned_ms: float, revoked_ms: float | None, examined: int
) -> None:
    history = History().member("member-2", end="killed", ended_at=at(10_000))
    history.fault("kill-consumer", "member-2", 10_000).member("member-1")
    history.told("member-1", "assigned", 100, [3]).told("member-2", "assigned", assigned_ms, [1])
    if revoked_ms is not None:
        history.told("member-2", "revoked", revoked_ms, [1])
    assert examined == judge(history, "R10")["examined"]


def test_an_orphan_still_held_on_record_at_the_end_is_one(judge: Judge) -> None:
    history = History().member("member-2", end=None, ended_at=None)
    history.fault("kill-consumer", "member-2", 10_000).told("member-2", "assigned", 100, [1])
    assert 1 == judge(history, "R10")["examined"]


def test_a_partition_may_move_on_while_the_kill_waits_for_a_transaction(judge: Judge) -> None:
    history = History().member("member-1").member("member-2", end="killed", ended_at=at(10_000))
    history.fault("kill-consumer", "member-2", 10_000, injecting_ms=9_000)
    history.told("member-2", "assigned", 100, [1]).told("member-2", "revoked", 9_500, [1])
    assert "VIOLATED" == judge(history, "R10")["verdict"]
    verdict = judge(history.told("member-1", "assigned", 9_600, [1]), "R10")
    assert ("HOLDS", -400) == (verdict["verdict"], verdict["measured_max"])


def test_the_first_other_owner_after_the_kill_counts(judge: Judge) -> None:
    history = crash(next_owner_ms=None).told("member-3", "assigned", 9_000, [1])
    history.told("member-1", "assigned", 18_000, [1]).told("member-4", "assigned", 19_500, [1])
    history.told("member-2", "assigned", 10_000, [1]).told("member-4", "assigned", 11_000, [2])
    history.rows["client_events"][-1]["partitions"] += [{"topic": "u", "partition": 1}]
    verdict = judge(history, "R10")
    assert ("HOLDS", 8_000) == (verdict["verdict"], verdict["measured_max"])
    history.told("member-5", "assigned", 10_000, [1])
    assert 0 == judge(history, "R10")["measured_max"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_998.9, "VIOLATED"), (9_999, "HOLDS")])
def test_a_partition_goes_to_its_next_owner_from_the_beginning_of_the_kill_on(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = crash(next_owner_ms=None).told("member-1", "assigned", ms, [1])
    assert verdict == judge(history, "R10")["verdict"]


def test_it_is_told_from_whom_to_whom_it_went(judge: Judge) -> None:
    history = crash(next_owner_ms=18_000).told("member-3", "assigned", 20_000, [1])
    assert "from member-2 to member-1" == judge(history, "R10")["rows"][0]["why"]


# X11


def default_crash(evicted_ms: float | None) -> History:
    """member-2 is killed at 10 s, with a session of 45 s and a heartbeat every 3 s."""
    history = History(group={"session_timeout_ms": 45_000, "heartbeat_interval_ms": 3_000})
    history.end_ms = 80_000
    history.member(
        "member-2", session_timeout_ms=45_000, settings='{"session.timeout.ms": "unset"}'
    )
    history.fault("kill-consumer", "member-2", 10_000)
    history.join("member-2", 5, session_timeout_ms=45_000)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2")
    return history


@pytest.mark.parametrize("evicted_ms", [52_000, 55_040])
def test_a_crash_noticed_within_the_default_session_holds(judge: Judge, evicted_ms: float) -> None:
    assert "HOLDS" == judge(default_crash(evicted_ms), "X11")["verdict"]


@pytest.mark.parametrize("evicted_ms", [51_300, 55_100, None])
def test_a_crash_noticed_sooner_later_or_never_violates(
    judge: Judge, evicted_ms: float | None
) -> None:
    assert "VIOLATED" == judge(default_crash(evicted_ms), "X11")["verdict"]


def test_a_session_that_somebody_set_says_nothing_of_the_default(judge: Judge) -> None:
    history = default_crash(55_000)
    history.rows["members"][0]["settings"] = '{"session.timeout.ms": "45000"}'
    assert "UNKNOWN" == judge(history, "X11")["verdict"]


def test_a_library_with_another_default_is_seen_by_what_it_tells_the_coordinator(
    judge: Judge,
) -> None:
    history = default_crash(55_000)
    history.rows["requests"][0]["session_timeout_ms"] = 10_000
    verdict = judge(history, "X11")
    assert "VIOLATED" == verdict["verdict"]
    assert "told the coordinator a session of 10000 ms" in verdict["rows"][0]["why"]


def test_a_member_that_joins_again_with_a_longer_session_violates(judge: Judge) -> None:
    history = default_crash(55_000).join("member-2", 5_000, 2, session_timeout_ms=60_000)
    assert "told the coordinator a session of 60000 ms" in judge(history, "X11")["reason"]


def test_a_member_whose_joins_are_on_no_log_is_examined_all_the_same(judge: Judge) -> None:
    history = default_crash(55_000)
    history.rows["requests"].clear()
    verdict = judge(history, "X11")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_crash_with_another_session_says_nothing_of_the_default(judge: Judge) -> None:
    assert "UNKNOWN" == judge(crash(next_owner_ms=18_000), "X11")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(51_448, "VIOLATED"), (51_449, "HOLDS"), (55_050, "HOLDS"), (55_051, "VIOLATED")],
)
def test_a_crash_is_noticed_a_session_after_the_last_heartbeat_before_it(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    """The member may have been killed a millisecond before 10 s, when that was begun."""
    assert verdict == judge(default_crash(evicted_ms), "X11")["verdict"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(55_051, "VIOLATED"), (55_050, "UNKNOWN")])
def test_a_crash_near_the_end_cannot_be_told(judge: Judge, end_ms: float, verdict: str) -> None:
    history = default_crash(None)
    history.end_ms = end_ms
    judged = judge(history, "X11")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("kind", "took_effect"), [("kill-consumer", False), ("freeze-consumer", True)]
)
def test_only_a_kill_that_took_effect_is_a_crash(
    judge: Judge, kind: str, took_effect: bool
) -> None:
    history = default_crash(52_000)
    for row in history.rows["faults"]:
        row |= {"kind": kind, "parameters": None}
        row["took_effect"] = row["took_effect"] and took_effect
    assert "UNKNOWN" == judge(history, "X11")["verdict"]


def test_only_its_own_eviction_from_the_kill_on_notices_a_crash(judge: Judge) -> None:
    history = default_crash(52_000).says("evicted", 9_998, "member-2", life=3)
    history.member("member-1", session_timeout_ms=45_000).says("evicted", 30_000, "member-1")
    verdict = judge(history, "X11")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    history = default_crash(None).says("evicted", 9_999, "member-2")
    assert 0 == judge(history, "X11")["measured_max"]


# X19-default


def default_crash_of_kip_848(
    evicted_ms: float | None = 55_000, interval_ms: int = 5_000, **group: int
) -> Group:
    """member-2 is killed at 10 s; the coordinator has told it to heartbeat so often."""
    history = Group()
    history.group = {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 5_000, **group}
    history.end_ms = 80_000
    history.joins("member-1", 0, 2).joins("member-2", 100, 3)
    told = json.dumps({"heartbeat_interval_ms": interval_ms})
    history.beat("member-2", 9_990, 3, detail=told)
    # The answer to the last heartbeat of all tells nothing.
    history.beat("member-1", 20_000, -1, detail=json.dumps({"heartbeat_interval_ms": 0}))
    history.fault("kill-consumer", "member-2", 10_000)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2")
    return history


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [
        (49_448, "VIOLATED"),
        (49_449, "HOLDS"),
        (55_050, "HOLDS"),
        (55_051, "VIOLATED"),
        (None, "VIOLATED"),
    ],
)
def test_a_crash_is_noticed_within_the_default_of_brokers(
    judge: Judge, evicted_ms: float | None, verdict: str
) -> None:
    judged = judge(default_crash_of_kip_848(evicted_ms), "X19-default")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_a_member_that_is_told_another_interval_violates(judge: Judge) -> None:
    verdict = judge(default_crash_of_kip_848(interval_ms=3_000), "X19-default")
    assert "was told to heartbeat at an interval of 3000 ms" in verdict["reason"]


def without_intervals() -> Group:
    """No accepted answer has told member-2 of an interval."""
    history = default_crash_of_kip_848()
    for row in history.rows["requests"]:
        row["detail"] = None
    return history


def told(interval_ms: int) -> str:
    return json.dumps({"heartbeat_interval_ms": interval_ms})


def test_the_longest_interval_that_a_member_is_told_counts(judge: Judge) -> None:
    history = default_crash_of_kip_848(interval_ms=7_000)
    history.beat("member-2", 8_000, 3, detail=told(5_000))
    assert "at an interval of 7000 ms" in judge(history, "X19-default")["reason"]


def test_a_member_is_told_its_interval_when_it_joins(judge: Judge) -> None:
    history = without_intervals()
    joined = next(row for row in history.rows["requests"] if row["client_id"] == "member-2")
    joined["detail"] = told(3_000)
    assert "at an interval of 3000 ms" in judge(history, "X19-default")["reason"]


def test_a_refusal_tells_no_interval(judge: Judge) -> None:
    history = without_intervals().beat("member-2", 9_000, 3, detail=told(0), error_code=110)
    verdict = judge(history, "X19-default")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_process_that_is_no_member_of_the_run_is_not_examined(judge: Judge) -> None:
    history = default_crash_of_kip_848().fault("kill-consumer", "stranger", 10_000)
    assert 1 == judge(history, "X19-default")["examined"]


@pytest.mark.parametrize("group", [{"session_timeout_ms": 6_000}, {"heartbeat_interval_ms": 2_000}])
def test_timers_that_somebody_set_say_nothing_of_the_defaults_of_brokers(
    judge: Judge, group: dict[str, int]
) -> None:
    assert "UNKNOWN" == judge(default_crash_of_kip_848(**group), "X19-default")["verdict"]


def test_a_run_that_ends_too_early_says_nothing_of_the_defaults_of_brokers(judge: Judge) -> None:
    history = default_crash_of_kip_848(None)
    history.end_ms = 50_000
    assert ("UNKNOWN", 1) == (
        (verdict := judge(history, "X19-default"))["verdict"], verdict["examined"]
    )  # fmt: skip


def test_what_starts_as_a_partition_is_owned_did_not_give_it(judge: Judge) -> None:
    history = waits_for(("member-1", 16_100, 3_500)).rebalance(LATE, 3, 1)
    assert "HOLDS" == judge(history, "R10")["verdict"]


def test_a_rebalance_under_way_at_the_kill_may_give_the_orphans(judge: Judge) -> None:
    """It waits for member-1, which stalls, and member-2 dies in it."""
    history = waits_for(("member-1", 9_400, 9_700), from_ms=9_500)
    assert "HOLDS" == judge(history, "R10")["verdict"]
