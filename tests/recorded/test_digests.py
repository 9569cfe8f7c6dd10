"""A pin is short, and no row changes unseen; the command that its test names shows which did."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.paths import ROOT
from harness.tables.engines.contract import Engine
from tests.recorded import diff, digests
from tests.recorded.keep import RUNS

VERDICTS = "R01 VIOLATED of 2\nR02 HOLDS of 1"
ROWS = "R01 a: True, 1.0 of 0 to 2\nR01 b: False, 3.0 of 0 to 2\nR02 a: True, 4.0 of 0 to 9"


def pinned(verdicts: str = VERDICTS, rows: str = ROWS) -> list[str]:
    return digests.judgements(f"a crash\n\n{verdicts}\n\n{rows}").splitlines()


def test_what_does_not_hold_is_written_out() -> None:
    situation, held, violated, row = pinned()
    assert "a crash" == situation
    assert held.startswith("HOLDS: R02 1 ")
    assert violated.startswith("VIOLATED: R01 2 ")
    assert "R01 b: False, 3.0 of 0 to 2" == row


@pytest.mark.parametrize(
    "rows",
    [
        ROWS.replace("1.0", "1.1"),
        ROWS.replace("b: False", "b: True"),
        ROWS.removesuffix("\nR02 a: True, 4.0 of 0 to 9"),
        "\n".join(sorted(ROWS.splitlines(), reverse=True)),
    ],
)
def test_every_change_of_a_row_changes_the_pin(rows: str) -> None:
    assert pinned() != pinned(rows=rows)


def test_rows_of_a_rule_without_a_verdict_are_refused() -> None:
    with pytest.raises(AssertionError, match="without a verdict: R02"):
        pinned(verdicts="R01 VIOLATED of 2")


def test_no_part_of_a_paragraph_is_broken() -> None:
    parts = [f"table-{number} {number}" for number in range(100)]
    lines = list(digests.paragraphs({"TABLES": parts}))
    assert all(len(line) <= 98 for line in lines)
    assert f"TABLES: {', '.join(parts)}" == " ".join(lines)


in_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")


@in_git
@pytest.mark.parametrize(
    ("new", "shown"), [("R01 b\n", "-R01 a\n+R01 b"), ("R01 a\n", "no row differs from")]
)
def test_the_rows_of_both_commits_are_compared(
    new: str, shown: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    trees: list[Path] = []

    def written_by(tree: Path, into: Path, run: str) -> None:
        assert (tree / "Makefile").exists()
        trees.append(tree)
        into.mkdir()
        (into / run).write_text(new if tree == ROOT else "R01 a\n")

    monkeypatch.setattr(diff, "_written_by", written_by)

    assert 0 == diff.main(["--run", "bad-day"])
    assert shown in capfd.readouterr().out
    old, today = trees
    assert ROOT == today
    assert not old.exists()


@in_git
def test_a_commit_that_does_not_exist_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert 1 == diff.main(["--since", "no-such-commit"])
    assert "no-such-commit" in capfd.readouterr().err


@pytest.mark.long(10)
def test_all_rows_of_a_run_are_written(duckdb_engine: Engine) -> None:
    lines = list(diff.found(RUNS / "acl-revoked.librdkafka.eager.4.4.0", duckdb_engine))
    assert "R02 HOLDS of 4" in lines
    assert any(line.startswith("R01 member-1 (eviction): True, ") for line in lines)
    assert any(line.endswith(", undeclared") for line in lines)
    assert any(line.startswith("assignments: broker 2, generation 1, ") for line in lines)
