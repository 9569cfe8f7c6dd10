"""What tests share: one Spark session for all of them, started when the first one needs it.

And which of them are left out where this machine lacks what they need.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

from harness.check.check import SMALL_SETTINGS
from harness.tables import session
from tests.histories import History, judged, numbers
from tests.machine import NEEDS, REQUIRED

if TYPE_CHECKING:  # a plugin of pytest, which wants to import it itself
    from syrupy.assertion import SnapshotAssertion


_LEFT_OUT = pytest.StashKey[list[str]]()
_SENT = "left_out"  # the same, as a process of pytest-xdist hands it over at its end


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs an engine or a browser that is not there, unless nothing may be."""
    if REQUIRED in os.environ:
        return
    lines = []
    for marker, (there, lack) in NEEDS.items():
        ours = [item for item in items if item.get_closest_marker(marker)]
        if ours and not there():
            items[:] = [item for item in items if item not in ours]
            config.hook.pytest_deselected(items=ours)
            lines.append(f"{len(ours)} tests left out, for {lack}: CONTRIBUTING.md says what to do")
    config.stash[_LEFT_OUT] = lines
    if hasattr(config, "workeroutput"):
        config.workeroutput[_SENT] = lines


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of pytest-xdist left out: each collects all tests, and this one none."""
    if lines := getattr(node, "workeroutput", {}).get(_SENT):
        node.config.stash[_LEFT_OUT] = lines


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say so."""
    for line in config.stash.get(_LEFT_OUT, []):
        terminalreporter.write_line(line, yellow=True)


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
    started = session.start(java, aot, tmp_path_factory.mktemp("spark") / "spark.log")
    for key, value in SMALL_SETTINGS.items():
        started.conf.set(key, value)
    yield started
    session.stop(started)


@pytest.fixture
def judge(
    spark: SparkSession, snapshot: SnapshotAssertion
) -> Callable[[History, str], dict[str, Any]]:
    """Judges one rule by a hand-written history; the verdict row.

    What a test asserts is what it is about. All other numbers of the rows it gives are pinned in
    `__snapshots__`, so that no bound, no time and no guard moves unseen: `make pin` writes them
    anew, and the difference is there to be read.
    """

    def judged_as_pinned(history: History, rule: str) -> dict[str, Any]:
        verdict = judged(history, spark, rule)
        assert numbers(verdict) == snapshot
        return verdict

    return judged_as_pinned
