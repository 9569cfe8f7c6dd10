from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.histories import History, at
from tests.tables.rows import Rows


def test_ownership_ends_with_the_process_that_was_killed(rows: Rows) -> None:
    history = History().member("member-1", end="killed", ended_at=at(7_000))
    (held,) = rows(history.told("member-1", "assigned", 100, [0]), "ownership")
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
    history.told("member-1", "assigned", 100, [0, 1]).told("member-1", "revoked", 6_000, [1])
    history.fault(kind, "member-1", 7_000, parameters=json.dumps({"how": how}))
    history.fault("kill-consumer", "member-2", 5_000).join("member-1", 0)
    history.says("evicted", 13_000, "member-1").told("member-2", "assigned", 14_000, [0])
    held = rows(history, "ownership")
    removed_at = None if to_at else at(13_000)
    assert [
        (to_at, end, removed_at),
        (at(60_000), "closed", None),
        (at(6_000), "revoked", None),
    ] == [(row["to_at"], row["ended_by"], row["removed_at"]) for row in held]


def test_a_kill_that_nobody_saw_to_the_end_counts_from_its_beginning(rows: Rows) -> None:
    history = History().member("member-1", end="killed", ended_at=None)
    history.told("member-1", "assigned", 100, [0]).fault("kill-consumer", "member-1", 7_000)
    history.rows["faults"] = [row for row in history.rows["faults"] if row["phase"] != "injected"]
    (held,) = rows(history, "ownership")
    assert at(6_999) == held["to_at"]


def test_ownership_knows_from_when_its_holder_is_a_zombie(rows: Rows) -> None:
    history = History().member("member-1").join("member-1", 0).says("evicted", 6_000, "member-1")
    history.told("member-1", "assigned", 100, [0]).told("member-1", "lost", 9_000, [0])
    (held,) = rows(history, "ownership")
    assert (at(6_000), "lost") == (held["removed_at"], held["ended_by"])
