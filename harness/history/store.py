"""Parquet files to be trusted: checksummed pages, a schema version, never half-written."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history.schema import SCHEMA_VERSION

VERSION_KEY: Final = b"schema_version"


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


def write(path: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Write tables of one schema as one file, whole or not at all: renamed when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    marked = schema.with_metadata({VERSION_KEY: str(SCHEMA_VERSION).encode()})
    with pq.ParquetWriter(
        temporary, marked, compression="zstd", write_page_checksum=True
    ) as writer:
        for table in tables:
            writer.write_table(table.select(marked.names).cast(marked))
    temporary.replace(path)


def as_current(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with exactly the columns of `schema`; those that an older version lacks are null."""
    for column in schema:
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(len(rows), column.type))
    return rows.select(schema.names)
