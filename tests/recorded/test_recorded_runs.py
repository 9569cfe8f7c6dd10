"""Every recorded run is judged as before: each verdict and each number.

Method: what a kept run comes to is compared with what it came to when it was kept. A change that is
meant is looked at by `make diff-recorded`, and kept by `make pin`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.check.check import Found
from harness.check.judge import to_table
from harness.experiment import Verdict
from tests.recorded import digests
from tests.recorded.keep import RUNS

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

KEPT = sorted(path.name for path in RUNS.iterdir())


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_is_judged_as_before(
    run: str, found: Callable[[str], Found], snapshot: SnapshotAssertion
) -> None:
    verdicts, rows = found(run).verdicts, to_table(found(run).outcome).to_pylist()

    assert [] == [each["rule"] for each in verdicts if each["verdict"] != each["expected"]]
    text = "\n".join([*map(as_verdict, verdicts), "", *map(as_row, rows)])
    assert digests.judgements(text) == snapshot, digests.differ(run)


@pytest.mark.parametrize("run", KEPT)
def test_a_recorded_run_keeps_the_rules_that_its_experiment_does_not_declare(
    run: str, found: Callable[[str], Found], snapshot: SnapshotAssertion
) -> None:
    """What each comes to is pinned, so that a rule which examines less than before is seen too."""
    others = found(run).others

    assert [] == [
        f"{row['rule']} {row['verdict']}: {row['reason']}"
        for row in others
        if row["verdict"] != Verdict.HOLDS
    ]
    counts = [f"{row['rule']} {row['examined']}" for row in others]
    assert "\n".join(digests.paragraphs({"HOLDS": counts})) == snapshot, digests.differ(run)


def copied(run: Path, run_dir: Path) -> Path:
    """A copy of a kept run, to be judged."""
    shutil.copytree(run, run_dir)
    return run_dir


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
