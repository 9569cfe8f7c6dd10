"""Every recorded run is judged as before: each verdict and each number.

Method: a kept run is copied and checked like any other, and what is found is compared with what was
found when it was kept. A change that is meant is looked at by `make diff-recorded`, and kept by
`make pin`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

import harness.check.check as checking
from harness.check import others
from harness.rules import RULES
from harness.tables.engines.base import Engine
from harness.tables.source import read_run
from tests import agreements
from tests.agreements import Queries
from tests.recorded import digests
from tests.recorded.keep import RUNS

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

KEPT = sorted(path.name for path in RUNS.iterdir())


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_is_judged_as_before(
    run: str,
    tmp_path: Path,
    engines_for: Callable[[Callable[[], Queries]], list[Engine]],
    snapshot: SnapshotAssertion,
) -> None:
    engines = engines_for(lambda: queries_of(RUNS / run, judged))
    judgements = [judged(RUNS / run, tmp_path / engine.name, engine) for engine in engines]

    assert judgements[:1] * len(judgements) == judgements
    assert digests.judgements(judgements[0]) == snapshot, digests.differ(run)


def judged(run: Path, run_dir: Path, engine: Engine) -> str:
    """What the engine makes of a copy of the run: a line for each verdict, and for each row."""
    verdicts = check(copied(run, run_dir), engine)
    rows = pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist()

    assert [] == [each["rule"] for each in verdicts if each["verdict"] != each["expected"]]
    return "\n".join([*map(as_verdict, verdicts), "", *map(as_row, rows)])


def check(run_dir: Path, engine: Engine, **how: Any) -> list[dict[str, Any]]:
    """The verdicts; Spark judges by declared rules alone, since others take it a minute."""
    with ExitStack() as stack:
        if engine.name == "spark":
            stack.enter_context(patch.object(others, "others_of", return_value=[]))
        return checking.check(run_dir, engine, **how).verdicts


def copied(run: Path, run_dir: Path) -> Path:
    """A copy of a kept run, to be judged."""
    shutil.copytree(run, run_dir)
    return run_dir


def queries_of(run: Path, comparing: Callable[..., object]) -> agreements.Queries:
    """What judges this run, compared by this function."""
    about = read_run(run)
    declared = {each["rule"] for each in about.expected}
    rules = [rule.id for rule in RULES.values() if rule.evidence or rule.always]
    return agreements.queries_of_rules({*rules, *declared}, about.client, comparing)


def as_verdict(verdict: dict[str, Any]) -> str:
    return f"{verdict['rule']} {verdict['verdict']} of {verdict['examined']}"


def as_row(row: dict[str, Any]) -> str:
    text = f"{row['rule']} {row['subject']}: {row['ok']}, {row['measured']} of "
    text += f"{row['bound_low']} to {row['bound_high']}"
    return text + (f" ({row['excused']})" if row["excused"] else "")


def test_runs_of_both_clients_and_all_protocols_are_kept() -> None:
    sorts = {tuple(name.split(".")[1:3]) for name in KEPT}
    assert {
        (client, protocol)
        for client in ("librdkafka", "java")
        for protocol in ("eager", "cooperative", "consumer")
    } == sorts
