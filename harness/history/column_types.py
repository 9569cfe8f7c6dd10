"""The types of columns that several files share."""

from typing import Final

import pyarrow as pa

AT: Final = pa.timestamp("us", tz="UTC")
TEXT: Final = pa.string()
INT: Final = pa.int32()
LONG: Final = pa.int64()
REAL: Final = pa.float64()
BOOL: Final = pa.bool_()
PARTITIONS: Final = pa.list_(pa.struct([("topic", TEXT), ("partition", INT)]))
POSITIONS: Final = pa.list_(
    pa.struct([("topic", TEXT), ("partition", INT), ("committed", LONG), ("error_code", INT)])
)
ASSIGNMENTS: Final = pa.list_(pa.struct([("member_id", TEXT), ("topic", TEXT), ("partition", INT)]))


def schema_of(columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
    """The columns of one file."""
    return pa.schema(columns)
