from __future__ import annotations

import pytest

from tests.histories import History, member_id
from tests.tables.rows import Rows


def test_stragglers_are_removed_members(rows: Rows) -> None:
    both = f"[{member_id('member-1')}, {member_id('member-2')}]"
    history = History().says("stragglers_removed", 9_000, reason=both)
    removed = {row["member"]: row["removed_by"] for row in rows(history, "memberships")}
    assert {"member-1": "stragglers_removed", "member-2": "stragglers_removed"} == removed


@pytest.mark.parametrize(
    ("accepted", "removed_by"),
    [
        ((), "forgotten"),
        ((("JOIN_GROUP", 2_000, 79),), "forgotten"),
        ((("JOIN_GROUP", 2_000, 0),), "forgotten"),  # its generation was not complete yet
        ((("SYNC_GROUP", 3_000, 0),), None),
        ((("HEARTBEAT", 3_000, 0),), None),
        ((("HEARTBEAT", 3_000, 27),), "forgotten"),
        ((("HEARTBEAT", 9_500, 27),), None),  # the next coordinator knows it
        ((("CONSUMER_GROUP_HEARTBEAT", 3_000, 0),), None),  # KIP-848 stores it at once
    ],
)
def test_a_member_that_only_a_dead_coordinator_knew_is_forgotten(
    rows: Rows, accepted: tuple[tuple[str, float, int], ...], removed_by: str | None
) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 2_000, "member-1")
    history.says("rebalance_started", 2_001).says("loaded", 9_000, broker=2)
    for api, ms, error in accepted:
        history.request(api, "member-1", ms, error_code=error, broker=1 if ms < 9_000 else 2)
    [row] = rows(history, "memberships")
    assert removed_by == row["removed_by"]
    assert (removed_by is None) == (row["removed_at"] is None)


def test_a_member_is_not_forgotten_while_its_coordinator_is_the_same(rows: Rows) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 2_000, "member-1")
    [row] = rows(history, "memberships")
    assert row["removed_by"] is None
