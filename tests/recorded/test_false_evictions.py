"""Who was put out of the group of a recorded run, and whose process would have gone on.

Method: a kept run is judged by DuckDB, and what its pages count is held against what its experiment
does to its members.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.check.check import check
from harness.report.load import load
from harness.report.parts.evictions import false_evictions
from harness.tables.engines.contract import Engine
from tests.recorded.keep import RUNS
from tests.recorded.test_recorded_runs import copied

pytestmark = pytest.mark.long(4)


@pytest.mark.parametrize(
    ("run", "put_out"),
    [
        ("consumer-crash.librdkafka.eager.3.9.2", []),
        ("consumer-crash.java.eager.4.3.1", []),
        ("consumer-freeze.librdkafka.eager.4.3.1", [("member-2", "session")]),
        ("network-latency.librdkafka.eager.4.3.1", []),
        # A broker that slept: everybody lived.
        (
            "coordinator-silent.librdkafka.eager.4.3.1",
            [("member-3", "session"), ("member-1", "session"), ("member-2", "session")],
        ),
        # A stall, and beside it a crash: that one is right.
        ("bad-day.java.cooperative.4.3.1", [("member-1", "max poll")]),
        ("transactions.librdkafka.eager.4.3.1", [("member-1", "max poll")]),
        ("callback-stall.librdkafka.eager.4.3.1", [("member-1", "rebalance")]),
        # Its library gave up first, and its coordinator two seconds later: once.
        ("revocation-stalled.librdkafka.consumer.4.3.1", [("member-1", "max poll")]),
        ("static-day.librdkafka.eager.4.3.1", [("member-1", "max poll")]),
        # A static member that closed and one that was killed.
        ("static-epochs.librdkafka.consumer.4.3.1", []),
    ],
)
def test_only_members_whose_processes_lived_were_put_out_falsely(
    run: str, put_out: list[tuple[str, str]], tmp_path: Path, duckdb_engine: Engine
) -> None:
    run_dir = copied(RUNS / run, tmp_path / "run")
    check(run_dir, duckdb_engine)
    found = false_evictions(load(run_dir))

    assert found is not None
    assert put_out == [(each.member, each.by) for each in found]
