"""What tests share: the engines that judge, each started when the first test needs it.

And which tests are left out where this machine lacks what they need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from harness.tables import session
from harness.tables.engines.contract import Engine
from harness.tables.engines.spark import Spark
from tests import cases, daily_turns, remembering
from tests.machine import NEEDS, REQUIRED
from tests.spark_servers import connect, java_home, master  # noqa: F401 (fixtures)

# A small history is worked on by one task, with nothing compiled.
_SMALL: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # It infers filters that spare large tables work; here it was a ninth of the time of judging.
    "spark.sql.constraintPropagation.enabled": "false",
}
_LEFT_OUT = pytest.StashKey[list[str]]()
_SENT = "left_out"  # the same, as a process of pytest-xdist hands it over at its end


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Hand-written histories that are text (tests/cases.py)."""
    return cases.collected(file_path, parent)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what waits for its turn, if that was asked for, and what this machine lacks."""
    if len(_chosen(config)) < 2:
        _leave_out(config, items, [item for item in items if "both_engines" in _fixtures(item)])
    if config.getoption(daily_turns.OPTION):
        _leave_out(config, items, daily_turns.waiting(items, daily_turns.today()))
    if config.getoption("update_snapshots"):
        # What writes a pin, or a page, asks for one of these.
        pinning = {"snapshot", "pytestconfig"}
        pins = {x for x in items if isinstance(x, cases.Case) or pinning & _fixtures(x)}
        _leave_out(config, items, set(items) - pins)
    _leave_out_what_lacks(config, items)


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], left_out: Iterable[pytest.Item]
) -> None:
    gone = set(left_out)
    if gone:
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=list(gone))


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


def _leave_out_what_lacks(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs an engine or a browser that is not there, unless nothing may be."""
    if REQUIRED in os.environ:
        return
    lines = []
    for marker, (there, lack) in NEEDS.items():
        ours = [item for item in items if item.get_closest_marker(marker)]
        if ours and not there():
            _leave_out(config, items, ours)
            lines.append(f"{len(ours)} tests left out, for {lack}: CONTRIBUTING.md says what to do")
    config.stash[_LEFT_OUT] = lines
    if hasattr(config, "workeroutput"):
        config.workeroutput[_SENT] = lines


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what Spark judges, so that it can be run alone."""
    if "spark" not in _chosen(item.config):
        return
    asked_for = _fixtures(item)
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    alone = {"first_engine"} if _chosen(item.config)[0] == "spark" else set()
    by_spark = {"both_engines", "spark"} | alone
    if asked_for & by_spark or parameters.get("engine") == "spark":
        item.add_marker("spark")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what cases give, if this is a process of pytest-xdist."""
    if hasattr(session.config, "workeroutput"):
        sent, given = cases.handed_over(session.config)
        session.config.workeroutput[sent] = given


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of pytest-xdist left out: each collects all tests, and this one none."""
    sent = getattr(node, "workeroutput", {})
    if lines := sent.get(_SENT):
        node.config.stash[_LEFT_OUT] = lines
    cases.take(node.config, sent)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say what was left out; write what cases give instead, if that was asked."""
    if hasattr(config, "workeroutput"):  # a process of pytest-xdist has handed its part over
        return
    for line in config.stash.get(_LEFT_OUT, []):
        terminalreporter.write_line(line, yellow=True)
    for path in cases.write(config):
        terminalreporter.write_line(f"{path}: written anew")


def java_and_aot() -> tuple[Path, Path | None]:
    """The Java that `make setup` installed, and Spark's AOT cache for it if there is one."""
    java = os.environ.get("KAFKA_CHAOS_TEST_JAVA")
    if java:
        return Path(java), None
    from harness.provision.tools import resolve_tools

    tools = resolve_tools()
    return tools.java, tools.spark_aot


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session for tiny histories: one partition, nothing compiled that runs once."""
    java, aot = java_and_aot()
    started = session.start(
        java, aot, tmp_path_factory.mktemp("spark") / "spark.log", for_many=True
    )
    for key, value in _SMALL.items():
        started.conf.set(key, value)
    yield started
    session.stop(started)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--engine`, `--in-turn` and `--one-by-one`."""
    parser.addoption(
        daily_turns.OPTION,
        action="store_true",
        help="of the tests that are marked long, run those of this day (tests/daily_turns.py)",
    )
    parser.addoption(
        "--engine",
        choices=("duckdb", "spark", "both"),
        default="duckdb",
        help="what judges hand-written histories: duckdb (default; starts no JVM), spark, or both, "
        "which have to give the same rows",
    )
    parser.addoption(
        "--one-by-one",
        action="store_true",
        help="judge each hand-written history by itself",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that ask for `engine` run with each of those chosen.

    Beside DuckDB Spark takes turns, except with what many tests share: it is what takes long.
    """
    if "engine" not in metafunc.fixturenames:
        return
    first, *others = _chosen(metafunc.config)
    marks = () if "judged_run" in metafunc.fixturenames else pytest.mark.long(30)
    params = [first, *(pytest.param(other, marks=marks) for other in others)]
    metafunc.parametrize("engine", params, indirect=True, scope="session")


def _chosen(config: pytest.Config) -> list[str]:
    chosen = str(config.getoption("--engine"))
    return ["duckdb", "spark"] if chosen == "both" else [chosen]


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """What runs the queries of a test; see `--engine`."""
    return _started(request, request.param)


@pytest.fixture(scope="session")
def first_engine(request: pytest.FixtureRequest) -> Engine:
    """The first of those that were chosen."""
    return _started(request, _chosen(request.config)[0])


@pytest.fixture
def both_engines(request: pytest.FixtureRequest) -> list[Engine]:
    """DuckDB and Spark; without `--engine both` the tests that compare them are left out."""
    return [_started(request, name) for name in _chosen(request.config)]


def _started(request: pytest.FixtureRequest, name: str) -> Engine:
    """The engine of this name, one for all tests."""
    fixture = "duckdb_engine" if name == "duckdb" else "spark_engine"
    found: Engine = request.getfixturevalue(fixture)
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is, and beside it the folder for temporary files; both are empty."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "here"


@pytest.fixture(scope="session")
def duckdb_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """DuckDB; the texts that it translates are kept from one run of the tests to the next.

    Most histories are much like others, so half of what tests ask for was computed before.
    """
    cache = getattr(request.config, "cache", None)  # there is none with -p no:cacheprovider
    started = remembering.Remembering(cache.mkdir("sql") if cache else None)
    yield started
    started.close()


@pytest.fixture(scope="session")
def spark_engine(spark: SparkSession) -> Engine:
    """Spark, as it is for small histories."""
    return Spark(spark, in_memory=True)
