"""What a comparison of runs says: a table for the terminal, Markdown, a page, and Parquet."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import store
from harness.report.load import Row, load
from harness.report.outcome import outcome
from harness.report.parts import stops
from harness.report.run.page import environment
from harness.report.text.markdown import safe, table_row
from harness.report.words import NOTHING, duration, number
from harness.rules import RULES

# Judged in every run that is compared, whether its experiment names it or not, if it is there.
JOIN_COST_RULE: Final = next(id_ for id_, rule in RULES.items() if rule.headline == "join cost")


@dataclass(frozen=True)
class Compared:
    """One run of a comparison; `could_not` says why there is no run.

    Times in milliseconds, all of partitions that stopped between steady state and the end:
    `longest_ms` and its parts, `sum_ms` over all, and the join cost in heartbeat intervals.
    `generations` counts those (in KIP-848: epochs) that the group went through.
    """

    client: str
    protocol: str
    members: int | None
    run: str | None = None
    as_expected: bool | None = None
    partitions_stopped: int | None = None
    longest_ms: float | None = None
    sum_ms: float | None = None
    generations: int | None = None
    redelivered: int | None = None
    join_intervals: float | None = None
    idle_ms: float | None = None
    commit_ms: float | None = None
    detection_ms: float | None = None
    notice_ms: float | None = None
    revoke_ms: float | None = None
    join_ms: float | None = None
    sync_ms: float | None = None
    first_fetch_ms: float | None = None
    other_ms: float | None = None
    could_not: str | None = None


_WHOLE: Final = ("members", "partitions_stopped", "generations", "redelivered")
_TEXTS: Final = ("client", "protocol", "run", "could_not")


def _type(column: str) -> pa.DataType:
    if column in _TEXTS:
        return pa.string()
    if column == "as_expected":
        return pa.bool_()
    return pa.int64() if column in _WHOLE else pa.float64()


SCHEMA: Final = pa.schema([(each.name, _type(each.name)) for each in fields(Compared)])
_HEAD: Final = (
    "client", "protocol", "members", "stopped", "longest", "in all", "generations", "came twice",
    "intervals", "the longest: where the time went",
)  # fmt: skip


def compared(run_dir: Path, client: str, protocol: str, members: int | None) -> Compared:
    """Read what is compared out of a judged run; null where the table that tells is not there.

    Raises NoData where the run was not judged.
    """
    run = load(run_dir)
    stopped = stops.stopped(run)
    worst = stops.longest(run)
    phases = {phase.name: phase for phase in run.manifest.phases}
    from_at, to_at = phases["steady"].from_at, phases["drain"].from_at
    rebalances = [
        row
        for row in run.tables["rebalances"]
        if row["started_at"] is not None and from_at <= row["started_at"] <= to_at
    ]
    cost = next((row for row in run.verdicts or [] if row["rule"] == JOIN_COST_RULE), None)

    def known(table: str, value: Any) -> Any:
        return value if run.has(table) else None

    return Compared(
        client=client,
        protocol=protocol,
        members=members,
        run=f"{run_dir.parent.name}/{run_dir.name}",
        as_expected=outcome(run).kind == "as-expected",
        partitions_stopped=known(
            "stops", len({(row["topic"], row["partition"]) for row in stopped})
        ),
        longest_ms=known("stops", worst["ms"] if worst else 0.0),
        sum_ms=known("stops", float(sum(row["ms"] for row in stopped))),
        generations=known("rebalances", len({row["generation"] for row in rebalances})),
        redelivered=known("redeliveries", sum(row["count"] for row in run.tables["redeliveries"])),
        join_intervals=cost["measured_max"] if cost else None,
        **{kind.column: worst[kind.column] if worst else None for kind in stops.PARTS},
    )


def write_comparison(folder: Path, name: str, rows: Sequence[Compared]) -> None:
    """Write comparison.html, comparison.md and comparison.parquet."""
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=SCHEMA)
    store.write(folder / "comparison.parquet", [table], SCHEMA)
    (folder / "comparison.md").write_text(markdown(name, rows), encoding="utf-8")
    (folder / "comparison.html").write_text(_page(name, rows), encoding="utf-8")


def read_comparison(folder: Path) -> list[Compared]:
    """Read a comparison's rows back."""
    table = pq.read_table(folder / "comparison.parquet", page_checksum_verification=True)
    return [Compared(**row) for row in table.to_pylist()]


def lines(rows: Sequence[Compared], results: Path) -> list[str]:
    """Align the table for a terminal; whose verdicts differ and what could not run follow it.

    `results` is the folder that the runs are below.
    """
    cells = [_HEAD, *(_cells(row) for row in rows if row.could_not is None)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    table = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return [
        *table,
        *(
            f"differs: {_about(row)}: a verdict is not the expected one, see "
            f"{results / str(row.run)}/report.html"
            for row in rows
            if row.as_expected is False
        ),
        *(f"could not: {_about(row)}: {row.could_not}" for row in rows if row.could_not),
    ]


def markdown(name: str, rows: Sequence[Compared]) -> str:
    """Return the text of comparison.md."""
    cells = [_HEAD, tuple("---" for _ in _HEAD)]
    cells += [tuple(map(safe, _cells(row))) for row in rows if row.could_not is None]
    table = [table_row(*line) for line in cells]
    differing = [
        f"- differs: {safe(_about(row))}: a verdict is not the expected one, see "
        f"[report.html]({_link(row)})"
        for row in rows
        if row.as_expected is False
    ]
    missing = [
        f"- could not: {safe(_about(row))}: {safe(row.could_not)}" for row in rows if row.could_not
    ]
    return "\n".join(
        [f"## {safe(name)} under each protocol", "", *table, "", *differing, *missing, ""]
    )


def _cells(row: Compared) -> tuple[str, ...]:
    return (
        row.client,
        row.protocol,
        number(row.members),
        number(row.partitions_stopped),
        duration(row.longest_ms),
        duration(row.sum_ms),
        number(row.generations),
        number(row.redelivered),
        number(row.join_intervals),
        stops.said(_as_stop(row)) if row.longest_ms else NOTHING,
    )


def _about(row: Compared) -> str:
    members = "" if row.members is None else f", {row.members} members"
    return f"{row.client}, {row.protocol}{members}"


def _link(row: Compared) -> str:
    """The page of a run, from the comparison's folder."""
    return f"../../{row.run}/report.html"


def _as_stop(row: Compared) -> Row:
    return {**asdict(row), "ms": row.longest_ms or 0.0}


def _page(name: str, rows: Sequence[Compared]) -> str:
    longest_ms = max((row.longest_ms or 0.0 for row in rows), default=0.0)
    shown: list[dict[str, Any]] = [
        {
            "row": row,
            "cells": dict(zip(_HEAD, _cells(row), strict=True)),
            "parts": list(stops.parts(_as_stop(row), longest_ms)),
            "link": _link(row),
        }
        for row in rows
        if row.could_not is None
    ]
    missing = [(_about(row), row.could_not) for row in rows if row.could_not]
    template = environment().get_template("comparison.html.j2")
    return template.render(name=name, rows=shown, missing=missing, kinds=stops.PARTS)
