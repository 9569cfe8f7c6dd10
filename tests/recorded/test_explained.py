"""From their lines alone, `explain` finds the rebalances and evictions that a run's history has.

Method: the lines of each recorded run are written as other brokers would write them, one file per
broker and no request log. Every rebalance and eviction that is found has to be one of the tables
that are derived from the whole history, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from harness.history.foreign import events, log_files
from harness.report.incident import explain_tables as of_incident
from harness.report.incident.by_brokers import incident_of
from harness.report.incident.names import Names
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import One
from harness.tables.source import read_run
from tests.foreign_logs import LAYOUTS, write_logs
from tests.recorded.keep import PROGRAMS, RUNS
from tests.recorded.recorded_tables import Row, derived, rows_of

KEPT: Final = sorted([*RUNS.iterdir(), *PROGRAMS.iterdir()])
TABLES: Final = ("rebalances", "evictions")
SAME: Final = (
    *("generation", "trigger", "trigger_member_id", "reason", "coordinator", "started_at"),
    *("joined_at",),
)


@pytest.mark.parametrize("run", KEPT, ids=lambda run: run.name)
def test_a_run_s_lines_give_its_rebalances_and_evictions(
    run: Path, tmp_path: Path, duckdb_engine: Engine, kept: Callable[[str], One]
) -> None:
    about = read_run(run)
    layout = LAYOUTS[KEPT.index(run) % len(LAYOUTS)]
    lines = pq.read_table(run / "history" / "coordinator_events.parquet").to_pylist()
    found = explained(
        write_logs(tmp_path, lines, layout, old=".3.9." in run.name), str(about.settings["group"])
    )

    ours = run.parent == RUNS
    tables = rows_of(kept(run.name), *TABLES) if ours else derived(run, duckdb_engine, *TABLES)
    rebalances = sorted(tables["rebalances"], key=lambda row: row["joined_at"])
    evictions = sorted(tables["evictions"], key=lambda row: row["evicted_at"])

    assert [[row[name] for name in SAME] for row in rebalances] == [
        [row[name] for name in SAME] for row in found["rebalances"]
    ]
    unknown = 0
    for whole, by_lines in zip(rebalances, found["rebalances"], strict=True):
        if whole["protocol"] == "consumer":
            unknown += 1  # of the classic generation after it no line says who was there before
        elif by_lines["members_before"] is not None or not unknown:
            assert whole["members_before"] == by_lines["members_before"]
        if whole["protocol"] != "consumer":
            assert whole["members_after"] == by_lines["members_after"]
            assert whole["synced_at"] == by_lines["synced_at"]
        if by_lines["synced_at"] is not None:  # else only the requests have it
            assert whole["leader_member_id"] == by_lines["leader_member_id"]
    assert [(row["member_id"], row["broker"], row["evicted_at"]) for row in evictions] == [
        (row["member_id"], row["broker"], row["evicted_at"])
        for row in found["evictions"]
        if row["cause"] == "session_expired"
    ]


def explained(logs: Path, group: str) -> dict[str, list[Row]]:
    """What `explain` makes of a folder of logs."""
    read = events.read(log_files.files_of([logs]))
    incident = incident_of(read, group)
    found = of_incident.tables_of(incident.groups, read, Names(incident, read.clients))
    return {
        name: sorted(table.to_pylist(), key=lambda row: row.get("joined_at") or row["evicted_at"])
        for name, table in found.items()
    }
