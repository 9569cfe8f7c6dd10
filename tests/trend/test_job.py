"""Which series moved: Pettitt's test, against its definition and against what chance does."""

from __future__ import annotations

import ast
import math
import random
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from harness.trend import job
from tests.trend.sample import write_quickly, write_series

pytestmark = [pytest.mark.spark, pytest.mark.long(1.5)]

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


def test_a_dataset_may_be_called_what_spark_takes_for_a_pattern(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name, rule in (("[a]?*", "R01"), ("[a]b", "R02")):
        write_quickly(tmp_path / name, rule, noise(1, 3))

    found = job.read(spark, tmp_path / "[a]?*").select("rule").distinct().toArrow()

    assert ["R01"] == found["rule"].to_pylist()


def test_files_that_are_left_out_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "[a]?*"
    for rule in ("R01", "R02"):
        write_series(root, rule, noise(1, 2))
    damaged, *files = sorted(root.glob("*/*/*/R01.parquet"))
    damaged.write_bytes(b"PAR1 and nothing")
    files += root.glob("*/*/*/R02.parquet")

    found = job.read(spark, root, files).select("rule", "run", "experiment").toArrow().to_pylist()

    assert ["R01", "R02", "R02"] == sorted(row["rule"] for row in found)
    assert all(row["run"] and row["experiment"] for row in found)


@pytest.mark.parametrize("seed", range(4))
def test_the_statistic_is_that_of_the_definition(tmp_path: Path, trends: Trends, seed: int) -> None:
    values = noise(seed, 17) + noise(seed + 100, 9, 6_000.0 + 3 * seed)
    write_quickly(tmp_path, "R01", values)
    row = trends(tmp_path)["R01"]
    turn, p = pettitt(values)

    assert p == pytest.approx(row["p"])
    assert [row["since_run"]] == row["points"][turn]["runs"]


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
        (40.0, {}, "moved"),
    ],
)
def test_towards_the_only_bound_is_worse(
    tmp_path: Path, trends: Trends, step: float, bounds: dict[str, Any], trend: str
) -> None:
    write_quickly(tmp_path, "R01", noise(1, 15) + noise(2, 15, 6_000 + step), **bounds)

    assert trend == trends(tmp_path)["R01"]["trend"]


@pytest.mark.parametrize(
    ("before", "after", "trend"),
    [
        (6_000.0, 6_040.0, "worse"),
        (6_000.0, 5_960.0, "worse"),
        (6_040.0, 6_000.0, "moved"),
        (5_960.0, 6_000.0, "moved"),
        (5_970.0, 6_040.0, "worse"),  # past the middle, and nearer to the other one
    ],
)
def test_between_two_bounds_nearer_to_the_nearer_one_is_worse(
    tmp_path: Path, trends: Trends, before: float, after: float, trend: str
) -> None:
    """R01's own: a session of 6 s, and 50 ms of slack on both sides."""
    bounds: dict[str, Any] = {"bound_low": 5_950.0, "bound_high": 6_050.0}
    write_quickly(tmp_path, "R01", noise(1, 15, before) + noise(2, 15, after), **bounds)

    assert trend == trends(tmp_path)["R01"]["trend"]


def test_beyond_a_bound_is_worse(tmp_path: Path, trends: Trends) -> None:
    bounds: dict[str, Any] = {"bound_low": 5_950.0, "bound_high": 6_050.0}
    write_quickly(tmp_path, "R01", noise(1, 15, 5_970.0), **bounds)
    write_quickly(tmp_path, "R01", noise(2, 15, 6_090.0), shift=15, verdict="VIOLATED", **bounds)

    assert "worse" == trends(tmp_path)["R01"]["trend"]


@pytest.mark.parametrize(
    ("extreme", "then", "trend"),
    [
        ("measured_max", 6_290.0, "worse"),
        ("measured_max", 6_180.0, "moved"),
        ("measured_min", 5_960.0, "worse"),
    ],
)
def test_how_near_a_run_came_is_shown_by_its_extremes(
    tmp_path: Path, trends: Trends, extreme: str, then: float, trend: str
) -> None:
    """As R06-client has it: the middle moves up by 10 ms, and the bounds are for the extremes."""
    more: dict[str, Any] = {"measured_min": 6_100.0, "measured_max": 6_200.0}
    more |= {"bound_low": 5_950.0, "bound_high": 6_350.0}
    write_quickly(tmp_path, "R06-client", noise(1, 15, 6_110.0), **more)
    more[extreme] = then
    write_quickly(tmp_path, "R06-client", noise(2, 15, 6_130.0), shift=15, **more)

    assert trend == trends(tmp_path)["R06-client"]["trend"]


