from __future__ import annotations

from typing import Any

import pytest

from tests.histories import History, at, member_id
from tests.tables.table_rows import Row, Rows, in_order

REJOINS = f"Updating metadata for member {member_id('member-2')} during Stable"


def episodes(history: History, rows: Rows) -> list[Row]:
    return in_order(rows(history, "episodes"), "number")


def numbers(history: History, rows: Rows) -> list[tuple[int, int]]:
    """The episode of each rebalance, and its round in it."""
    return [(row["episode"], row["round"]) for row in episodes(history, rows)]


@pytest.mark.parametrize(("second_ms", "found"), [(10, [(1, 1), (1, 2)]), (11, [(1, 1), (2, 1)])])
def test_a_rebalance_that_began_before_the_last_was_over_goes_on_with_it(
    rows: Rows, second_ms: float, found: list[tuple[int, int]]
) -> None:
    """The first was over at 10 ms."""
    history = History().rebalance(0, 1, 1).rebalance(second_ms, 2, 1)
    assert found == numbers(history, rows)


def test_an_episode_lasts_until_all_of_it_is_over(rows: Rows) -> None:
    """The first is over at 500 ms, and the second long before; the third began meanwhile."""
    history = History().rebalance(0, 1, 1).join("member-1", 5).sync("member-1", 500)
    history.rebalance(100, 2, 1).rebalance(300, 3, 1).rebalance(5_000, 4, 1, broker=2)
    found = episodes(history, rows)
    assert [(1, 1), (1, 2), (1, 3), (2, 1)] == [(row["episode"], row["round"]) for row in found]
    assert [(at(0), at(500))] * 3 + [(at(5_000), at(5_010))] == [
        (row["first_at"], row["last_at"]) for row in found
    ]
    assert [(1, None), (1, 1), (1, 1), (2, 1)] == [
        (row["coordinator"], row["coordinator_before"]) for row in found
    ]


@pytest.mark.parametrize(
    ("protocol", "told", "found"),
    [
        ("cooperative", [("member-2", "revoked", 2_000)], [(1, 1), (1, 2)]),
        ("cooperative", [("member-2", "lost", 2_000)], [(1, 1), (1, 2)]),
        # From the start of the one before to its own.
        ("cooperative", [("member-2", "revoked", 0)], [(1, 1), (1, 2)]),
        ("cooperative", [("member-2", "revoked", 5_000)], [(1, 1), (1, 2)]),
        ("cooperative", [("member-2", "revoked", 5_001)], [(1, 1), (2, 1)]),
        ("cooperative", [("member-2", "assigned", 2_000)], [(1, 1), (2, 1)]),
        ("cooperative", [("member-1", "revoked", 2_000)], [(1, 1), (2, 1)]),
        ("eager", [("member-2", "revoked", 2_000)], [(1, 1), (2, 1)]),
    ],
)
def test_a_member_that_gave_something_up_goes_on_with_the_episode(
    rows: Rows, protocol: str, told: list[Any], found: list[tuple[int, int]]
) -> None:
    history = History(group={"protocol": protocol}).rebalance(0, 1, 2)
    history.member("member-1").member("member-2").join("member-2", 5)
    for member, event, ms in told:
        history.event(member, event, ms, [0])
    history.rebalance(5_000, 2, 2, REJOINS)
    assert found == numbers(history, rows)


def test_what_was_given_up_before_another_rebalance_was_for_that_one(rows: Rows) -> None:
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 2)
    history.member("member-2").join("member-2", 5).event("member-2", "revoked", 1_000, [0])
    history.rebalance(2_000, 2, 2).rebalance(5_000, 3, 2, REJOINS)
    assert [(1, 1), (2, 1), (3, 1)] == numbers(history, rows)


def test_another_change_is_another_episode_whatever_was_given_up(rows: Rows) -> None:
    leaves = f"explicit `LeaveGroup` request for ({member_id('member-2')}) members."
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 2)
    history.member("member-2").join("member-2", 5).event("member-2", "revoked", 4_000, [0])
    assert [(1, 1), (2, 1)] == numbers(history.rebalance(5_000, 2, 1, leaves), rows)


def test_what_the_harness_does_to_end_a_run_is_none(rows: Rows) -> None:
    """It stops the members at 59,999 ms."""
    history = History().rebalance(59_998, 1, 1).rebalance(59_999, 2, 1)
    assert [1] == [row["generation"] for row in episodes(history, rows)]


def test_an_epoch_that_was_overtaken_is_not_over_before_the_next(rows: Rows) -> None:
    """Nobody was told epoch 1, so it goes on until epoch 2 is there."""
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.says("epoch_bumped", 1, generation=1, reason="metadata hash 1")
    history.says("target_computed", 2, generation=1, reason="uniform")
    history.says("epoch_bumped", 5_000, generation=2, reason="metadata hash 2")
    history.says("target_computed", 5_001, generation=2, reason="uniform")
    found = episodes(history, rows)
    assert [(1, 1, at(5_000)), (1, 2, at(5_001))] == [
        (row["episode"], row["round"], row["ended_at"]) for row in found
    ]
