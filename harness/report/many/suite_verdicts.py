"""The verdicts of all runs of a suite, and what they add up to."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import Exit, NoData
from harness.base.paths import COMMAND
from harness.base.words import plural
from harness.experiment import Verdict
from harness.history import judged
from harness.history.derived import SPOILT, VERDICTS, VERDICTS_FILE
from harness.history.suites import AGAIN, UNJUDGED, Entry, State, Suite
from harness.report.load import Row
from harness.report.outcome import differs, exit_code

# `verdicts.parquet` of a suite: one row per run and rule.
SUITE_VERDICTS: Final = pa.schema(
    [
        ("run", pa.string()),
        ("experiment", pa.string()),
        ("kafka", pa.string()),
        ("seed", pa.int64()),
        ("folder", pa.string()),  # of the run, from the suite's folder
        *((column.name, column.type) for column in VERDICTS),
    ]
)


_ENDED: Final = {
    State.DIFFERS: "with a verdict that differs",
    State.VOID: "void",
    State.FAILED: "failed",
    State.INTERRUPTED: "interrupted",
    State.SPOILT: "spoilt and played again",
    State.PLANNED: "not played",
}


def refresh_states(suite: Suite) -> None:
    """Have the states of its runs say what their folders say: they may have been judged again.

    A suite that was killed has the runs that it had not judged yet as interrupted. A run whose
    verdicts are gone could not be judged; one that was removed whole stays what it was.
    """
    for entry in suite.entries:
        run_dir = suite.run_dir(entry)
        unjudged = entry.state is State.FAILED and entry.reason.startswith(UNJUDGED)
        may_be = entry.judged or unjudged or entry.state is State.INTERRUPTED
        if not may_be or run_dir is None or not run_dir.exists():
            continue
        state, reason = state_of(run_dir)
        if state is not State.FAILED or entry.judged:
            entry.state, entry.reason = state, reason


def state_of(run_dir: Path) -> tuple[State, str]:
    """What judging a run came to, and why, if that is nothing."""
    states = {Exit.AS_EXPECTED: State.AS_EXPECTED, Exit.DIFFERS: State.DIFFERS}
    try:
        state, problem = states.get(exit_code(run_dir), State.FAILED), "no rule was"
    except NoData as error:
        state, problem = State.FAILED, str(error)
    return state, f"{UNJUDGED}: {problem}" if state is State.FAILED else ""


def verdicts_of(suite: Suite, entry: Entry) -> list[Row]:
    """The verdicts of one run, as rows of SUITE_VERDICTS.

    Of a run that shows nothing every declared rule is UNKNOWN, with the reason; of one that was
    not played, or played again in its place, there is no row. What was to take another's place and
    shows nothing leaves it to that one. Of a run that was removed whole, the suite's own table has
    them.
    """
    if entry.state in (State.PLANNED, State.SPOILT):
        return []
    if entry.label.endswith(AGAIN) and not entry.judged:
        return []
    run_dir, folder = suite.run_dir(entry), entry.folder
    run = Path(folder).name if folder else ""
    if entry.judged and run_dir is not None and run_dir.exists():
        judged.settle(run_dir)
        rows = rows_in(run_dir / VERDICTS_FILE, again(run_dir))
    elif entry.judged:
        remedy = f"{run_dir} was removed, so what it showed is nowhere else"
        return [row for row in rows_in(suite.path / VERDICTS_FILE, remedy) if row["run"] == run]
    else:
        rows = [_unknown(entry, rule) for rule in entry.rules]
    about = {"run": run, "folder": folder, "seed": entry.seed}
    about |= {"experiment": entry.experiment, "kafka": entry.kafka}
    return [{**about, **row} for row in rows]


def again(run_dir: Path) -> str:
    """What to do about a run whose tables are damaged."""
    return f"judge the run again with `{COMMAND} check {run_dir}`"


def rows_in(path: Path, remedy: str, columns: list[str] | None = None) -> list[Row]:
    """All rows of a table. Raises NoData with the remedy where it is damaged or gone."""
    try:
        table = pq.read_table(path, columns=columns, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise NoData(f"{path} cannot be read ({error}): {remedy}") from error
    return list(table.to_pylist())


def _unknown(entry: Entry, rule: Row) -> Row:
    from harness.rules import RULES

    found = RULES.get(rule["id"])
    return {
        "rule": rule["id"],
        **{name: getattr(found, name, None) for name in ("source", "statement", "unit")},
        "protocol": entry.protocol,
        "client": entry.client,
        "expected": rule["expected"],
        "verdict": str(Verdict.UNKNOWN),
        **dict.fromkeys(("examined", "violations", "unknowns"), 0),
        "reason": f"the run is {entry.state}: {entry.reason}",
    }


def only_withheld(suite: Suite, entry: Entry) -> bool:
    """Whether all that differs in a run is what was withheld because this machine stalled."""
    run_dir = suite.run_dir(entry)
    if entry.state is not State.DIFFERS or run_dir is None:
        return False
    return all(
        verdict["verdict"] == Verdict.UNKNOWN
        and verdict["unknowns"]
        and _withheld(run_dir / str(verdict["evidence"]))
        for verdict in differing(verdicts_of(suite, entry))
    )


def _withheld(violations: Path) -> bool:
    try:
        rows = rows_in(violations, "judge the run again")
    except NoData:  # unknown
        return False
    unknown = [row for row in rows if row["ok"] is None]
    return bool(unknown) and all(str(row["why"]).startswith(SPOILT) for row in unknown)


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SUITE_VERDICTS)


def headline(suite: Suite) -> str:
    if not suite.entries:
        return "Nothing was played"
    spoilt = suite.count(State.SPOILT)
    total = plural(len(suite.entries) - spoilt, "run")
    if suite.exit_code is Exit.AS_EXPECTED and suite.count(State.PLANNED) == 0:
        again = f", {spoilt} of them only when played again" if spoilt else ""
        return f"All {total} as expected{again}"
    parts = [f"{suite.count(State.AS_EXPECTED)} of {total} as expected"]
    parts += [
        f"{count} {words}" for state, words in _ENDED.items() if (count := suite.count(state))
    ]
    return ", ".join(parts)


def differing(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if differs(row)]
