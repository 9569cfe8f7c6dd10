"""A group that is forgotten while nobody is in it begins again with generation 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]

# When the group begins for the first time, and again.
BEGINNINGS = (0, 40_000)
NAMES = ("member-1", "member-2", "member-3")


def begins(
    history: History,
    life: int,
    *members: str,
    assigned_to: int | None = None,
    answered_ms: float = 1_001,
    **given: Sequence[int],
) -> History:
    """Generation 1 and its end: the last of these members leads, and assigns by range.

    Each is told what the leader gave it, or what is `given` to member_2 (…).
    """
    start = BEGINNINGS[life - 1]
    leader = members[-1]
    size = 12 // len(members)
    parts = {
        name: list(range(size * place, size * place + size))
        for place, name in enumerate(sorted(members))
    }
    given_parts = [
        {"member_id": member_id(name, life), "topic": "t", "partition": each}
        for name in members
        for each in parts[name]
    ]
    for place, name in enumerate(reversed(members)):
        history.says("member_added", start + 100 + place, name, life=life)
        history.join(
            name, start + 100 + place, life=life, leader=member_id(leader, life),
            processed_at=at(start + answered_ms), answered_at=at(start + answered_ms),
            protocol_name="range", assignors=["range"],
        )  # fmt: skip
    history.says("rebalance_started", start + 100, generation=0, reason="because")
    history.says("stabilized", start + 1_000, generation=1, members=len(members))
    history.says(
        "assignment_received", start + 1_010, leader, life=life, generation=1,
        members=assigned_to or len(members),
    )  # fmt: skip
    for place, name in enumerate(reversed(members)):
        told = given.get(name.replace("-", "_"), parts[name])
        history.sync(
            name, start + 1_005 + place, life=life,
            assignments=given_parts if name == leader else [],
            assigned=[{"topic": "t", "partition": each} for each in told],
        )  # fmt: skip
    for place, name in enumerate(members):
        left = start + 20_000 + place
        history.request("LEAVE_GROUP", name, left, life=life)
        history.says("left", left, name, life=life)
    history.says("rebalance_started", start + 20_000, generation=1, reason="LeaveGroup")
    return history.says("emptied", start + 20_010, generation=2)


def a_group() -> History:
    history = History(end_ms=80_000)
    for name in NAMES:
        history.member(name)
    return history


RULES = (
    *("R12", "R12-all", "R12-first", "R13", "R13-members", "R21", "R22", "R22-assignor"),
    *("R33", "R33-answered", "X76"),
)


@pytest.mark.parametrize("rule", RULES)
def test_a_group_that_begins_again_is_another_one(judge: Judge, rule: str) -> None:
    """Three members and then two, of which another one leads and has other partitions."""
    history = begins(begins(a_group(), 1, *NAMES), 2, "member-2", "member-1")
    assert "HOLDS" == judge(history, rule)["verdict"]


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("R13", {"member_2": [7]}),
        ("R13-members", {"member_2": [7]}),
        ("R33-answered", {"answered_ms": 2_000}),
        ("X76", {"assigned_to": 3}),
    ],
)
def test_and_is_examined_as_the_first_was(judge: Judge, rule: str, wrong: dict[str, Any]) -> None:
    history = begins(begins(a_group(), 1, *NAMES), 2, "member-2", "member-1", **wrong)
    assert "VIOLATED" == judge(history, rule)["verdict"]


def test_a_group_that_was_not_empty_begins_with_no_generation_again(judge: Judge) -> None:
    history = begins(begins(a_group(), 1, *NAMES), 2, "member-2", "member-1")
    lines = history.rows["coordinator_events"]
    lines[:] = [each for each in lines if each["event"] != "emptied"]
    assert "VIOLATED" == judge(history, "R33")["verdict"]


def test_who_sent_no_join_the_second_time_is_missed(judge: Judge) -> None:
    history = begins(begins(a_group(), 1, "member-2", "member-1"), 2, "member-1", "member-2")
    kept = [
        row
        for row in history.rows["requests"]
        if (row["api"], row["member_id"]) != ("JOIN_GROUP", member_id("member-1", 2))
    ]
    history.rows["requests"] = kept
    assert "VIOLATED" == judge(history, "R12-all")["verdict"]


def test_two_that_own_one_partition_do_so_within_one_life_of_the_group(judge: Judge) -> None:
    history = begins(begins(a_group(), 1, *NAMES), 2, "member-2", "member-1")
    twice = next(row for row in reversed(history.rows["requests"]) if row.get("assignments"))
    twice["assignments"] = [
        *twice["assignments"],
        {"member_id": member_id("member-1", 2), "topic": "t", "partition": 11},
    ]
    assert "VIOLATED" == judge(history, "R21")["verdict"]
