"""What is told of the time of a standstill of a program's partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, an_app, at, beat, member_id

Judge = Callable[[History, str], dict[str, Any]]


def why(judge: Judge, history: History) -> str:
    """What is said of the one standstill of it."""
    (row,) = judge(history, "P4")["rows"]
    return str(row["why"])


def reads(history: History, member: str, *times: float, behind: int = 0) -> None:
    """It fetches a record of t-0 for each ms, so many records behind the clock."""
    for ms in times:
        first = round(ms) - behind
        history.fetch(member, 0, first, ms, upto=first + 100)


def joined_by_another(*, heard: bool = True) -> History:
    """A second member joins; the first needs 3 s to let go, and a third comes 3 s after that.

    `heard`: that the first was told to join again is on record.
    """
    history = an_app("member-1", "member-2", "member-3").rebalance(1, 1, 1).holds("member-1", 0)
    reads(history, "member-1", *range(9_000, 10_000, 100))
    reason = f"Adding new member {member_id('member-2')}"
    history.says("member_added", 10_020, "member-2").join("member-2", 9_980, 2)
    history.says("rebalance_started", 10_020, generation=1, reason=reason)
    if heard:
        history.heartbeats("member-1", 10_020.4, error_code=27)
    history.join("member-1", 13_020.4, 2)
    history.says("member_added", 16_020, "member-3").join("member-3", 16_020, 2)
    history.says("stabilized", 16_020.4, generation=2, members=3)
    history.says("assignment_received", 16_020.6, "member-1", generation=2)
    given = [{"topic": TOPIC, "partition": 0}]
    history.sync("member-2", 16_020.8, 2, assigned=given)
    reads(history, "member-2", 16_500, 16_600)
    return history


def test_all_steps_of_a_rebalance_are_told_as_one_time(judge: Judge) -> None:
    expected = "0.04 s until it was noticed, 6.0 s for the rebalance, 0.48 s to the first records"
    assert expected == why(judge, joined_by_another())


def test_a_step_that_nobody_logged_is_left_out(judge: Judge) -> None:
    """That the member heard of it, so that its way until it let go is not known either."""
    expected = "0.04 s until it was noticed, 3.0 s for the rebalance, 0.48 s to the first records"
    assert expected == why(judge, joined_by_another(heard=False))


def crashed() -> History:
    """member-1 is killed, and removed at the end of its session; member-2 goes on."""
    history = an_app("member-1", "member-2")
    history.rows["members"][0].update(end="killed", exit_code=-9)
    history.rebalance(1, 1, 2).holds("member-1", 0).holds("member-2", 1)
    reads(history, "member-1", *range(9_000, 10_000, 100))
    history.fault("kill-consumer", "member-1", 10_000).heartbeats("member-1", 9_900)
    history.says("evicted", 15_900, "member-1")
    reason = f"removing member {member_id('member-1')} on heartbeat expiration"
    history.says("rebalance_started", 15_900, generation=1, reason=reason)
    return history.says("stabilized", 15_910, generation=2, members=1)


def test_where_only_the_last_step_is_on_record_it_alone_is_told(judge: Judge) -> None:
    """No line tells of the join of the new owner, so what it did until then is not known."""
    history = crashed()
    history.sync("member-2", 15_924.6, 2, assigned=[{"topic": TOPIC, "partition": 0}])
    reads(history, "member-2", 16_424.6, 16_500)
    expected = "5.9 s until it was noticed, 0.01 s for the rebalance, 0.5 s to the first records"
    assert expected == why(judge, history)


OWNS = [{"topic": TOPIC, "partition": 0}]


def says_it_owns(history: History, member: str, ms: float, epoch: int, *, it: bool = True) -> None:
    """A heartbeat of an epoch: it has t-0, or nothing."""
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", member, ms, generation=epoch, member_epoch=2,
        owned=OWNS if it else [],
    )  # fmt: skip


def moved(*, told_ms: float, let_go_ms: float | None, taken_ms: float) -> History:
    """A group of KIP-848: member-2 joins, and is given the partition that member-1 had.

    What member-1 answered, that it has let go, is on record or not.
    """
    history = an_app("member-1", "member-2", protocol="consumer")
    for member, ms, epoch in (("member-1", 100, 1), ("member-2", 10_000, 2)):
        history.says("member_added", ms, member)
        history.says("epoch_bumped", ms + 0.2, generation=epoch, reason="hash 1")
        history.says("target_computed", ms + 0.4, generation=epoch, reason="uniform")
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", member, ms - 20, generation=0, member_epoch=epoch, owned=[],
            assigned=OWNS if member == "member-1" else [], processed_at=at(ms + 1),
            answered_at=at(ms + 1),
        )  # fmt: skip
    says_it_owns(history, "member-1", 110, 1)
    reads(history, "member-1", *range(9_000, 10_000, 100))
    beat(history, "member-1", told_ms, 1, 1)
    if let_go_ms is not None:
        says_it_owns(history, "member-1", let_go_ms, 1, it=False)
    beat(history, "member-2", taken_ms - 1, 2, 2, 0)
    says_it_owns(history, "member-2", taken_ms, 2)
    reads(history, "member-2", 10_500, 10_600)
    return history


@pytest.mark.parametrize(
    ("told_ms", "let_go_ms", "taken_ms"),
    [(10_004, 10_008, 10_014.8), (10_014.8, None, 10_018)],
    ids=["all on record", "not when it let go"],
)
def test_in_kip_848_the_steps_are_told_likewise(
    judge: Judge, told_ms: float, let_go_ms: float | None, taken_ms: float
) -> None:
    """Nobody joins again there. 14.6 ms are told of, from the change of the group on."""
    found = why(judge, moved(told_ms=told_ms, let_go_ms=let_go_ms, taken_ms=taken_ms))
    assert found.startswith("0.01 s for the rebalance, 0.4")


def test_a_stop_without_a_rebalance_has_no_time_for_one(judge: Judge) -> None:
    """Its leader is killed, and the observer sees another one 2 s later."""
    history = an_app("member-1").rebalance(1, 1, 1).holds("member-1", 0)
    for leader, ms in ((2, 0), (3, 12_000)):
        history.add(
            "topology", at=at(ms), what="partition", topic=TOPIC, partition=0, leader=leader,
            isr=[leader],
        )  # fmt: skip
    reads(history, "member-1", *range(9_000, 10_000, 100))
    history.fault("kill-broker", "broker-2", 10_000, 20_000)
    reads(history, "member-1", 12_400, 12_500, behind=2_400)
    expected = "2.0 s until it was noticed, 0.4 s to the first records"
    assert expected == why(judge, history)


@pytest.mark.parametrize(
    ("first", "told"), [(10_000, "0.5 s to the first records"), (9_999, "1 record came again")]
)
def test_what_comes_again_after_a_stop_is_told(judge: Judge, first: int, told: str) -> None:
    history = crashed().holds("member-2", 0, ms=16_000, generation=2)
    history.fetch("member-2", 0, first, 16_500, upto=first + 500)
    assert why(judge, history).endswith(told)
