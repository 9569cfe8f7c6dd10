from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.histories import History, at, member_id
from tests.tables.table_rows import Rows, in_order


def test_ownership_ends_with_the_process_that_was_killed(rows: Rows) -> None:
    history = History().member("member-1", end="killed", ended_at=at(7_000))
    (held,) = rows(history.event("member-1", "assigned", 100, [0]), "ownership")
    assert (at(7_000), "killed", None) == (held["to_at"], held["ended_by"], held["removed_at"])


@pytest.mark.parametrize(
    ("kind", "how", "end", "to_at"),
    [
        ("kill-consumer", None, "killed", at(7_000)),
        ("kill-consumer", "in a transaction", "killed", at(7_000)),
        ("bounce-consumer", "kill", "killed", at(7_000)),
        # What the harness has to kill at the end of a run is no fault's doing.
        ("bounce-consumer", "close", "killed", None),
        ("freeze-consumer", None, "killed", None),
        ("kill-consumer", None, None, None),
    ],
)
def test_a_killed_member_without_a_last_word_holds_until_the_fault(
    rows: Rows, kind: str, how: str | None, end: str | None, to_at: datetime | None
) -> None:
    history = History().member("member-1", end=end, ended_at=None).member("member-2")
    history.event("member-1", "assigned", 100, [0, 1]).event("member-1", "revoked", 6_000, [1])
    history.fault(kind, "member-1", 7_000, parameters=json.dumps({"how": how}))
    history.fault("kill-consumer", "member-2", 5_000).join("member-1", 0)
    history.says("evicted", 13_000, "member-1").event("member-2", "assigned", 14_000, [0])
    held = in_order(rows(history, "ownership"), "partition", "from_at")
    removed_at = None if to_at else at(13_000)
    assert [
        (to_at, end, removed_at),
        (at(60_000), "closed", None),
        (at(6_000), "revoked", None),
    ] == [(row["to_at"], row["ended_by"], row["removed_at"]) for row in held]


def test_a_kill_that_nobody_saw_to_the_end_counts_from_its_beginning(rows: Rows) -> None:
    history = History().member("member-1", end="killed", ended_at=None)
    history.event("member-1", "assigned", 100, [0]).fault("kill-consumer", "member-1", 7_000)
    history.rows["faults"] = [row for row in history.rows["faults"] if row["phase"] != "injected"]
    (held,) = rows(history, "ownership")
    assert at(6_999) == held["to_at"]


def test_ownership_knows_from_when_its_holder_is_a_zombie(rows: Rows) -> None:
    history = History().member("member-1").join("member-1", 0).says("evicted", 6_000, "member-1")
    history.event("member-1", "assigned", 100, [0]).event("member-1", "lost", 9_000, [0])
    (held,) = rows(history, "ownership")
    assert (at(6_000), "lost") == (held["removed_at"], held["ended_by"])


def test_of_one_moments_callbacks_the_assignment_comes_last(rows: Rows) -> None:
    history = History().member("member-1").event("member-1", "assigned", 100, [0])
    history.event("member-1", "assigned", 500, [0], generation=2)
    history.event("member-1", "revoked", 500, [0]).event("member-1", "lost", 900, [0])
    held = in_order(rows(history, "ownership"), "from_at")
    names = ("from_at", "to_at", "ended_by", "generation", "member_id")
    assert [
        (at(100), at(500), "revoked", 1, member_id("member-1")),
        (at(500), at(900), "lost", 2, member_id("member-1")),
    ] == [tuple(row[name] for name in names) for row in held]


def test_a_callback_counts_when_the_application_saw_it(rows: Rows) -> None:
    history = History().member("member-1").event("member-1", "assigned", 100, [0])
    history.event("member-1", "revoked", 400, [0], observed_at=at(450))
    history.event("member-1", "assigned", 600, [0], observed_at=None)
    held = in_order(rows(history, "ownership"), "from_at")
    assert [(at(100), at(450)), (at(600), at(60_000))] == [
        (row["from_at"], row["to_at"]) for row in held
    ]


def test_what_a_member_holds_ends_with_its_last_word(rows: Rows) -> None:
    """Its process ends later. What others hold goes on."""
    history = History().member("member-1", ended_at=at(8_000)).member("member-2")
    history.event("member-1", "assigned", 100, [0]).event("member-2", "assigned", 100, [1])
    history.event("member-1", "closed", 6_000).event("member-1", "closed", 7_000, observed_at=None)
    held = {row["member"]: (row["to_at"], row["ended_by"]) for row in rows(history, "ownership")}
    assert {"member-1": (at(7_000), "closed"), "member-2": (at(60_000), "closed")} == held


@pytest.mark.parametrize(
    ("removed_ms", "back_ms", "zombie"),
    [
        (1_000, None, True),
        (3_000, None, True),
        (3_001, None, False),
        # Before it was told of what it had: unless it was back by then.
        (500, None, True),
        (500, 1_001, True),
        (500, 1_000, False),
        (500, 900, False),
    ],
)
def test_a_holder_is_a_zombie_once_it_was_removed(
    rows: Rows, removed_ms: float, back_ms: float | None, zombie: bool
) -> None:
    """It holds the partition from 1,000 to 3,000 ms."""
    history = History(group={"protocol": "consumer"}).member("member-1")
    history.says("member_added", 0, "member-1").says("evicted", removed_ms, "member-1")
    if back_ms:
        history.says("member_added", back_ms, "member-1")
    history.says("evicted", 2_000, "member-2").event("member-1", "assigned", 1_000, [0])
    (held,) = rows(history.event("member-1", "lost", 3_000, [0]), "ownership")
    assert (at(removed_ms) if zombie else None) == held["removed_at"]


def test_a_holder_was_removed_in_the_stay_in_which_it_holds(rows: Rows) -> None:
    """It gave the partition up in its first stay, and took it again in its second."""
    history = History(group={"protocol": "consumer"}).member("member-1")
    for ms, event in ((0, "member_added"), (3_000, "left"), (5_000, "member_added")):
        history.says(event, ms, "member-1")
    history.says("evicted", 9_000, "member-1").event("member-1", "assigned", 1_000, [0])
    history.event("member-1", "revoked", 2_000, [0]).event("member-1", "assigned", 6_000, [0])
    held = in_order(rows(history, "ownership"), "from_at")
    assert [None, at(9_000)] == [row["removed_at"] for row in held]


def test_a_holder_that_was_removed_in_two_stays_is_a_zombie_from_the_first_on(rows: Rows) -> None:
    """It is told of what it had when it is back, and removed once more."""
    history = History(group={"protocol": "consumer"}).member("member-1")
    for ms, event in ((10, "member_added"), (50, "evicted"), (150, "member_added")):
        history.says(event, ms, "member-1")
    history.says("evicted", 9_000, "member-1").event("member-1", "assigned", 100, [0])
    (held,) = rows(history, "ownership")
    assert at(50) == held["removed_at"]


def test_the_first_kill_and_the_first_removal_count(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"}).member(
        "member-1", end="killed", ended_at=None
    )
    history.fault("kill-consumer", "member-1", 7_000).fault("kill-consumer", "member-1", 8_000)
    for ms, event in ((0, "member_added"), (3_000, "evicted"), (4_000, "member_added")):
        history.says(event, ms, "member-1")
    history.says("fenced", 5_000, "member-1").event("member-1", "assigned", 100, [0])
    (held,) = rows(history, "ownership")
    assert (at(7_000), at(3_000)) == (held["to_at"], held["removed_at"])
