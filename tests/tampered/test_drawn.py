"""Changes that are drawn by a seed: the same ones each time, and what came of them is said."""

from __future__ import annotations

import pytest

from tests.tampered import __main__ as drawing
from tests.tampered import language

SEED = 5


def test_a_seed_draws_the_same_changes_again() -> None:
    changes = list(language.read(drawing.DRAWN))
    first, again = ([drawing.draw(SEED, number, changes) for number in (0, 1)] for _ in (1, 2))

    assert [(each.change, each.run.name, each.run.files) for each in first] == [
        (each.change, each.run.name, each.run.files) for each in again
    ]
    assert drawing.draw(SEED + 1, 0, changes).run.files != first[0].run.files


def test_what_is_wrong_is_noticed_and_what_is_neutral_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 0 == drawing.main(["--seed", str(SEED), "--count", "12"]), capsys.readouterr().out
    *lines, summary = capsys.readouterr().out.splitlines()

    assert 12 == len(lines)
    assert summary.endswith(", 0 noticed")
