"""What was given to whom: by the leader of a classic group, or by KIP-848's coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.histories import TOPIC, History, at, beat, member_id, parts
from tests.tables.table_rows import Row, Rows, in_order


def given(history: History, rows: Rows, generation: int | None = None) -> dict[Any, Any]:
    """Who has which partition in a generation, or in each."""
    found = rows(history, "assignments")
    if generation is None:
        return {(row["generation"], row["partition"]): row["member"] for row in found}
    return {row["partition"]: row["member"] for row in found if row["generation"] == generation}


def modern(*targets: tuple[int, float]) -> History:
    """A group of KIP-848 with a target assignment of each of these epochs."""
    history = History(group={"protocol": "consumer"})
    for member in ("member-1", "member-2"):
        history.says("member_added", 0, member, reason="joins")
    for epoch, ms in targets:
        history.says("target_computed", ms, generation=epoch, reason="uniform")
    return history


def test_what_a_leader_sent_was_given_when_the_coordinator_had_it(rows: Rows) -> None:
    """Not by a request that was refused, nor by another of its group."""
    history = History().join("member-1", 0, instance_id="a").join("member-2", 0)
    history.sync("member-1", 10, 1, gives=[("member-1", 0), ("member-2", 1)], answered_at=at(900))
    history.sync("member-1", 2_000, 2, gives=[("member-2", 0)], error_code=27)
    history.request(
        "JOIN_GROUP", "member-2", 3_000, generation=3,
        assignments=[{"member_id": member_id("member-2"), "topic": TOPIC, "partition": 0}],
    )  # fmt: skip
    found = in_order(rows(history, "assignments"), "partition")
    names = ("broker", "generation", "at", "removed_at", "member", "instance_id", "topic")
    assert [
        (1, 1, at(10), None, "member-1", "a", TOPIC),
        (1, 1, at(10), None, "member-2", None, TOPIC),
    ] == [tuple(row[name] for name in names) for row in found]


def test_a_target_is_what_members_were_last_told_until_the_next(rows: Rows) -> None:
    """member-1 is told less, and member-2, which learned epoch 2 in epoch 1, more."""
    history = modern((1, 10), (2, 5_000), (3, 9_000))
    beat(history, "member-1", 20, 0, 1, 0, 1)
    beat(history, "member-1", 6_000, 1, 1, 0)
    beat(history, "member-2", 7_000, 0, 2, 1)
    beat(history, "member-1", 9_500, 2, 3)
    assert {0: "member-1", 1: "member-1"} == given(history, rows, 1)
    assert {0: "member-1", 1: "member-2"} == given(history, rows, 2)
    assert {1: "member-2"} == given(history, rows, 3)


def test_it_was_given_when_it_was_computed_or_told_if_that_was_later(rows: Rows) -> None:
    history = modern((1, 10), (2, 5_000))
    beat(history, "member-1", 20, 0, 1, 0)
    beat(history, "member-1", 900, 0, 1, 0)
    found = {row["generation"]: row for row in rows(history, "assignments")}
    assert {1: at(900), 2: at(5_000)} == {epoch: row["at"] for epoch, row in found.items()}
    evidence = [row["evidence"] for row in history.rows["requests"]]
    assert {evidence[-1]} == {row["evidence"] for row in found.values()}


@pytest.mark.parametrize(
    ("ms", "told"),
    [(4_999, True), (5_000, False), (5_001, False)],
)
def test_what_is_asked_once_the_next_target_is_there_is_told_of_that(
    rows: Rows, ms: float, told: bool
) -> None:
    history = modern((1, 10), (2, 5_000))
    beat(history, "member-1", ms, 0, 1, 0)
    assert told == ((1, 0) in given(history, rows))
    assert (2, 0) in given(history, rows)


def test_a_later_epoch_tells_nothing_of_an_earlier_target(rows: Rows) -> None:
    """Nor does a refusal, nor an answer without an assignment."""
    history = modern((1, 10), (2, 5_000))
    beat(history, "member-1", 20, 0, 2, 0)
    one = parts(1)
    api = "CONSUMER_GROUP_HEARTBEAT"
    history.request(api, "member-2", 30, generation=0, member_epoch=1, assigned=one, error_code=5)
    history.request(api, "member-2", 40, generation=0, member_epoch=1)
    history.request("OFFSET_FETCH", "member-2", 50, generation=1, assigned=one)
    assert {(2, 0): "member-1"} == given(history, rows)


def test_a_classic_member_of_such_a_group_is_told_by_its_sync(rows: Rows) -> None:
    history = modern((1, 10)).request("SYNC_GROUP", "member-1", 20, assigned=parts(3))
    assert {(1, 3): "member-1"} == given(history, rows)


@pytest.mark.parametrize(
    ("evicted_ms", "targets"),
    [(4_999, {1}), (5_000, {1}), (5_001, {1, 2})],
)
def test_who_was_removed_before_a_target_has_no_part_of_it(
    rows: Rows, evicted_ms: float, targets: set[int]
) -> None:
    """What another member of the time was told is no part of it either."""
    history = modern((1, 10), (2, 5_000)).says("evicted", evicted_ms, "member-1")
    beat(history, "member-1", 20, 0, 1, 0)
    beat(history, "member-2", 20, 0, 1, 1)
    found: list[Row] = rows(history, "assignments")
    assert targets == {row["generation"] for row in found if row["member"] == "member-1"}
    assert {1, 2} == {row["generation"] for row in found if row["member"] == "member-2"}
    assert {at(evicted_ms)} == {row["removed_at"] for row in found if row["member"] == "member-1"}


@pytest.mark.parametrize(
    ("told_ms", "of_the_second_stay"),
    [(6_000, False), (6_001, True)],
)
def test_what_a_member_was_told_in_one_stay_is_nothing_in_the_next(
    rows: Rows, told_ms: float, of_the_second_stay: bool
) -> None:
    """It was evicted at 6,000 ms, and is back before the second target."""
    history = modern((1, 10), (2, 9_000)).says("evicted", 6_000, "member-1")
    history.says("member_added", 8_000, "member-1")
    beat(history, "member-1", told_ms, 0, 1, 0)
    assert {1} | ({2} if of_the_second_stay else set()) == {
        generation for generation, _ in given(history, rows)
    }
