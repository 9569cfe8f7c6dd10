"""What tests say of the verdicts of whole runs, on real clusters.

One thing no test can promise is a machine that never stands still, and keeps no process waiting for
a processor. Where it did at a judged moment, the judge withholds that judgement (UNKNOWN, with how
long): such a verdict is neither demanded nor taken for a pass, and the test's output says which
were withheld. All else must be as expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from harness.history.derived import SPOILT

if TYPE_CHECKING:
    from pathlib import Path


def read_verdicts(run_dir: Path) -> list[dict[str, Any]]:
    """The rows of a run that has been judged."""
    rows: list[dict[str, Any]] = pq.read_table(run_dir / "verdicts.parquet").to_pylist()
    return rows


def told(verdicts: list[dict[str, Any]]) -> str:
    """Every verdict in a line, for the message of a failed test."""
    return "\n".join(
        f"{row['rule']}: {row['verdict']} (expected {row['expected']}): {row['reason']}"
        for row in verdicts
    )


def differing(run_dir: Path) -> list[str]:
    """Rules whose verdict is not the expected one, and not for this machine's sake."""
    withheld = withheld_by_the_machine(run_dir)
    print(f"{run_dir.parent.name}: withheld {sorted(withheld) or 'nothing'}")
    return [
        row["rule"]
        for row in read_verdicts(run_dir)
        if row["verdict"] != row["expected"] and row["rule"] not in withheld
    ]


def withheld_by_the_machine(run_dir: Path) -> set[str]:
    """Rules with nothing violated, and nothing unknown but where this machine delayed a timing."""
    judged: dict[str, list[dict[str, Any]]] = {}
    for row in pq.read_table(run_dir / "tables" / "judgements.parquet").to_pylist():
        if row["ok"] is not True:
            judged.setdefault(row["rule"], []).append(row)
    return {
        rule
        for rule, rows in judged.items()
        if all(row["ok"] is None and (row["why"] or "").startswith(SPOILT) for row in rows)
    }