@pytest.mark.parametrize(("middle", "trend"), [(6_130.0, "moved"), (6_090.0, "worse")])
def test_less_room_is_worse_only_where_the_middle_moved_towards_a_bound(
    tmp_path: Path, trends: Trends, middle: float, trend: str
) -> None:
    """A few extremes are chance; that the middle moved is what was tested."""
    more: dict[str, Any] = {"measured_min": 6_050.0, "measured_max": 6_200.0, "bound_low": 5_950.0}
    write_quickly(tmp_path, "X09", noise(1, 15, 6_110.0), **more)
    more["measured_min"] = 5_960.0
    write_quickly(tmp_path, "X09", noise(2, 15, middle), shift=15, **more)

    assert trend == trends(tmp_path)["X09"]["trend"]


def test_a_bound_that_other_numbers_have_is_no_room(tmp_path: Path, trends: Trends) -> None:
    """As X07 has it: it HOLDS with numbers below a lower bound that only the largest has."""
    more: dict[str, Any] = {"measured_max": 1_006.9, "bound_low": 448.1, "bound_high": 1_450.0}
    values = [round(each - 5_990, 1) for each in (*noise(1, 15, 6_020.0), *noise(2, 15))]
    for shift, value in enumerate(values):
        write_quickly(tmp_path, "X07", [value], shift=shift, **more)

    assert "moved" == trends(tmp_path)["X07"]["trend"]


def test_what_says_nothing_of_kafka_is_left_out(tmp_path: Path, trends: Trends) -> None:
    """How much a harness recorded, and what a sabotaged consumer did."""
    write_quickly(tmp_path, "E02", noise(1, 3), bound_low=1.0)
    write_quickly(tmp_path, "R12", noise(2, 3), experiment="saboteur-deaf", sabotaged=False)
    write_quickly(tmp_path, "R21", noise(2, 3), sabotaged=True)
    write_quickly(tmp_path, "R01", noise(3, 3))

    assert {"R01"} == set(trends(tmp_path))


def test_noise_alone_is_steady(tmp_path: Path, trends: Trends) -> None:
    """Forty series without a change: at 1 % over all of them, none is said to have moved."""
    for seed in range(40):
        write_quickly(tmp_path, f"R{seed:02}", noise(seed, 30), bound_high=6_050.0)

    assert {"steady"} == {row["trend"] for row in trends(tmp_path).values()}


def test_what_is_shown_of_many_series_is_corrected(tmp_path: Path, trends: Trends) -> None:
    """The same step is beyond chance alone, and not among a hundred others."""
    values = noise(1, 20) + noise(2, 20, 6_008.0)
    write_quickly(tmp_path / "alone", "R01", values, bound_high=6_050.0)
    write_quickly(tmp_path / "many", "R01", values, bound_high=6_050.0)
    for seed in range(100):
        write_quickly(tmp_path / "many", f"X{seed:02}", noise(seed, 40))
    alone, many = trends(tmp_path / "alone")["R01"], trends(tmp_path / "many")["R01"]

    assert alone["p"] == many["p"] == alone["p_adjusted"]
    assert ("worse", "steady") == (alone["trend"], many["trend"])


