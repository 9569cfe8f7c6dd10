"""Tables that people read are in order of time, or of what they are about."""

from __future__ import annotations

import pytest

from harness.tables.engines.contract import Engine
from tests.histories import History, parts, tables_of

# Of a topic that comes before the usual one.
OTHER = {"topic": "another", "partition": 0}
ORDER = {
    "evictions": ("evicted_at", "member_id"),
    "ownership": ("topic", "partition", "from_at"),
    "ownership_by_brokers": ("topic", "partition", "from_at"),
    "rebalances": ("joined_at",),
    "stops": ("from_at", "topic", "partition"),
}


def the_wrong_way_round() -> History:
    """Everything that comes first is told last."""
    history = History().member("member-1").member("member-2")
    for ms, member in ((9_000, "member-2"), (9_000, "member-1"), (8_000, "member-3")):
        history.says("evicted", ms, member)
    for ms in (7_000, 100):
        given = [*parts(1, 0), OTHER]
        history.sync("member-1", ms, assigned=given).join("member-1", ms + 4_000, assignors=["x"])
        for event, when in (("assigned", ms), ("revoked", ms + 4_000)):
            history.event("member-1", event, when)
            history.rows["client_events"][-1]["partitions"] = given
    history.rebalance(5_000, 2, 2).rebalance(1_000, 1, 2)
    for number in (1, 0):
        for at_ms in (5_500, 4_900, 1_500, 900, 800):
            first = int(at_ms)
            history.delivered("member-1", number, first, first + 9, at_ms)
    return history


@pytest.mark.parametrize("table", ORDER)
def test_rows_are_in_order(engine: Engine, table: str) -> None:
    tables = tables_of(the_wrong_way_round(), engine)
    try:
        found = tables.table(table).toArrow().to_pylist()
    finally:
        tables.close()
    keys = [tuple(row[name] for name in ORDER[table]) for row in found]
    assert sorted(keys) == keys
    assert len({key[0] for key in keys}) > 1, "the first of these columns orders nothing"
