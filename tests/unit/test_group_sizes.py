"""What the size of a group costs: numbers from runs, and the table and the plot of them."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.base.errors import NoData
from harness.base.paths import ROOT
from harness.bench import group_sizes, group_sizes_page
from harness.bench.group_sizes import GroupSize, measured
from harness.history import manifest
from harness.provision.cache import translations
from harness.tables.engines.duckdb import DuckDb

RECORDED = ROOT / "tests" / "recorded" / "runs"
SVG = "{http://www.w3.org/2000/svg}"
SIZE = GroupSize(
    run="20261125T153000-0001",
    protocol="eager",
    members=10,
    kafka="4.4.0",
    client_version="2.16.0",
    cores=2,
    join=0.5,
    bound=1.33,
    join_why="",
    crash=0.25,
    deploy_s=6.4,
    fleet_s=5.0,
    rebalances=7,
    unexplained=0,
    late_ticks=0,
    latest_tick_ms=20.4,
)


@pytest.fixture
def engine() -> Any:
    duckdb = DuckDb(translations())
    yield duckdb
    duckdb.close()


def test_a_join_is_measured_from_a_run(engine: DuckDb) -> None:
    found = measured(RECORDED / "cooperative-join.librdkafka.cooperative.4.3.1", engine)

    assert ("cooperative", 3, 0) == (found.protocol, found.members, found.unexplained)
    assert (1.064, 2.7, "") == (found.join, found.bound, found.join_why)
    assert (None, None) == (found.crash, found.deploy_s)


def test_a_crash_is_no_join(engine: DuckDb) -> None:
    found = measured(RECORDED / "consumer-crash.librdkafka.eager.3.9.2", engine)

    assert (None, 0.936) == (found.join, found.crash)
    assert (2, 54.0) == (found.late_ticks, found.latest_tick_ms)


def test_a_run_that_is_not_complete_is_not_measured(tmp_path: Path, engine: DuckDb) -> None:
    told = manifest.read(RECORDED / "cooperative-join.librdkafka.cooperative.4.3.1")
    manifest.write(tmp_path, told | {"status": "void", "status_reason": "a broker died"})

    with pytest.raises(NoData, match="is not complete: a broker died"):
        measured(tmp_path, engine)


def test_a_run_whose_record_is_not_whole_is_not_measured(tmp_path: Path, engine: DuckDb) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(RECORDED / "cooperative-join.librdkafka.cooperative.4.3.1", run_dir)
    (run_dir / "history" / "requests.parquet").unlink()

    with pytest.raises(NoData, match=r"cannot be measured \(R20f: .*requests.*: play it again"):
        measured(run_dir, engine)


def test_the_record_keeps_runs_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / group_sizes_page.PAGE).write_text(
        f"before\n{group_sizes_page.BEGIN}old\n{group_sizes_page.END}after\n"
    )
    for name in (
        "cooperative-join.librdkafka.cooperative.4.3.1",
        "consumer-crash.java.eager.4.3.1",
    ):
        group_sizes.main([str(tmp_path), str(RECORDED / name)])

    protocols = [each.protocol for each in group_sizes.load(tmp_path)]
    page = (tmp_path / group_sizes_page.PAGE).read_text()
    assert ["cooperative", "eager"] == protocols
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "| cooperative | 3 | 1.06 of " in page
    assert "old" not in page


def test_there_is_a_dot_for_each_join_and_a_hollow_one_where_it_was_not_judged() -> None:
    runs = [
        SIZE,
        replace(SIZE, members=200, join=1.6, join_why="this machine stood still for 80 ms"),
        replace(SIZE, protocol="consumer", join=2.0, bound=2.65),
        replace(SIZE, members=50, join=None, bound=None),
    ]
    drawn = ElementTree.fromstring(group_sizes_page.plot([asdict(run) for run in runs]))
    dots = [each for each in drawn.iter(f"{SVG}circle") if each.find(f"{SVG}title") is not None]

    assert ["#3b7fc4", "none", "#2c9c69"] == [dot.get("fill") for dot in dots]
    first, second, third = ((float(dot.get("cx", 0)), float(dot.get("cy", 0))) for dot in dots)
    assert first[0] == third[0] < second[0]
    assert first[1] > second[1] > third[1]  # more intervals are further up
    [title] = drawn.findall(f"{SVG}title")
    assert "eager 0.50 with 10, 1.60 with 200; consumer 2.00 with 10" in str(title.text)


def test_the_table_says_what_was_not_judged() -> None:
    unjudged = replace(SIZE, members=200, join_why="this machine stood still for 80 ms")
    rows = group_sizes_page.table([asdict(unjudged), asdict(SIZE)]).splitlines()[2:]

    assert "| eager | 10 | 0.50 of 1.33 | 0.25 | 7 | 0 | 6 s | 0, 20 ms |" == rows[0]
    assert "| eager | 200 | 0.50 of 1.33, not judged |" in rows[1]


def test_the_documents_show_the_record() -> None:
    """`make docs` writes both."""
    docs = ROOT / "docs"
    runs = [asdict(each) for each in group_sizes.load(docs)]
    text = (docs / group_sizes_page.PAGE).read_text(encoding="utf-8")

    assert text == group_sizes_page.page(text, runs)
    assert group_sizes_page.plot(runs) == (docs / group_sizes_page.PLOT).read_text(encoding="utf-8")
