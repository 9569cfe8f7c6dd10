"""The terminal table is aligned with and without colour; the Markdown summary is safe and short."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.report import print_summary, report
from tests.report.sample_run import verdict, write_manifest, write_run


def printed(run_dir: Path, *, encoding: str = "utf-8", width: int | None = None) -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    print_summary(run_dir, Console(file=file, width=width))
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has been reported; nothing changes it."""
    run_dir = write_run(tmp_path_factory.mktemp("results") / "run")
    report(run_dir)
    return run_dir


@pytest.fixture(scope="module")
def lines(run_dir: Path) -> list[str]:
    return printed(run_dir)


def test_one_line_per_rule_with_what_differs_first(lines: list[str]) -> None:
    assert "which put member-2 out of the group although alive: " in lines[0]
    assert lines[1].startswith("2 verdicts differ from the expected: 8 rules judged; 6 as expected")
    assert lines[4].startswith("✗  one_owner")
    assert "VIOLATED" in lines[4]
    assert "✗ differs from what the experiment expects" in lines
    assert lines[5].startswith("?  join_bounded")
    assert lines[6].startswith("≠  session_expiry")
    assert [line[0] for line in lines[7:12]] == ["✓"] * 5


def test_columns_are_aligned_and_fit_100_characters(lines: list[str]) -> None:
    table = lines[3:12]

    assert 90 < max(map(len, table)) <= 100
    verdict_column = table[0].index("verdict")
    for line in table[1:]:
        assert line[verdict_column - 1] == " "
        assert line[verdict_column:].startswith(("HOLDS", "VIOLATED", "UNKNOWN"))


def test_numbers_of_the_run_and_the_page_are_named(
    run_dir: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page from the folder that one is in."""
    assert "rebalances  4, 2 evictions, not counted: 2 before the first fault" in lines
    assert "records     17,406 acknowledged, 0 lost, 173 redelivered (12 unexplained)" in lines
    assert f"report      {run_dir / 'report.html'}" in lines
    monkeypatch.chdir(run_dir.parent)
    assert f"report      {run_dir.name}/report.html" in printed(run_dir)


def test_a_file_that_is_lost_is_named(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", stops=None)
    report(run_dir)
    sentence = "What is made from these files is left out: tables/stops.parquet is missing."

    assert sentence in " ".join(printed(run_dir))
    assert sentence in (run_dir / "summary.md").read_text()


def test_colour_changes_no_character(run_dir: Path) -> None:
    file = io.StringIO()
    print_summary(
        run_dir, Console(file=file, force_terminal=True, width=100, color_system="standard")
    )
    coloured = file.getvalue()

    assert "\x1b[31m" in coloured
    assert Console(file=io.StringIO()).render_str("x")  # rich itself is in order
    plain = "\n".join(printed(run_dir, width=100))
    assert _without_codes(coloured).split() == plain.split()


def _without_codes(text: str) -> str:
    return "".join(
        part.partition("m")[2] if n else part for n, part in enumerate(text.split("\x1b["))
    )


def test_terminal_without_unicode_gets_ascii(run_dir: Path) -> None:
    assert printed(run_dir, encoding="ascii")[4].startswith("X  one_owner")


def test_rule_names_are_never_taken_for_markup(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run", verdicts=[verdict("[red]rule[/red] :smile:")])

    assert any("[red]rule[/red] :smile:" in line for line in printed(run_dir))


def test_a_run_that_shows_nothing_says_why(tmp_path: Path) -> None:
    write_manifest(tmp_path, status="interrupted", status_reason="Ctrl-C after 12 s.")
    report(tmp_path)
    text = "\n".join(printed(tmp_path))

    for shown in (text, (tmp_path / "summary.md").read_text(encoding="utf-8")):
        assert "Interrupted: the run did not finish" in shown
        assert "Ctrl-C after 12 s. No rule was judged." in shown
    assert "rebalances  not derived\nstandstill  not derived" in text


def test_lost_and_unseen_records_are_set_apart(tmp_path: Path) -> None:
    where = {"topic": "t", "partition": 0}
    sent = where | {"outcome": "acknowledged", "first_offset": 0, "last_offset": 99, "count": 100}
    read = [
        where | {"first_offset": a, "last_offset": b, "count": b - a + 1}
        for a, b in ((0, 9), (13, 49), (48, 79))
    ]
    run_dir = write_run(tmp_path / "run", sends=[sent], deliveries=read, redeliveries=())

    assert any("100 acknowledged, 3 lost, 0 redelivered" in line for line in printed(run_dir))


def test_summary_has_outcome_table_and_links(run_dir: Path) -> None:
    text = (run_dir / "summary.md").read_text(encoding="utf-8")

    assert text.startswith("## consumer-freeze: The freeze of member-2 outlasted ")
    assert "2 verdicts differ from the expected: 8 rules judged" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1].startswith("| ✗ | one\\_owner | **VIOLATED**, expected HOLDS |")
    assert "VIOLATED, as expected" in rows[3]
    assert "[report.html](report.html)" in text


def test_summary_cannot_be_broken_by_the_texts_of_a_run(tmp_path: Path) -> None:
    reason = "a | b\nc <script>x</script> [x](y) `z` " + "long " * 500
    rows = [verdict(f"r{n}", "VIOLATED", reason=reason) for n in range(400)]
    run_dir = write_run(tmp_path / "run", verdicts=rows)

    report(run_dir)

    text = (run_dir / "summary.md").read_text(encoding="utf-8")
    assert len(text.encode()) < 200_000
    assert "<script>" not in text
    table = [line for line in text.splitlines() if line.startswith("| ✗")]
    assert {line.replace("\\|", "").count("|") for line in table} == {8}
    assert "250 more rules are in report.html" in text
