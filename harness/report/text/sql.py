"""`sql`: questions about the tables of one run, or of many, answered by DuckDB."""

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TextIO

import duckdb
from rich.console import Console
from rich.text import Text

from harness.base import processes
from harness.base.errors import BadInput, NoData
from harness.history import judged
from harness.history.derived import TABLES, VERDICTS
from harness.history.schema import HISTORY
from harness.report.text.columns import align, show, width_of
from harness.report.text.sql_tables import EXAMPLES

FORMATS: Final = ("table", "csv", "json")
MOST_ROWS: Final = 200  # of a table on a terminal: more are for a file
_SCHEMAS: Final = {**HISTORY, **TABLES, "verdicts": VERDICTS}
_EMPTY: Final = "kafka_chaos_empty_"  # begins the name of a table with every column and no row
# What is wrong with a query, and not with a file.
_OF_THE_QUERY: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.NotImplementedException,
)
_AGAIN_S: Final = 0.1  # from one interruption of a query to the next
_GLOB: Final = re.compile(r"([\[*?])")


@contextmanager
def opened(runs: Sequence[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with a view for each table that any of these runs has.

    Of several runs each row says its `run` and `experiment`. Raises NoData where a file cannot be
    read.
    """
    with (
        # For what does not fit into memory. By default that goes into the current folder.
        processes.scratch("sql") as scratch,
        duckdb.connect(":memory:", config={"temp_directory": str(scratch)}) as database,
    ):
        database.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        for run in runs:
            judged.settle(run)
        for name in EXAMPLES:
            if files := [file for run in runs if (file := _file(run, name)).is_file()]:
                database.register(f"{_EMPTY}{name}", _SCHEMAS[name].empty_table())
                try:
                    database.execute(_view(name, files, several=len(runs) > 1))
                except duckdb.Error as error:
                    raise NoData(f"{name} cannot be read: {_sentence(error)}") from error
        yield database


def _file(run: Path, name: str) -> Path:
    folder = "history" if name in HISTORY else "tables" if name in TABLES else ""
    return run / folder / f"{name}.parquet"


def _view(name: str, files: Sequence[Path], *, several: bool) -> str:
    """A view with all columns of today: those that an older file has not are null."""
    listed = ", ".join(_literal(_GLOB.sub(r"[\1]", str(file.resolve()))) for file in files)
    source = (
        f"(SELECT * FROM {_EMPTY}{name} UNION ALL BY NAME SELECT * FROM "
        f"read_parquet([{listed}], union_by_name = true, filename = 'kafka_chaos_file'))"
    )
    whose = ""
    if several:
        up = -2 if name == "verdicts" else -3  # parts of the path from its end
        whose = (
            f"parse_path(kafka_chaos_file)[{up}] AS run, "
            f"parse_path(kafka_chaos_file)[{up - 1}] AS experiment, "
        )
    return f"CREATE VIEW {name} AS SELECT {whose}* EXCLUDE (kafka_chaos_file) FROM {source}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def ask(database: duckdb.DuckDBPyConnection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and the rows that a query gives.

    Raises BadInput where it cannot be understood, NoData where a file cannot be read.
    """

    def answer() -> tuple[list[str], list[tuple[Any, ...]]]:
        found = database.execute(query)
        return [column[0] for column in found.description or ()], found.fetchall()

    # An interruption is raised in the main thread. Within a query DuckDB would wait there for
    # threads of its own, which go on to the end unless they are stopped.
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="query") as beside:
        asked = beside.submit(answer)
        try:
            return asked.result()
        except KeyboardInterrupt:
            # DuckDB forgets an interruption that comes before the query has begun.
            while not asked.done():
                database.interrupt()
                wait([asked], timeout=_AGAIN_S)
            raise
        except _OF_THE_QUERY as error:
            raise BadInput(f"{_sentence(error)}; `sql RUN` lists the tables") from error
        except duckdb.Error as error:
            raise NoData(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(said) or type(error).__name__


def write(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], how: str, file: TextIO | None = None
) -> None:
    """Write rows to this file, or to standard output, in one of FORMATS."""
    out = file or sys.stdout
    if how == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(value) for value in row] for row in rows)
    elif how == "json":
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        out.write(json.dumps(named, indent=2, default=_plain) + "\n")
    else:
        _print(columns, rows, Console(file=out, highlight=False))


def _print(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], console: Console) -> None:
    if not columns:
        return
    cells = [list(columns), *([_shown(value) for value in row] for row in rows[:MOST_ROWS])]
    right = [
        place
        for place in range(len(columns))
        if rows and all(isinstance(row[place], int | float | None) for row in rows)
    ]
    free = [place for place in range(len(columns)) if place not in right]
    head, *lines = align(cells, width_of(console), free=free, right=right)
    show(console, [Text(head, "bold"), *map(Text, lines)])
    if len(rows) > MOST_ROWS:
        show(console, [Text(f"… and {len(rows) - MOST_ROWS:,} more rows: --format csv has all")])


def _plain(value: object) -> object:
    """A value as CSV and JSON can have it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return value / timedelta(milliseconds=1)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | dict):
        return json.dumps(value, default=_plain)
    return str(value)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, timedelta):
        return f"{value / timedelta(milliseconds=1):,.1f} ms"
    return " ".join(str(_plain(value)).split())


def list_tables(database: duckdb.DuckDBPyConnection | None) -> None:
    """Print every table in words, with one question and its query; of runs, those that they have.

    Where there are runs, each table is followed by how many rows it has.
    """
    lines = []
    for name in EXAMPLES if database is None else tables_in(database):
        about, question, query = EXAMPLES[name]
        if database is not None:
            about += f" ({ask(database, f'SELECT count(*) FROM {name}')[1][0][0]:,} rows)"
        lines += [
            Text(name, "bold").append(f"  {about}", "not bold"),
            Text(f"    {question}", "dim"),
            Text(f"    {query}"),
        ]
    show(Console(highlight=False), lines)


def tables_in(database: duckdb.DuckDBPyConnection) -> list[str]:
    found = {name for (name,) in ask(database, "SELECT view_name FROM duckdb_views()")[1]}
    return [name for name in EXAMPLES if name in found]
