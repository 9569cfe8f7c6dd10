"""Tables that are too simple to be stored."""

from __future__ import annotations

import pytest

from tests.histories import History, at
from tests.tables.table_rows import Rows, in_order


@pytest.mark.parametrize(
    ("loads", "to_ms"),
    [
        ((), 66_000),
        (((4_999, 2),), 66_000),
        (((5_000, 2),), 11_000),
        (((5_500, 2), (6_000, 1), (7_000, 3)), 11_500),
    ],
)
def test_a_killed_coordinator_is_over_when_another_has_first_loaded_the_group(
    rows: Rows, loads: tuple[tuple[float, int], ...], to_ms: float
) -> None:
    """And a session after that. It is killed from 4,999 ms on, and the run ends at 60 s."""
    history = History().says("stabilized", 100, generation=1, members=1)
    history.fault("kill-broker", "broker-1", 5_000)
    for ms, broker in loads:
        history.says("loaded", ms, broker=broker)
    (found,) = rows(history, "unsettled")
    assert (at(4_999), at(to_ms)) == (found["from_at"], found["to_at"])


def test_a_member_is_busy_while_it_waits_works_or_stalls(rows: Rows) -> None:
    history = History().asked_commit("member-1", 100, 0, 10).delivered("member-1", 0, 0, 9, 200)
    history.event("member-1", "stall_started", 300, duration_ms=50).event(
        "member-1", "assigned", 400
    )
    history.asked_commit("member-1", 500, 0, 20, how="async")
    names = ("reason", "from_at", "to_at")
    assert [
        ("commit", at(100), at(102)),
        ("work", at(200), at(201)),
        ("stall", at(300), at(350)),
    ] == [tuple(row[name] for name in names) for row in in_order(rows(history, "busy"), "from_at")]
