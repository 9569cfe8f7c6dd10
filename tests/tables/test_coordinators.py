"""Which broker coordinated the group, and where the group stood at each of its lines."""

from __future__ import annotations

import pytest

from tests.histories import History, at
from tests.tables.table_rows import Row, Rows, in_order

NOT_THERE = (14, 15, 16)


def tenures(history: History, rows: Rows) -> list[Row]:
    return in_order(rows(history, "tenures"), "tenure")


def test_a_tenure_lasts_from_the_load_to_the_last_sign_of_work(rows: Rows) -> None:
    history = History().says("rebalance_started", 100).says("stabilized", 200, members=2)
    history.heartbeats("member-1", 1_000).says("loaded", 5_000, broker=2, members=2)
    history.heartbeats("member-1", 6_000, broker=2).says("loaded", 9_000, broker=1, members=1)
    found = tenures(history, rows)
    names = ("broker", "from_at", "to_at", "next_at", "loaded", "members", "broker_before")
    assert [
        (1, at(100), at(1_000), at(5_000), False, None, None),
        (2, at(5_000), at(6_000), at(9_000), True, 2, 1),
        (1, at(9_000), at(9_000), None, True, 1, 2),
    ] == [tuple(row[name] for name in names) for row in found]
    assert [None, at(1_000), at(6_000)] == [row["to_at_before"] for row in found]


def test_a_group_that_was_loaded_first_has_no_tenure_before(rows: Rows) -> None:
    history = History().says("loaded", 100, members=0).says("rebalance_started", 200)
    assert [(1, at(100), True)] == [
        (row["tenure"], row["from_at"], row["loaded"]) for row in tenures(history, rows)
    ]


@pytest.mark.parametrize(
    ("api", "error", "works"),
    [
        *((api, 0, True) for api in ("HEARTBEAT", "JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP")),
        ("CONSUMER_GROUP_HEARTBEAT", 0, True),
        ("HEARTBEAT", 27, True),
        ("HEARTBEAT", 13, True),
        ("HEARTBEAT", 17, True),
        *(("HEARTBEAT", error, False) for error in NOT_THERE),
        ("OFFSET_FETCH", 0, False),
    ],
)
def test_a_coordinator_that_answers_for_the_group_is_at_work(
    rows: Rows, api: str, error: int, works: bool
) -> None:
    history = History().says("rebalance_started", 100)
    history.request(api, "member-1", 900, processed_at=at(1_000), error_code=error)
    (tenure,) = tenures(history, rows)
    assert at(1_000 if works else 100) == tenure["to_at"]


def test_what_a_broker_did_before_and_after_its_tenure_is_none_of_it(rows: Rows) -> None:
    """The first line of the next tenure is of that."""
    history = History().says("rebalance_started", 100).says("loaded", 5_000, broker=2)
    history.heartbeats("member-1", 4_000, broker=2).heartbeats("member-1", 6_000, broker=1)
    history.says("loaded", 8_000, broker=1).heartbeats("member-1", 8_000, broker=1)
    found = tenures(history, rows)
    assert [at(100), at(5_000), at(8_000)] == [row["to_at"] for row in found]


def test_the_group_is_rebalancing_until_it_is_stable_empty_or_loaded(rows: Rows) -> None:
    """A line does not count for itself; of one moment's lines those that end it come last."""
    history = History()
    for ms, event in (
        (0, "member_added"),
        (100, "rebalance_started"),
        (200, "member_added"),
        (300, "stabilized"),
        (400, "rebalance_started"),
        (500, "emptied"),
        (600, "rebalance_started"),
        (700, "loaded"),
        (800, "member_added"),
    ):
        history.says(event, ms, reason=f"at {ms}", generation=ms)
    found = {row["at"]: row for row in rows(history, "group_steps")}
    assert [0, 0, 1, 1, 0, 1, 0, 1, 0] == [
        int(found[at(ms)]["rebalancing"]) for ms in range(0, 900, 100)
    ]
    assert [100, 100, 400, 400, 400, 500, 600, None, None] == [
        None if (moment := found[at(ms)]["next_start_at"]) is None
        else next(each for each in range(0, 900, 100) if at(each) == moment)
        for ms in range(0, 900, 100)
    ]  # fmt: skip
    assert ["at 100", "at 100", "at 400", "at 400", "at 400", "at 500", "at 600", None, None] == [
        found[at(ms)]["next_reason"] for ms in range(0, 900, 100)
    ]


def test_a_group_that_is_loaded_waits_for_nobody_in_that_moment(rows: Rows) -> None:
    history = History().says("rebalance_started", 100, generation=0)
    history.says("member_added", 200, "member-1").says("loaded", 200).says("evicted", 200)
    found = {row["event"]: row["rebalancing"] for row in rows(history, "group_steps")}
    assert (True, False, False) == (found["loaded"], found["member_added"], found["evicted"])


def test_lines_of_one_moment_have_the_order_in_which_they_follow_from_each_other(
    rows: Rows,
) -> None:
    """Loaded, a member added, a rebalance started, and stable, all at once."""
    history = History()
    for event in ("stabilized", "rebalance_started", "member_added", "loaded"):
        history.says(event, 100, reason=event)
    history.says("unloaded", 100, reason="unloaded", broker=2)
    history.says("rebalance_started", 200, reason="again")
    found = {(row["event"], row["at"]): row for row in rows(history, "group_steps")}
    steps = {event: row for (event, moment), row in found.items() if moment == at(100)}
    assert {
        "loaded": False, "unloaded": False, "member_added": False, "rebalance_started": False,
        "stabilized": True,
    } == {event: row["rebalancing"] for event, row in steps.items()}  # fmt: skip
    assert {
        "loaded": "rebalance_started", "unloaded": "rebalance_started",
        "member_added": "rebalance_started", "rebalance_started": "rebalance_started",
        "stabilized": "again",
    } == {event: row["next_reason"] for event, row in steps.items()}  # fmt: skip


def test_the_next_epoch_starts_the_next_rebalance(rows: Rows) -> None:
    history = History().says("member_added", 0, "member-1", reason="joins")
    history.says("target_computed", 50, generation=1).says("epoch_bumped", 100, generation=2)
    found = in_order(rows(history, "group_steps"), "at")
    assert [at(100)] * 3 == [row["next_start_at"] for row in found]
    assert ["epoch_bumped"] * 3 == [row["next_reason"] for row in found]


@pytest.mark.parametrize("turned", [False, True])
def test_a_group_that_is_loaded_and_joined_in_one_moment_was_loaded_first(
    rows: Rows, turned: bool
) -> None:
    history = History().says("loaded", 100, members=0).says("member_added", 100, "member-1")
    if turned:
        history.rows["coordinator_events"].reverse()
    assert [(1, at(100), True)] == [
        (row["tenure"], row["from_at"], row["loaded"]) for row in tenures(history, rows)
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_starts_in_one_moment_the_first_in_the_log_is_the_next(
    rows: Rows, turned: bool
) -> None:
    history = History().says("member_added", 0, "member-1")
    history.says("rebalance_started", 100, reason="one").says(
        "rebalance_started", 100, reason="two"
    )
    if turned:
        history.rows["coordinator_events"].reverse()
    found = {row["event"]: row for row in rows(history, "group_steps")}
    assert "one" == found["member_added"]["next_reason"]
