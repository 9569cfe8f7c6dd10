"""How much disk a run is said to need, and a run that is refused for it."""

from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import Exit, SetupError
from harness.catalogue import registry
from harness.cli.main import main
from harness.experiment import Experiment, Group, Load
from harness.experiment.app import App
from harness.run import start
from harness.run.estimate import growth_bytes

APP = App(name="orders", command=("x",), folder="/")
SOAK = registry.load("soak")
DAY_S = 86_400
GB = 10**9


def soak(duration_s: float, records_per_s: int = 300) -> Experiment:
    return replace(SOAK, duration_s=duration_s, load=Load(records_per_s=records_per_s))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A disk that has as much room as is put into it; no run begins on it."""
    told = {"free": 0}
    usage = namedtuple("usage", ("total", "used", "free"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(2**50, 0, told["free"]))

    def begin(*_args: object, **_more: object) -> None:
        raise SetupError("the run would begin now")

    monkeypatch.setattr(start, "ExperimentRun", begin)
    monkeypatch.setattr(start, "sweep", lambda _say: None)
    return told


def test_it_grows_with_time_and_with_the_load() -> None:
    hour, day = growth_bytes(soak(3_600)), growth_bytes(soak(DAY_S))

    assert 23 < day / hour < 24.5
    assert 10 * GB < day < 30 * GB
    # Nearly all of it is records then, which are in the logs of three brokers.
    assert 2 * 7_200 * 20_000 * 3 * 100 > growth_bytes(soak(7_200, 20_000)) > 50 * GB


def test_it_is_no_less_than_what_a_soak_wrote() -> None:
    """Of 930 s, measured: journals, logs, and the brokers' data of six partitions and offsets."""
    wrote = 17_100_000 + 28_300_000 + 3 * (36_730_000 + 1_697_000)

    assert wrote < growth_bytes(soak(930)) < 2 * wrote


def test_a_run_of_seconds_needs_next_to_nothing() -> None:
    assert growth_bytes(registry.load("baseline")) < GB / 20


def test_a_program_writes_more_than_our_members_do() -> None:
    """Its fetches are logged: 118 and 140 kB/s, measured of three copies of two programs."""
    hour = Experiment(claim="x.", duration_s=3_600)
    more = growth_bytes(replace(hour, app=APP, group=Group(client="app"))) - growth_bytes(hour)

    assert 3_600 * 118_000 < more < 3_600 * 400_000


def test_a_long_soak_on_a_small_disk_is_refused_in_a_sentence(
    disk: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk["free"] = 5 * GB

    code = main(["soak", "--for", "24h", "--results", str(tmp_path)])

    (told,) = [line for line in capsys.readouterr().err.splitlines() if "GB are free" in line]
    assert Exit.FAILED == code
    assert "only 5.0 GB are free" in told
    assert "make room, or choose another --results, or a shorter run" in told
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_same_disk_has_room_for_an_hour(
    disk: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk["free"] = 5 * GB

    main(["soak", "--for", "1h", "--results", str(tmp_path)])

    assert "the run would begin now" in capsys.readouterr().err