def test_series_too_short_to_be_shown_cost_the_others_nothing(
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
def test_among_many_series_more_days_are_needed(
    tmp_path: Path, trends: Trends, series: int, trend: str
) -> None:
    """Of twenty days the clearest step has p = 0.00158: enough at 1 % over six series."""
    for number in range(series):
        values = noise(number, 10) + noise(number, 10, 7_000.0)
        write_quickly(tmp_path, f"R{number:02}", values, bound_high=7_050.0)

    assert {trend} == {row["trend"] for row in trends(tmp_path).values()}


def test_few_days_are_said_to_be_few(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 5 + [9_000.0] * 5, bound_high=6_050.0)

    assert "too few" == trends(tmp_path)["R01"]["trend"]


def test_series_are_kept_apart_and_runs_that_measured_nothing_left_out(
    tmp_path: Path, trends: Trends, spark: SparkSession
) -> None:
    write_quickly(tmp_path, "R01", [6_000.0, None, 6_001.0])
    others: list[dict[str, Any]] = [
        {"client": "java"},
        {"protocol": "consumer"},
        {"kafka": "3.9.2"},
        {"backend": "docker"},
        {"setup": "a setting was changed"},
    ]
    for number, other in enumerate(others, 1):
        write_quickly(tmp_path, "R01", [6_000.0] * 3, shift=100 * number, **other)
    write_quickly(tmp_path, "R01", [6_000.0] * 3, experiment="bad-day")
    found = job.trends(spark, job.read(spark, str(tmp_path))).toArrow().to_pylist()

    assert [2, 3, 3, 3, 3, 3, 3] == sorted(row["n"] for row in found)


def test_repeats_of_one_afternoon_are_one_day(tmp_path: Path, trends: Trends) -> None:
    """Fifty runs look beyond chance where one day of twenty-one was another one."""
    afternoon = noise(2, 30, 6_040.0)
    write_quickly(tmp_path, "R01", noise(1, 20), bound_high=6_050.0)
    write_quickly(tmp_path, "R01", afternoon, shift=20, a_day=30, bound_high=6_050.0)
    row = trends(tmp_path)["R01"]

    assert ("steady", 21, 50) == (row["trend"], row["n"], row["runs"])
    last = row["points"][-1]
    assert (median(afternoon), 30) == (last["value"], len(last["runs"]))


def test_a_step_between_days_of_several_runs_is_dated_by_the_first_run_after(
    tmp_path: Path, trends: Trends
) -> None:
    values = noise(1, 30) + noise(2, 30, 6_040.0)
    write_quickly(tmp_path, "R01", values, a_day=3, bound_high=6_050.0)
    row = trends(tmp_path)["R01"]

    assert ("worse", 20, 60) == (row["trend"], row["n"], row["runs"])
    assert "20261011T013000-001e" == row["since_run"] == row["points"][10]["runs"][0]
    assert "2026-10-11" == f"{row['since']:%Y-%m-%d}"
    assert row["before"] == median(median(values[at : at + 3]) for at in range(0, 30, 3))


def test_a_day_counts_its_runs_that_differ_from_what_is_expected(
    tmp_path: Path, trends: Trends
) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 3)
    write_quickly(tmp_path, "R01", [6_000.0] * 2, shift=3, a_day=2, verdict="VIOLATED")
    write_quickly(tmp_path, "R01", [6_000.0], shift=4, verdict="VIOLATED", expected="VIOLATED")
    write_quickly(tmp_path, "R01", [6_000.0], shift=5, expected=None)

    assert [0, 0, 0, 2, 0, 1] == [point["differing"] for point in trends(tmp_path)["R01"]["points"]]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_days_are_those_of_utc_wherever_spark_is(
    tmp_path: Path, trends: Trends, spark: SparkSession, zone: str
) -> None:
    """Midnight is there at 10:00 and at 11:00 UTC."""
    for day, hour in ((1, 0), (1, 9), (1, 10), (1, 12), (1, 23), (2, 0), (2, 23)):
        at = datetime(2026, 10, day, hour, 30, tzinfo=UTC)
        write_quickly(tmp_path, "R01", [6_000.0], started_at=at, run=f"{at:%d%H}")
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        points = trends(tmp_path)["R01"]["points"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)

    assert [(date(2026, 10, 1), 5), (date(2026, 10, 2), 2)] == [
        (point["day"], len(point["runs"])) for point in points
    ]


def test_it_needs_nothing_of_this_project() -> None:
    """So that `spark-submit` runs it where nothing else is."""
    imports = [
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(Path(job.__file__).read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    needed = {name.partition(".")[0] for name in imports} - {"__future__", "pyspark"}
    assert needed <= sys.stdlib_module_names


def test_what_was_withheld_is_not_ranked(tmp_path: Path, trends: Trends) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 3)
    write_quickly(tmp_path, "R01", [9_000.0] * 2, shift=10, verdict="UNKNOWN")

    assert 3 == trends(tmp_path)["R01"]["n"]


def test_the_partitions_of_a_dataset_are_columns(tmp_path: Path, trends: Trends) -> None:
    write_series(tmp_path, "R01", [6_000.0] * 3)
    row = trends(tmp_path)["R01"]

    assert ("consumer-crash", 3) == (row["experiment"], row["n"])
    assert 3 == row["runs"] == len({run for point in row["points"] for run in point["runs"]})


@pytest.mark.parametrize("lacks", [["sabotaged"], ["setup", "sabotaged"]], ids=" ".join)
def test_a_dataset_of_before_a_column_is_read(
    tmp_path: Path, trends: Trends, lacks: list[str]
) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * 3)
    write_quickly(tmp_path, "R12", [6_000.0] * 3, experiment="saboteur-deaf")
    for path in tmp_path.rglob("*.parquet"):
        pq.write_table(pq.ParquetFile(path).read().drop_columns(lacks), path)
    old = trends(tmp_path)
    write_quickly(tmp_path, "R01", [6_000.0] * 2, shift=3, sabotaged=False)
    write_quickly(tmp_path, "R01", [6_000.0] * 2, shift=5, sabotaged=True)
    grown = trends(tmp_path)

    assert [("R01", 3)] == [(rule, row["n"]) for rule, row in old.items()]
    assert [("R01", 5)] == [(rule, row["n"]) for rule, row in grown.items()]


@pytest.mark.parametrize("runs", [1, 3])
def test_one_day_makes_no_series(tmp_path: Path, trends: Trends, runs: int) -> None:
    write_quickly(tmp_path, "R01", [6_000.0] * runs, a_day=runs)

    assert {} == trends(tmp_path)
