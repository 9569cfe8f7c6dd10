from __future__ import annotations

import pytest

from tests.histories import History, at, member_id
from tests.tables.table_rows import Rows, in_order


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


def test_a_member_that_is_back_in_the_moment_it_was_removed_has_two_stays(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.says("member_added", 6_000, "member-1").says("evicted", 6_000, "member-1")
    history.says("left", 9_000, "member-1")
    found = in_order(rows(history, "memberships"), "stay")
    names = ("joined_at", "removed_at", "removed_by", "since_at", "until_at")
    assert [
        (at(0), at(6_000), "evicted", None, at(6_000)),
        (at(6_000), at(9_000), "left", at(6_000), None),
    ] == [tuple(row[name] for name in names) for row in found]


def test_a_static_member_of_kip_848_takes_the_place_of_the_one_it_was(rows: Rows) -> None:
    old = f"Static member {member_id('member-1', 2)} ... to replace the existing member "
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.says("member_added", 5_000, "member-1", life=2, text=f"{old}{member_id('member-1')}.")
    found = {row["member_id"]: row for row in rows(history, "memberships")}
    assert {
        member_id("member-1"): ("replaced", at(5_000)),
        member_id("member-1", 2): (None, None),
    } == {name: (row["removed_by"], row["removed_at"]) for name, row in found.items()}


def test_another_group_replaces_its_own_members(rows: Rows) -> None:
    old = f"Static member b ... to replace the existing member {member_id('member-1')}."
    history = History(group={"protocol": "consumer"}).says("member_added", 0, "member-1")
    history.says("member_added", 5_000, "member-1", life=2, text=old, group="another")
    (found,) = rows(history, "memberships")
    assert (None, None) == (found["removed_by"], found["removed_at"])


def test_a_removed_member_id_is_back_with_its_next_stay(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"})
    for ms, event in ((0, "member_added"), (1_000, "left"), (2_000, "member_added")):
        history.says(event, ms, "member-1")
    history.says("evicted", 9_000, "member-1").says("member_added", 500, "member-2")
    found = in_order(rows(history, "removals"), "removed_at")
    assert [("left", at(2_000)), ("evicted", None)] == [
        (row["removed_by"], row["back_at"]) for row in found
    ]


def test_what_bears_an_id_after_its_end_is_no_stay(rows: Rows) -> None:
    """Removed twice, it was there once."""
    history = History().says("member_added", 0, "member-1").says("evicted", 6_000, "member-1")
    history.says("left", 7_000, "member-1").heartbeats("member-1", 8_000, error_code=25)
    [row] = rows(history, "memberships")
    assert ("evicted", at(6_000)) == (row["removed_by"], row["removed_at"])


def test_a_member_without_a_line_of_the_coordinator_joined_with_its_first_request(
    rows: Rows,
) -> None:
    history = History().join("member-1", 900, error_code=79).join("member-1", 1_000)
    history.join("member-1", 2_000, instance_id="a", session_timeout_ms=9_000, program="orders")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", 1_500, generation=1)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", 3_000, generation=0)
    found = {row["member_id"]: row for row in rows(history, "memberships")}
    names = ("member", "joined_at", "removed_at", "instance_id", "session_timeout_ms")
    assert {
        member_id("member-1"): ("member-1", at(1_000), None, "a", 9_000),
        member_id("member-2"): ("member-2", at(3_000), None, None, 6_000),
    } == {name: tuple(row[each] for each in names) for name, row in found.items()}


@pytest.mark.parametrize(
    ("added_ms", "forgotten_ms"), [(100, 2_500), (8_999, 2_500), (9_000, None)]
)
def test_a_member_is_forgotten_with_the_coordinator_that_added_it(
    rows: Rows, added_ms: float, forgotten_ms: float | None
) -> None:
    """Its tenure is from 100 ms, with its last sign at 2,500, until the next at 9,000."""
    history = History().says("stabilized", 0, broker=3).says("loaded", 100)
    history.heartbeats("member-2", 2_500).says("loaded", 9_000, broker=2).says(
        "stabilized", 9_001, broker=2
    )
    # No line of the coordinator's work, or its sign would be that.
    history.says("member_added", added_ms, "member-1", broker=3)
    found = {row["member"]: row for row in rows(history, "memberships")}
    expected = None if forgotten_ms is None else at(forgotten_ms)
    assert expected == found["member-1"]["removed_at"]


@pytest.mark.parametrize(("ms", "removed_by"), [(8_999, "forgotten"), (9_000, None)])
def test_who_is_known_to_the_next_coordinator_was_not_forgotten(
    rows: Rows, ms: float, removed_by: str | None
) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 2_000, "member-1")
    history.says("loaded", 9_000, broker=2).join("member-1", ms, broker=2)
    (row,) = rows(history, "memberships")
    assert removed_by == row["removed_by"]


def test_of_several_settings_of_a_member_the_largest_counts(rows: Rows) -> None:
    history = History().join("member-1", 1_000, instance_id="a", session_timeout_ms=6_000)
    history.join("member-1", 2_000, instance_id="b", session_timeout_ms=9_000)
    history.heartbeats("member-1", 3_000)
    for table in ("memberships", "identities"):
        (row,) = rows(history, table)
        assert ("b", 9_000) == (row["instance_id"], row["session_timeout_ms"])


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_lines_about_one_end_in_one_moment_the_first_in_the_log_counts(
    rows: Rows, turned: bool
) -> None:
    history = History().says("member_added", 0, "member-1").says("fenced", 5_000, "member-1")
    history.says("left", 5_000, "member-1")
    first = history.rows["coordinator_events"][1]["evidence"]
    if turned:
        history.rows["coordinator_events"].reverse()
    [found] = rows(history, "memberships")
    assert ("fenced", first) == (found["removed_by"], found["evidence"])
