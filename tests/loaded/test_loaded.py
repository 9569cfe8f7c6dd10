"""The load is what it says, and nothing of it is left; rounds and their table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.paths import ROOT
from harness.base.wait import wait_until
from harness.catalogue import registry
from tests.loaded import load_makers, table
from tests.loaded.rounds import BANDS, PLAYED, Round

MAKER = (sys.executable, "-m", "tests.loaded.load_makers")
LINE = table.Line(
    band="15-30",
    number=2,
    load="disk",
    experiment="baseline:java/eager",
    run="20261128T000000-0000",
    load_low=15.5,
    load_high=29.0,
    verdicts=20,
    withheld=2,
    accused="",
    expected="R11",
)


@pytest.mark.parametrize(
    ("figure", "now", "number"), [(20, 0, 40), (20, 20, 20), (20, 45, 0), (90, 0, load_makers.MOST)]
)
def test_processes_that_bring_a_load_to_a_figure(figure: float, now: float, number: int) -> None:
    assert load_makers.wanted(figure, now) == number


@pytest.mark.parametrize("kind", load_makers.KINDS)
def test_a_load_ends_with_those_that_makes_it(kind: str, tmp_path: Path) -> None:
    figure = str(load_makers.load_now() + 2)
    mark = f"load-{tmp_path.name}"
    maker = subprocess.Popen(
        [*MAKER, figure, kind, "60", str(os.getpid())],
        env={**os.environ, "PYTHONPATH": str(ROOT), processes.RUN_MARK: mark},
        cwd=tmp_path,
    )
    wait_until("busy processes", lambda: len(processes.marked(mark)) > 1, timeout_s=60)
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    wait_until("their end", lambda: not processes.marked(mark), timeout_s=60)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("seconds", "wanted"), [("0.5", True), ("60", False)])
def test_a_load_ends_when_its_time_is_over_or_no_one_wants_it(seconds: str, wanted: bool) -> None:
    figure, parent = str(load_makers.load_now() + 2), os.getpid() if wanted else 1
    command = [*MAKER, figure, load_makers.PROCESSOR, seconds, str(parent)]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == 0


def test_every_experiment_is_played_beside_every_load_of_a_band() -> None:
    for band in BANDS.values():
        rounds = [Round(band, number) for number in range(1, len(PLAYED) + 1)]
        assert {each.experiment for each in rounds} == set(PLAYED)
        assert {each.kind for each in rounds} == (set(load_makers.KINDS) if band.figure else {""})
    assert {name for name, _, _ in PLAYED} <= set(registry.names())


def test_the_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rounds.csv"
    assert table.read(path) == []
    table.write([LINE], path)
    assert table.read(path) == [LINE]


def test_a_band_in_a_sentence() -> None:
    assert "15-30: 1 runs, 20 verdicts, 0 runs with an accusation" == table.summary([LINE])
