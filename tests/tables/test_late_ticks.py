from __future__ import annotations

import pytest

from tests.histories import History, at
from tests.tables.table_rows import Rows


@pytest.mark.parametrize(
    ("ticks", "from_ms"),
    [
        ([(1_340, 60)], 1_180),
        # More ticks of its row were late: it began with the row before.
        ([(900, 0.2), (1_000, 0.2), (1_340, 60), (1_440, 0.2)], 1_000),
        ([(1_200, 0.2), (1_340, 60)], 1_180),
    ],
)
def test_a_late_tick_is_looked_for_in_its_whole_row(
    rows: Rows, ticks: list[tuple[float, float]], from_ms: float
) -> None:
    history = History()
    for ms, late_ms in ticks:
        history.tick(ms, late_ms)
    (late,) = rows(history, "late_ticks")
    assert (at(from_ms), at(1_340), 60) == (late["from_at"], late["to_at"], late["late_ms"])


def ticked(*rows_of_host: tuple[float, float, float]) -> History:
    """Rows of a tick each: the time of day and the other clock in milliseconds, and how late."""
    history = History()
    for ms, clock_ms, late_ms in rows_of_host:
        history.add("host", at=at(ms), late_ms=late_ms, clock_us=round(clock_ms * 1_000))
    return history


@pytest.mark.parametrize(
    ("told_ms", "found"),
    [
        (1_050, []),
        (1_050.001, [(0, 1_050.001, 50.001)]),
        (949.999, [(0, 949.999, 50.001)]),
        # Set back to before the first tick.
        (-2_000, [(-2_000, 0, 3_000)]),
    ],
)
def test_a_time_of_day_that_went_otherwise_than_the_clock_was_set(
    rows: Rows, told_ms: float, found: list[tuple[float, float, float]]
) -> None:
    """The clock told that a second passed."""
    ticks = ticked((0, 0, 0), (told_ms, 1_000, 95))
    told = [row for row in rows(ticks, "late_ticks") if row["what"] == "set"]
    assert [(at(begin), at(end), ms) for begin, end, ms in found] == [
        (row["from_at"], row["to_at"], round(row["late_ms"], 3)) for row in told
    ]


@pytest.mark.parametrize(
    ("passed_ms", "late_ms", "unseen_ms"),
    [
        (150, 0, None),
        (150.001, 0, 50.001),
        # Ten ticks of 100 ms may each have been as late as the one that is told.
        (1_150, 100, None),
        (1_150.001, 100, 50.001),
    ],
)
def test_ticks_are_missing_where_more_time_passed_than_ten_late_ones_took(
    rows: Rows, passed_ms: float, late_ms: float, unseen_ms: float | None
) -> None:
    ticks = ticked((0, 0, 0), (passed_ms, passed_ms, late_ms))
    told = [row for row in rows(ticks, "late_ticks") if row["what"] != "late"]
    expected = [] if unseen_ms is None else [("unseen", at(0), at(passed_ms), unseen_ms)]
    assert expected == [
        (row["what"], row["from_at"], row["to_at"], round(row["late_ms"], 3)) for row in told
    ]


def test_a_tick_is_late_by_more_than_the_slack(rows: Rows) -> None:
    """Of the row of 60 ms it is 160 ms before, and not the row's own beginning."""
    history = History().tick(1_000, 0).tick(2_000, 50).tick(3_000, 60)
    (late,) = rows(history, "late_ticks")
    assert (at(2_000), at(3_000), 60) == (late["from_at"], late["to_at"], late["late_ms"])


def test_rows_are_in_order_of_the_clock_and_not_of_the_time_of_day(rows: Rows) -> None:
    """Set back by 1.5 s between the second and the third."""
    history = ticked((0, 0, 0), (1_000, 1_000, 95), (500, 2_000, 95), (1_500, 3_000, 95))
    told = [row for row in rows(history, "late_ticks") if row["what"] == "set"]
    assert [(at(500), at(1_000), 1_500)] == [
        (row["from_at"], row["to_at"], row["late_ms"]) for row in told
    ]
