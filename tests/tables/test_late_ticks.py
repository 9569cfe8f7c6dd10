from __future__ import annotations

import pytest

from harness.tables.engines.base import Engine
from tests.histories import History, at
from tests.tables.rows import rows


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
    engine: Engine, ticks: list[tuple[float, float]], from_ms: float
) -> None:
    history = History()
    for ms, late_ms in ticks:
        history.tick(ms, late_ms)
    (late,) = rows(history, engine, "late_ticks")
    assert (at(from_ms), at(1_340), 60) == (late["from_at"], late["to_at"], late["late_ms"])
