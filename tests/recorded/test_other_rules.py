"""No recorded run is accused by a rule that its experiment does not declare.

Method: each kept run is looked at by every rule that speaks of its client and protocol, as a part
of a dataset of all of them. What each comes to is pinned, so that a rule which examines less than
before is seen as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from harness.check.others import look_at
from harness.experiment import Verdict
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import Many, One
from tests.recorded import digests
from tests.recorded.keep import RUNS
from tests.recorded.recorded_tables import many_kept

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

KEPT = sorted(path.name for path in RUNS.iterdir())


@pytest.fixture(scope="module")
def kept(duckdb_engine: Engine) -> Iterator[Many]:
    """All kept runs."""
    many = many_kept([RUNS / run for run in KEPT], duckdb_engine)
    yield many
    many.close()


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_keeps_the_rules_that_nobody_declared(
    run: str, kept: Many, snapshot: SnapshotAssertion
) -> None:
    found = look_at(One(kept, KEPT.index(run)))

    assert [] == [
        f"{row['rule']} {row['verdict']}: {row['reason']}"
        for row in found
        if row["verdict"] != Verdict.HOLDS
    ]
    counts = [f"{row['rule']} {row['examined']}" for row in found]
    assert "\n".join(digests.paragraphs({"HOLDS": counts})) == snapshot, digests.differ(run)
