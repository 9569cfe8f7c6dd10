"""How far each partition had been read before a poll, and when its positions were gone."""

from __future__ import annotations

import pytest

from tests.histories import TOPIC, History, at
from tests.tables.table_rows import Rows


@pytest.mark.parametrize(
    ("processed_ms", "process_us", "busy_until"),
    [
        (150, None, 150),
        (150, 1_000, 110),
        (105, 1_000, 105),
        (None, 1_000, 100),
        (None, None, 100),
    ],
)
def test_a_partition_is_busy_for_as_long_as_its_records_should_take(
    rows: Rows, processed_ms: float | None, process_us: int | None, busy_until: float
) -> None:
    """Ten records, polled at 100 ms."""
    history = History().member("member-1", process_us=process_us)
    history.delivered("member-1", 0, 0, 9, 100, processed_ms)
    history.delivered("member-1", 0, 10, 19, 500)
    found = {row["polled_at"]: row for row in rows(history, "progress")}
    assert (None, None) == (found[at(100)]["reached"], found[at(100)]["busy_until"])
    assert (9, at(busy_until)) == (found[at(500)]["reached"], found[at(500)]["busy_until"])


def test_what_was_reached_and_worked_off_is_the_furthest_of_all_before(rows: Rows) -> None:
    """By whichever member, of this partition alone; of one moment the poll of the lower number."""
    history = History().delivered("member-1", 0, 0, 19, 100, 400)
    history.delivered("member-2", 0, 5, 9, 200, 250).delivered("member-2", 1, 0, 99, 150, 900)
    history.delivered("member-3", 0, 20, 29, 500, poll=8)
    history.delivered("member-3", 0, 30, 39, 500, poll=9)
    found = {row["first_offset"]: row for row in rows(history, "progress") if not row["partition"]}
    assert {0: None, 5: 19, 20: 19, 30: 29} == {
        first: row["reached"] for first, row in found.items()
    }
    assert at(400) == found[20]["busy_until"]


@pytest.mark.parametrize(
    ("api", "error", "committed", "arrived_ms", "gone"),
    [
        ("OFFSET_DELETE", 0, -1, 100, True),
        ("OFFSET_DELETE", 16, -1, 100, False),
        # The group is empty since 1,000 ms, and keeps its positions for an hour.
        ("OFFSET_FETCH", 0, -1, 3_601_000, True),
        ("OFFSET_FETCH", 0, -1, 3_600_999, False),
        ("OFFSET_FETCH", 3, -1, 3_601_000, False),
        ("OFFSET_FETCH", 0, 0, 3_601_000, False),
        ("OFFSET_COMMIT", 0, -1, 3_601_000, False),
    ],
)
def test_positions_are_forgotten_when_they_are_deleted_or_too_old(
    rows: Rows, api: str, error: int, committed: int, arrived_ms: float, gone: bool
) -> None:
    position = {"topic": TOPIC, "partition": 3, "committed": committed, "error_code": error}
    history = History(cluster={"settings": {"offsets.retention.minutes": "60"}})
    history.says("emptied", 1_000, generation=2).says("emptied", 2_000, generation=3)
    history.request(
        api, "observer", arrived_ms + 5, arrived_at=at(arrived_ms), positions=[position]
    )
    assert ([(TOPIC, 3, at(arrived_ms + 5))] if gone else []) == [
        (row["topic"], row["partition"], row["at"]) for row in rows(history, "forgotten")
    ]


def test_a_group_that_was_never_empty_forgets_nothing(rows: Rows) -> None:
    position = {"topic": TOPIC, "partition": 3, "committed": -1, "error_code": 0}
    history = History().says("stabilized", 0, generation=1)
    assert [] == rows(
        history.request("OFFSET_FETCH", "observer", 10**9, positions=[position]), "forgotten"
    )
