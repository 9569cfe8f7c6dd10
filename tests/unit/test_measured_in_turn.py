"""Runs that are measured one after the other: how one of them gets its turn."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from harness.run.turns import Turn, turns


def test_a_turn_that_is_taken_away_in_between_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite that measures fewer runs at one time removes turns that others are looking at."""
    for name, value in turns(tmp_path, 2).items():
        monkeypatch.setenv(name, value)
    taken_away = tmp_path / "turn-1"
    taken_away.unlink()
    taken_away.symlink_to(tmp_path / "nowhere")  # it is listed, and cannot be opened
    with closing(Turn("a test", gently=False)) as turn:
        turn.warm_up()  # returns when the turn has come
        turn.take(lambda what, met, _: pytest.fail(f"waits for the {what}: {met()}"))
