"""Rounds, medians and results: what every benchmark shares."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Figure:
    """One measured number, and the limit it is held against (null: none was set)."""

    bench: str
    figure: str
    value: float
    unit: str
    rounds: int
    limit: float | None = None
    at_most: bool = True

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None without one."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit


_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("bench", pa.string()),
    ("figure", pa.string()),
    ("value", pa.float64()),
    ("unit", pa.string()),
    ("rounds", pa.int32()),
    ("limit", pa.float64()),
    ("met", pa.bool_()),
]
SCHEMA = pa.schema(_COLUMNS)


def table_of(figures: Sequence[Figure]) -> pa.Table:
    """The figures as a table."""
    rows = [{name: getattr(figure, name) for name in SCHEMA.names} for figure in figures]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def in_turn(rounds: int, **variants: Callable[[], float]) -> dict[str, list[float]]:
    """Run each variant once a round, the order reversed every other round.

    So that a machine that gets slower or warmer does so for both.
    """
    measured: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        names = list(variants) if number % 2 == 0 else list(reversed(variants))
        for name in names:
            measured[name].append(variants[name]())
    return measured


def median(values: Sequence[float]) -> float:
    """The median."""
    return float(statistics.median(values))


def ratio(measured: dict[str, list[float]], above: str, below: str) -> float:
    """Median of the ratios of each round."""
    pairs = zip(measured[above], measured[below], strict=True)
    return median([first / second for first, second in pairs])
