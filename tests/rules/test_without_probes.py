from __future__ import annotations

from harness.check.judge import examine
from harness.tables.engines.contract import Engine
from tests.histories import History, tables_of

RULES = (
    *("R13", "R17", "R28", "R28-list", "R28-unknown", "R29-wire", "R30-wire", "R31"),
    *("X06", "X09-wire", "X10", "X13", "X15", "X30", "X33"),
)


def test_without_a_probe_nothing_is_examined(engine: Engine) -> None:
    tables = tables_of(History().rebalance(0, 1, 1).heartbeats("member-1", 2_000), engine)
    outcome = examine(tables, RULES)
    tables.close()
    assert {} == outcome.unknown
    assert {rule: [] for rule in RULES} == outcome.rows
