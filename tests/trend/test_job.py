"""Which series moved: Pettitt's test, against its definition and against what chance does."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness.trend import job
from tests.trend.sample import write_quickly, write_series

pytestmark = pytest.mark.spark

Trends = Callable[[Path], dict[str, dict[str, Any]]]


@pytest.fixture
def trends(spark: SparkSession) -> Trends:
    """The trends of a dataset, by rule."""

    def of(root: Path) -> dict[str, dict[str, Any]]:
        rows = job.trends(spark, job.read(spark, str(root))).toArrow().to_pylist()
        return {row["rule"]: row for row in rows}

    return of


def pettitt(values: Sequence[float]) -> tuple[int, float]:
    """How many values lie before the turn, and p, by the definition with signs."""

    def sign(a: float, b: float) -> int:
        return (a > b) - (a < b)

    n = len(values)
    u = [sum(sign(a, b) for a in values[:t] for b in values[t:]) for t in range(1, n)]
    k = max(map(abs, u))
    return 1 + [abs(each) for each in u].index(k), min(
        1.0, 2 * math.exp(-6 * k * k / (n**3 + n**2))
    )


def noise(seed: int, n: int, middle: float = 6_000.0) -> list[float]:
    drawn = random.Random(seed)
    return [round(middle + drawn.gauss(0, 5)) for _ in range(n)]  # rounded, so that some are equal


@pytest.mark.parametrize("seed", range(4))
def test_the_statistic_is_that_of_the_definition(tmp_path: Path, trends: Trends, seed: int) -> None:
    values = noise(seed, 17) + noise(seed + 100, 9, 6_000.0 + 3 * seed)
    write_quickly(tmp_path, "R01", values)
    row = trends(tmp_path)["R01"]
    turn, p = pettitt(values)

    assert p == pytest.approx(row["p"])
    assert row["points"][turn]["run"] == row["since_run"]


def test_a_step_is_found_and_dated(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", noise(1, 15) + noise(2, 15, 6_040.0), bound_high=6_050.0)
    row = trends(tmp_path)["R01"]

    assert "worse" == row["trend"]
    assert "2026-10-16" == f"{row['since']:%Y-%m-%d}"
    assert row["before"] == pytest.approx(6_000, abs=5)
    assert row["after"] == pytest.approx(6_040, abs=5)


@pytest.mark.parametrize(
    ("step", "bounds", "trend"),
    [
        (40.0, {"bound_high": 6_050.0}, "worse"),
        (-40.0, {"bound_high": 6_050.0}, "moved"),
        (-40.0, {"bound_low": 5_900.0}, "worse"),
        (40.0, {"bound_low": 5_900.0}, "moved"),
        (40.0, {"bound_low": 5_900.0, "bound_high": 6_050.0}, "moved"),
        (40.0, {}, "moved"),
    ],
)
def test_worse_is_a_move_towards_the_only_bound(
    tmp_path: Path, trends: Trends, step: float, bounds: dict[str, Any], trend: str
) -> None:
    write_quickly(tmp_path, "R01", noise(1, 15) + noise(2, 15, 6_000 + step), **bounds)

    assert trend == trends(tmp_path)["R01"]["trend"]


def test_noise_alone_is_steady(tmp_path: Path, trends: Trends) -> None:
    """Forty series without a change: at 1 % over all of them, none is told to have moved."""
    for seed in range(40):
        write_quickly(tmp_path, f"R{seed:02}", noise(seed, 30), bound_high=6_050.0)

    assert {"steady"} == {row["trend"] for row in trends(tmp_path).values()}


def test_what_is_told_of_many_series_is_corrected(tmp_path: Path, trends: Trends) -> None:
    """The same step is beyond chance alone, and not among a hundred others."""
    values = noise(1, 20) + noise(2, 20, 6_008.0)
    write_quickly(tmp_path / "alone", "R01", values, bound_high=6_050.0)
    write_quickly(tmp_path / "many", "R01", values, bound_high=6_050.0)
    for seed in range(100):
        write_quickly(tmp_path / "many", f"X{seed:02}", noise(seed, 40))
    alone, many = trends(tmp_path / "alone")["R01"], trends(tmp_path / "many")["R01"]

    assert alone["p"] == many["p"] == alone["p_adjusted"]
    assert ("worse", "steady") == (alone["trend"], many["trend"])


def test_series_too_short_to_be_told_cost_the_others_nothing(
    tmp_path: Path, trends: Trends
) -> None:
    values = noise(1, 10) + noise(2, 7, 6_025.0)
    write_quickly(tmp_path, "R01", values, bound_high=6_050.0)
    for seed in range(100):
        write_quickly(tmp_path, f"X{seed:02}", noise(seed, 12))
    rows = trends(tmp_path)

    assert "worse" == rows["R01"]["trend"]
    assert rows["R01"]["p"] == rows["R01"]["p_adjusted"]
    assert {"too few"} == {row["trend"] for rule, row in rows.items() if rule != "R01"}
    assert {None} == {row["p_adjusted"] for rule, row in rows.items() if rule != "R01"}


@pytest.mark.parametrize(("series", "trend"), [(5, "worse"), (6, "worse"), (7, "too few")])
def test_among_many_series_more_runs_are_needed(
    tmp_path: Path, trends: Trends, series: int, trend: str
) -> None:
    """Of twenty runs the clearest step has p = 0.00158: enough at 1 % over six series."""
    for number in range(series):
        values = noise(number, 10) + noise(number, 10, 7_000.0)
        write_quickly(tmp_path, f"R{number:02}", values, bound_high=7_050.0)

    assert {trend} == {row["trend"] for row in trends(tmp_path).values()}


def test_few_runs_are_said_to_be_few(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 5 + [9_000.0] * 5, bound_high=6_050.0)

    assert "too few" == trends(tmp_path)["R01"]["trend"]


def test_series_are_kept_apart_and_runs_that_measured_nothing_left_out(
    tmp_path: Path, trends: Trends, spark: SparkSession
) -> None:
    write_quickly(tmp_path, "R01", [6_000.0, None, 6_001.0])
    for number, other in enumerate(
        (
            {"client": "java"},
            {"protocol": "consumer"},
            {"kafka": "3.9.2"},
            {"backend": "docker"},
            {"setup": "a knob was turned"},
        ),
        1,
    ):
        write_quickly(tmp_path, "R01", [6_000.0] * 3, shift=100 * number, **other)
    write_quickly(tmp_path, "R01", [6_000.0] * 3, experiment="bad-day")
    found = job.trends(spark, job.read(spark, str(tmp_path))).toArrow().to_pylist()

    assert [2, 3, 3, 3, 3, 3, 3] == sorted(row["n"] for row in found)


def test_what_was_withheld_is_not_ranked(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 3)
    write_quickly(tmp_path, "R01", [9_000.0] * 2, shift=10, verdict="UNKNOWN")

    assert 3 == trends(tmp_path)["R01"]["n"]


def test_the_partitions_of_a_dataset_are_columns(tmp_path: Path, trends: Trends) -> None:
    write_series(tmp_path, "R01", [6_000.0] * 3)
    row = trends(tmp_path)["R01"]

    assert ("consumer-crash", 3) == (row["experiment"], row["n"])
    assert 3 == len({point["run"] for point in row["points"]})


def test_a_dataset_of_before_set_ups_were_told_is_read(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 3)
    for path in tmp_path.rglob("*.parquet"):
        pq.write_table(pq.ParquetFile(path).read().drop_columns(["setup"]), path)

    assert 3 == trends(tmp_path)["R01"]["n"]


def test_one_run_makes_no_series(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0])

    assert {} == trends(tmp_path)
