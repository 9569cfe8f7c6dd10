"""What a run showed as plain values, for programs: `experiment NAME --json`.

The numbers are those of the terminal's last lines; null is what was not recorded.
"""

import json
from math import isfinite
from typing import Any, Final

from harness.report import outcome
from harness.report.headline import of_run
from harness.report.load import JudgedRun, Row
from harness.report.parts.record_counts import records
from harness.report.parts.stops import longest_ms
from harness.report.parts.story import costs

_COLUMNS: Final = (
    *("examined", "violations", "left_out", "measured_min", "measured_max"),
    *("bound_low", "bound_high", "unit", "reason"),
)


def values(run: JudgedRun) -> dict[str, Any]:
    """The outcome in a sentence, where its page is, what it cost, and each verdict.

    No standstill is given where records were left unread: it went on when the run ended.
    """
    result = of_run(run)
    count = records(run)
    still_ms = None if count.unseen else longest_ms(run)
    folder = run.path.resolve()
    return {
        "experiment": run.manifest.experiment,
        "run": run.manifest.run,
        "folder": str(folder),
        "page": str(folder / "report.html"),
        "exit_code": int(outcome.exit_code_of(run.manifest, run.verdicts)),
        "finding": result.finding or None,
        "headline": result.headline,
        "sentence": f"{result.headline.rstrip('.')}. {result.detail}",
        "standstill_s": None if still_ms is None else still_ms / 1_000,
        "acknowledged": count.acknowledged,
        "lost": count.lost,
        "unread": count.unseen,
        "repeats": count.redelivered,
        "fetched_only": count.fetched_only,
        "costs": costs(run),
        "verdicts": [_verdict(row) for row in outcome.in_order(run.verdicts or [])],
    }


def as_json(run: JudgedRun) -> str:
    return json.dumps(values(run), indent=2, allow_nan=False)


def _verdict(row: Row) -> dict[str, Any]:
    def finite(value: Any) -> Any:  # JSON has no other numbers
        return None if isinstance(value, float) and not isfinite(value) else value

    return {
        "rule": row["rule"],
        "name": outcome.name_of(row["rule"]),
        "title": outcome.title_of(row) or row["statement"],
        "verdict": outcome.verdict_of(row),
        "expected": outcome.expected_of(row),
        "as_expected": not outcome.differs(row),
        **{column: finite(row[column]) for column in _COLUMNS},
    }
