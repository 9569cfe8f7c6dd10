from __future__ import annotations

import pytest

from tests.histories import TOPIC, History, at
from tests.tables.table_rows import Rows, in_order


def test_commits_are_judged_by_what_the_coordinator_knew(rows: Rows) -> None:
    history = History().join("member-1", 0).rebalance(0, 1, 1)
    history.commit_request("member-1", 100, 0, 10).rebalance(5_000, 2, 1)
    history.says("evicted", 6_000, "member-1").commit_request("member-1", 7_000, 0, 20, error=25)
    first, second = in_order(rows(history, "commits_judged"), "at")
    assert (1, None, None) == (
        first["group_generation"], first["previous_committed"], first["removed_at"]
    )  # fmt: skip
    assert (2, 10, at(6_000)) == (
        second["group_generation"], second["previous_committed"], second["removed_at"]
    )  # fmt: skip


def test_a_member_that_came_back_under_its_id_is_no_zombie(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1")
    history.says("member_added", 0, "member-1").says("evicted", 6_000, "member-1")
    history.says("member_added", 8_000, "member-1")
    for ms in (5_000, 7_000, 9_000):
        history.commit_request("member-1", ms, 0, ms)

    removed = [row["removed_at"] for row in in_order(rows(history, "commits_judged"), "at")]

    assert [None, at(6_000), None] == removed


@pytest.mark.parametrize(
    ("event", "known"),
    [
        ("stabilized", 2),
        ("emptied", 2),
        ("epoch_bumped", 2),
        ("rebalance_started", 1),
        ("target_computed", 1),
    ],
)
def test_the_groups_generation_is_what_it_last_came_to(rows: Rows, event: str, known: int) -> None:
    """What is told once the commit has come is not known yet."""
    history = History().says("stabilized", 0, generation=1).says(event, 100, generation=2)
    history.commit_request("member-1", 200, 0, 10).says("stabilized", 201, generation=3)
    (row,) = rows(history, "commits_judged")
    assert known == row["group_generation"]


def test_nothing_is_known_before_the_first_generation(rows: Rows) -> None:
    history = History().commit_request("member-1", 50, 0, 10).rebalance(100, 1, 1)
    (row,) = rows(history, "commits_judged")
    assert (None, None) == (row["group_generation"], row["previous_committed"])


def test_only_what_was_accepted_was_committed_before(rows: Rows) -> None:
    """Of its own partition; the coordinator takes commits as they arrive."""
    history = History().commit_request("member-1", 100, 0, 10, processed_at=at(900))
    history.commit_request("member-1", 200, 0, 20, error=25).commit_request("member-1", 250, 1, 70)
    history.commit_request("member-1", 300, 0, 0).commit_request("member-1", 400, 0, 40)
    found = in_order(rows(history, "commits_judged"), "committed")
    assert [(0, 10), (10, None), (20, 10), (40, 0), (70, None)] == [
        (row["committed"], row["previous_committed"]) for row in found
    ]


def test_a_generation_is_no_position_and_a_deletion_no_generation(rows: Rows) -> None:
    """Nothing is committed after the deletion, until something is."""
    gone = {"topic": TOPIC, "partition": 0, "committed": -1, "error_code": 0}
    history = History().rebalance(0, 1, 1).commit_request("member-1", 100, 0, 10)
    history.rebalance(200, 2, 1).commit_request("member-1", 300, 0, 20)
    history.request("OFFSET_DELETE", "observer", 400, positions=[gone])
    history.commit_request("member-1", 500, 0, 30).commit_request("member-1", 600, 0, 40)
    found = in_order(rows(history, "commits_judged"), "at")
    assert [(10, 1, None), (20, 2, 10), (30, 2, None), (40, 2, 30)] == [
        (row["committed"], row["group_generation"], row["previous_committed"]) for row in found
    ]


@pytest.mark.parametrize(
    ("arrived_ms", "error", "removed"),
    [
        # A line is stamped late: one that was accepted within 50 ms may have come just before.
        (6_050, 0, False),
        (6_051, 0, True),
        (6_000, 25, False),
        (6_001, 25, True),
    ],
)
def test_a_commit_of_a_removed_member_came_after_its_removal(
    rows: Rows, arrived_ms: float, error: int, removed: bool
) -> None:
    history = History().join("member-1", 0).says("evicted", 6_000, "member-1")
    history.join("member-2", 0).commit_request("member-2", arrived_ms, 1, 5, error=error)
    history.commit_request("member-1", arrived_ms, 0, 10, error=error)
    found = {row["member"]: row["removed_at"] for row in rows(history, "commits_judged")}
    assert {"member-1": at(6_000) if removed else None, "member-2": None} == found


@pytest.mark.parametrize(("arrived_ms", "removed"), [(7_999, True), (8_000, False)])
def test_a_member_id_that_is_back_is_removed_no_more(
    rows: Rows, arrived_ms: float, removed: bool
) -> None:
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.says("evicted", 6_000, "member-1").says("member_added", 8_000, "member-1")
    history.commit_request("member-1", arrived_ms, 0, 10)
    (row,) = rows(history, "commits_judged")
    assert removed == (row["removed_at"] is not None)
