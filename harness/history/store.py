"""Parquet files to be trusted: checksummed pages, a schema version, never half-written."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.base.whole import whole
from harness.history.schema import SCHEMA_VERSION

VERSION_KEY: Final = b"schema_version"
PIECE: Final = 50_000  # rows that are looked at together
MOST_ROWS: Final = 500_000  # of one table in memory: 250 MB of requests
_LAST: Final = 2**63 - 1


def table_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table of exactly this schema.

    A column that a row lacks is null. Times may be integers of microseconds since the epoch.
    """
    kept = list(rows)
    columns = []
    for item in schema:
        values = [row.get(item.name) for row in kept]
        if pa.types.is_timestamp(item.type):
            columns.append(pa.array(values, pa.int64()).cast(item.type))
        else:
            columns.append(pa.array(values, item.type))
    return pa.table(columns, schema=schema)


class Packed:
    """Rows of one table that grows with a run: in memory as Arrow holds them, and then in files.

    A day of a group has millions of requests. Collecting them takes 0.5 kB of memory for each, and
    1.7 kB as a list of dicts (measured with 257,400 of them). So each `MOST_ROWS` of them go to a
    file in `folder`, which the caller removes. No row is given back but by `tables`: in the
    order of the column `order`, those that lack it last, and else in the order in which they came.
    """

    def __init__(self, schema: pa.Schema, folder: Path, order: str | None = None) -> None:
        self._schema = schema
        self._folder = folder
        self._order = order
        self._pieces: list[pa.Table] = []
        self._rows = 0  # of the pieces
        self._files: list[Path] = []

    def extend(self, rows: Iterable[dict[str, Any]]) -> None:
        rest = iter(rows)
        while piece := list(islice(rest, PIECE)):
            self._pieces.append(table_of(piece, self._schema))
            self._rows += len(piece)
            if self._rows >= MOST_ROWS:
                self._spill()

    def tables(self) -> Iterator[pa.Table]:
        """All rows, in tables of which none is large."""
        if not self._files:
            yield self._sorted(self._pieces)
            return
        self._spill()
        with ExitStack() as opened:
            files = [opened.enter_context(pq.ParquetFile(path)) for path in self._files]
            batches = [file.iter_batches(batch_size=PIECE) for file in files]
            if self._order is None:
                for batch in chain.from_iterable(batches):
                    yield _table(batch)
            else:
                yield from self._merged([map(_table, each) for each in batches], self._order)

    def _merged(self, runs: list[Iterator[pa.Table]], order: str) -> Iterator[pa.Table]:
        """The rows of files that are in order each.

        Up to the least of the last keys of all files' first pieces nothing is missing, once those
        that end with that key have all their rows that have it.
        """
        first = [next(run, None) for run in runs]
        while there := [piece for piece in first if piece is not None]:
            border = min(_last_key(piece, order) for piece in there)
            ready = []
            for number, run in enumerate(runs):
                piece = first[number]
                if piece is None:
                    continue
                while _last_key(piece, order) == border and (more := next(run, None)) is not None:
                    piece = pa.concat_tables([piece, more])
                count = bisect_right(_keys(piece, order), border)
                ready.append(piece.slice(0, count))
                first[number] = piece.slice(count) if count < len(piece) else next(run, None)
            yield self._sorted(ready)

    def _sorted(self, pieces: Iterable[pa.Table]) -> pa.Table:
        rows = pa.concat_tables([self._schema.empty_table(), *pieces])
        if self._order is None:
            return rows
        return rows.take(pc.sort_indices(rows, [(self._order, "ascending")]))  # which is stable

    def _spill(self) -> None:
        if self._pieces:
            path = self._folder / f"{len(self._files)}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(self._sorted(self._pieces), path, compression="zstd")
            self._files.append(path)
        self._pieces, self._rows = [], 0


Kept = Mapping[str, list[dict[str, Any]] | Packed]  # the rows of each table


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _keys(rows: pa.Table, order: str) -> list[int]:
    """What rows are in order by; those that lack it come last."""
    return [_LAST if key is None else key for key in rows[order].cast(pa.int64()).to_pylist()]


def _last_key(rows: pa.Table, order: str) -> int:
    return _keys(rows.slice(len(rows) - 1), order)[0]


def write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write tables of one schema as one file, whole or not at all: renamed when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    marked = schema.with_metadata({VERSION_KEY: str(SCHEMA_VERSION).encode()})
    with (
        whole(path) as half,
        pq.ParquetWriter(half, marked, compression="zstd", write_page_checksum=True) as writer,
    ):
        for table in tables:
            writer.write_table(table.select(marked.names).cast(marked))


def as_current(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with exactly the columns of `schema`; those that an older version lacks are null."""
    for column in schema:
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(len(rows), column.type))
    return rows.select(schema.names)


def row_counts(about: pq.FileMetaData) -> set[int]:
    """How many rows a file says that it has, in all places where it does.

    Its footer has no checksum, so that a whole file has just one number, and as many rows.
    """
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    flat = [
        number
        for number in range(about.num_columns)
        if about.schema.column(number).max_repetition_level == 0
    ]
    counts = {about.num_rows, sum(group.num_rows for group in groups)}
    return counts | {sum(group.column(number).num_values for group in groups) for number in flat}


def late_ticks(run_dir: Path, slack_ms: float) -> int:
    """How often this machine's clock came later than the slack in a run; 0 if not recorded."""
    path = run_dir / "history" / "host.parquet"
    if not path.exists():
        return 0
    late_ms = pq.read_table(path, columns=["late_ms"])["late_ms"]
    return sum(late is not None and late > slack_ms for late in late_ms.to_pylist())
