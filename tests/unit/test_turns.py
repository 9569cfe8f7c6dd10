"""Long tests take turns: each has its day, a run has one turn, and some wait for none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.base.paths import ROOT
from tests import daily_turns


def item(
    name: str,
    *,
    long: bool = True,
    length_s: float | None = None,
    run: str = "",
    module: str = "test_it.py",
) -> Any:
    """What is read of a test: its name, its mark, and which run it is about."""
    marker = SimpleNamespace(args=() if length_s is None else (length_s,))
    return SimpleNamespace(
        nodeid=f"{module}::{name}",
        get_closest_marker=lambda mark: marker if long and mark == "long" else None,
        fixturenames=("runs", "run") if run else (),
        **({"callspec": SimpleNamespace(params={"run": run})} if run else {}),
    )


def chosen(items: list[Any], day: int) -> list[str]:
    left_out = daily_turns.waiting(items, day)
    return [each.nodeid for each in items if each not in left_out]


def test_each_has_its_day() -> None:
    items = [item(f"test_{n}") for n in range(daily_turns.DAYS + 1)]
    days = [chosen(items, day) for day in range(10, 10 + daily_turns.DAYS)]

    assert [2, *[1] * (daily_turns.DAYS - 1)] == sorted((len(day) for day in days), reverse=True)
    assert {each.nodeid for each in items} == {name for day in days for name in day}
    assert days[0] == chosen(items, 10 + daily_turns.DAYS)


def test_a_module_of_tests_of_one_length_has_some_each_day() -> None:
    items = [
        item(f"test_{n}", module=f"test_{n // daily_turns.DAYS}.py")
        for n in range(2 * daily_turns.DAYS)
    ]
    for day in range(daily_turns.DAYS):
        names = chosen(items, day)
        assert ["test_0.py", "test_1.py"] == sorted(name.partition("::")[0] for name in names)


def test_each_day_takes_as_long_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_turns, "DAYS", 4)
    lengths_s = [60, 50, daily_turns.USUAL_S, 5, 40, 30, 20, 15]
    items = [
        item(f"test_{n}", length_s=None if length_s == daily_turns.USUAL_S else length_s)
        for n, length_s in enumerate(lengths_s)
    ]
    by_day = [
        [lengths_s[int(name.rpartition("_")[2])] for name in names]
        for names in (chosen(items, day) for day in range(daily_turns.DAYS))
    ]

    assert [[60], [50, 10], [40, 15], [30, 20, 5]] == [sorted(day, reverse=True) for day in by_day]


def test_what_is_short_is_run_each_day() -> None:
    items = [item("test_short", long=False), item("test_long")]
    assert daily_turns.DAYS + 1 == sum(len(chosen(items, day)) for day in range(daily_turns.DAYS))


def test_what_is_about_one_run_has_one_turn() -> None:
    items = [
        item(f"{test}[{run}]", run=run)
        for test in ("test_whole", "test_right")
        for run in "abcdefghij"
    ]
    for day in range(daily_turns.DAYS):
        names = [name.partition("::")[2] for name in chosen(items, day)]
        assert 2 == len(names)
        assert 1 == len({name[-2] for name in names})


TESTS = """
import pytest

@pytest.mark.long
@pytest.mark.parametrize("n", range(10))
def test_long(n): pass
"""


@pytest.mark.parametrize(("options", "tests"), [([], 10), ([daily_turns.OPTION], 1)])
def test_only_who_asks_for_turns_gets_them(tmp_path: Path, options: list[str], tests: int) -> None:
    path = tmp_path / "test_sample.py"
    path.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), str(path), *options]
    answer = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert 0 == answer.returncode, answer.stdout + answer.stderr
    assert f"{tests} passed" in answer.stdout
