"""Spark SQL, for histories that are larger than what a worker holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from harness.tables.engines.contract import Frame, Setting, fill

# Those of every session on this machine.
SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.app.name": "kafka-chaos check",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Histories are small beside Spark's usual tables: two cores, two partitions of a shuffle.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # Planning again after each stage costs more than it saves with two partitions.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
}


class Spark:
    """Runs queries in a session that its owner starts and stops.

    With `in_memory` all rows are sent to it, and no file is read or written.
    """

    name: Final = "spark"

    def __init__(self, session: SparkSession, *, in_memory: bool = False) -> None:
        self.session = session
        self.files = None if in_memory else self

    def rows(self, rows: pa.Table) -> Frame:
        """A frame of rows that Spark holds itself, in one partition: no query shuffles them."""
        if rows.num_rows == 0:
            # PySpark cannot take lists of structs in no chunk, and a Connect server infers nothing.
            empty, schema = rows.schema.empty_table(), cast(Any, from_arrow_schema)(rows.schema)
            return self.session.createDataFrame(empty, schema).coalesce(1)
        return self.session.createDataFrame(rows).coalesce(1)

    def parquet(self, path: Path, schema: pa.Schema) -> Frame:
        """A frame of a file's rows, read anew by each query."""
        reader = self.session.read.schema(cast(Any, from_arrow_schema)(schema))
        return reader.parquet(literal_path(path))

    def spill(self, frame: Frame, folder: Path) -> Frame:
        """By way of a folder of Spark's own."""
        mine = cast(DataFrame, frame)
        mine.write.parquet(str(folder))
        return self.session.read.schema(mine.schema).parquet(literal_path(folder))

    def query(self, query: str, views: Mapping[str, str], settings: Mapping[str, Setting]) -> Frame:
        """The data frame of the query; raises what Spark's analysis finds wrong with it."""
        text = fill(query, views.__getitem__, lambda name: _literal(settings[name]))
        return self.session.sql(text)

    def define(self, view: str, frame: Frame) -> None:
        """As a temporary view of the session."""
        cast(DataFrame, frame).createOrReplaceTempView(view)

    def drop(self, view: str) -> None:
        """Drop the temporary view."""
        self.session.catalog.dropTempView(view)


def literal_path(path: Path) -> str:
    """A path for Spark to read, which takes paths for patterns: of `a?b` it reads `acb` as well."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def _literal(value: Setting) -> str:
    """The value as Spark SQL writes it."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return repr(value)
