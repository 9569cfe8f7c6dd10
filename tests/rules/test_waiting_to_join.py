"""X07, X08, R03 and R32 with real members: moments that touch, and what else is beside a join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


# X07


@dataclass
class ShortDelay(History):
    """By brokers whose group.initial.rebalance.delay.ms is 1."""

    def manifest(self, **changes: Any) -> dict[str, Any]:
        settings = {"group.initial.rebalance.delay.ms": "1"}
        return super().manifest(effective={"brokers": {"broker-1": settings}}, **changes)


def later(history: History, joined_ms: float, **row: Any) -> History:
    """A rebalance of a working group, from 10 s on, that waits for member-1 until 11.5 s."""
    history.says("rebalance_started", 10_000, generation=1, reason="Adding")
    history.says("stabilized", joined_ms, generation=2, members=2)
    return history.join("member-2", 9_999, 2, **row).join("member-1", 11_500, 2, **row)


def test_a_delay_of_one_millisecond_is_a_delay(judge: Judge) -> None:
    history = ShortDelay().says("rebalance_started", 0, generation=0, reason="Adding new member")
    history.join("member-1", -2, rebalance_timeout_ms=60_000)
    history.join("member-2", 51, rebalance_timeout_ms=60_000)  # in the first delay, or long after
    later(history.says("stabilized", 52, generation=1, members=2), 11_500)
    verdict = judge(history, "X07")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert [(None, 0), (-51, 52)] == [
        (row["bound_low"], row["bound_high"])
        for row in sorted(verdict["rows"], key=lambda row: float(row["measured"]))
    ]


@pytest.mark.parametrize(("joined_ms", "examined"), [(14_499, 1), (14_500, 0)])
def test_a_time_out_may_end_a_rebalance_a_whole_delay_after_the_last_join(
    judge: Judge, joined_ms: float, examined: int
) -> None:
    """It waited for a static member, of which no line tells."""
    history = later(History(), joined_ms, instance_id="a", rebalance_timeout_ms=4_540)
    verdict = judge(history, "X07")
    assert (0, examined) == (verdict["violations"], verdict["examined"])


@pytest.mark.parametrize(("from_ms", "verdict"), [(14_501, "HOLDS"), (14_502, "VIOLATED")])
def test_a_coordinator_that_is_being_stopped_as_it_ends_may_have_been_late(
    judge: Judge, from_ms: float, verdict: str
) -> None:
    """From when the stop is being injected: 1 ms before it took effect."""
    history = later(History(), 14_500).fault("pause-broker", "broker-1", from_ms, 16_000)
    assert verdict == judge(history, "X07")["verdict"]


# X08


def asks(history: History, ms: float, life: int, *, joins: bool = True) -> History:
    """member-1 is given an id, and joins with it 3 ms later."""
    history.says("member_id_given", ms, "member-1", life=life)
    history.join("member-1", ms, error_code=79, life=life)
    if joins:
        history.says("member_added", ms + 3, "member-1", life=life)
        history.join("member-1", ms + 2, life=life, processed_at=at(ms + 3))
    return history


def test_who_is_in_the_group_twice_is_told_the_first_of_its_ids(judge: Judge) -> None:
    history = asks(asks(asks(History(), 0, 1), 100, 2), 500, 3, joins=False)
    verdict = judge(history, "X08-members")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["violations"])
    assert f"it had, or was given, {member_id('member-1', 1)}" in verdict["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(3, "HOLDS"), (4, "VIOLATED")])
def test_who_asks_in_the_moment_it_is_added_may_have_asked_before(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = asks(asks(History(), 0, 1), ms, 2, joins=False)
    assert verdict == judge(history, "X08-members")["verdict"]


def test_an_id_is_used_by_a_join_and_by_nothing_else(judge: Judge) -> None:
    """It need not have come as far as a SyncGroup."""
    assert "HOLDS" == judge(asks(asks(History(), 0, 1), 500, 2), "X08-members")["verdict"]
    history = asks(asks(History(), 0, 1), 500, 2, joins=False).heartbeats("member-1", 600, life=2)
    assert "VIOLATED" == judge(history, "X08-members")["verdict"]


@pytest.mark.parametrize(
    ("whose", "from_ms", "to_ms", "verdict"),
    [
        ("member-1", 10_100, 10_400, "HOLDS"),
        ("member-2", 10_100, 10_400, "VIOLATED"),
        ("member-1", 10_501, 11_000, "HOLDS"),  # being injected as it asks again
        ("member-1", 10_502, 11_000, "VIOLATED"),
        ("member-1", 3_000, 4_000, "HOLDS"),  # for a session after it
        ("member-1", 3_000, 3_999, "VIOLATED"),
    ],
)
def test_only_a_disturbance_of_its_own_explains_a_lost_answer(
    judge: Judge, whose: str, from_ms: float, to_ms: float, verdict: str
) -> None:
    """member-1 asks at 10 s and at 10.5 s, and is given another id each time."""
    history = History().member("member-1").member("member-2")
    asks(asks(history, 10_000, 1, joins=False), 10_500, 2, joins=False)
    history.says("member_id_given", 0, "member-2").says("member_added", 3, "member-2")
    history.fault("isolate", whose, from_ms, to_ms)
    assert verdict == judge(history, "X08-members")["verdict"]


def test_what_a_program_of_somebody_else_s_does_with_its_ids_is_not_asked(judge: Judge) -> None:
    history = asks(History(), 0, 1)
    for life in (1, 2):
        history.join("billing", 500 * life, error_code=79, life=life, program="billing")
    history.request("JOIN_GROUP", "member-1", 2_000, error_code=None, life=3)  # never answered
    verdict = judge(history, "X08-members")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


# R03


def test_a_join_that_comes_as_the_first_one_is_accepted_is_not_new(judge: Judge) -> None:
    """So it has no limit of five minutes."""
    history = History().says("member_added", 0, "member-2").join("member-2", 1_000)
    history.join("member-2", 401_000, 2, arrived_at=at(1_000))
    verdict = judge(history, "R03-members")
    assert ("HOLDS", 1, None) == (verdict["verdict"], verdict["examined"], verdict["bound_high"])


@pytest.mark.parametrize(("added_ms", "bound_ms"), [(1_050, 300_100), (1_051, None)])
def test_the_line_that_a_member_was_added_may_be_50_ms_late(
    judge: Judge, added_ms: float, bound_ms: float | None
) -> None:
    history = History().says("member_added", added_ms, "member-2")
    history.join("member-2", 11_000, arrived_at=at(1_000))
    verdict = judge(history, "R03-members")
    assert ("HOLDS", 1, bound_ms) == (
        verdict["verdict"], verdict["examined"], verdict["bound_high"]
    )  # fmt: skip


def test_who_takes_a_static_members_place_is_never_dropped(judge: Judge) -> None:
    """It is not new, although it was never accepted: after five minutes as little as before."""
    history = History().says("replaced", 1_000.2, "member-2", instance_id="member-2")
    history.join(
        "member-2", 301_001, arrived_at=at(1_000), instance_id="member-2", life=2, error_code=25
    )
    history.says("evicted", 301_000.3, "member-2", life=2)
    assert "was evicted while" in judge(history, "R03-members")["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(50, "UNKNOWN"), (51, "VIOLATED")])
def test_a_request_that_is_refused_at_once_did_not_wait(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = History().says("member_added", 0, "member-2").join("member-2", 0.5)
    history.sync("member-2", 1_000 + ms, arrived_at=at(1_000), error_code=25)
    history.says("evicted", 1_020, "member-2")
    assert verdict == judge(history, "R03-members")["verdict"]


def kept(until_ms: float) -> History:
    """A new member of 1,000 ms, whose JoinGroup waits: its five minutes are over at 301,000 ms."""
    history = History().says("member_added", 1_000, "member-2")
    return history.join("member-2", until_ms, arrived_at=at(1_000))


@pytest.mark.parametrize(("ms", "verdict"), [(300_899, "HOLDS"), (300_900, "UNKNOWN")])
def test_the_end_of_the_five_minutes_is_guarded_from_100_ms_before(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(kept(ms).tick(300_990, 200), "R03-members")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "verdict"),
    [
        (299_000, 300_000, "HOLDS"),  # it has a second to work off what had waited
        (299_000, 299_999, "VIOLATED"),
        (301_901, 303_000, "HOLDS"),  # it is being stopped as the member is answered
        (301_902, 303_000, "VIOLATED"),
    ],
)
def test_a_coordinator_drops_nobody_from_when_it_is_being_stopped(
    judge: Judge, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = kept(301_900).fault("pause-broker", "broker-1", from_ms, to_ms)
    assert verdict == judge(history, "R03-members")["verdict"]
