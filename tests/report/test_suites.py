"""Runs that a machine has spoilt: which they are, and that nothing else is played again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.base.errors import Exit, NoData
from harness.catalogue.cover import Candidate
from harness.experiment import Experiment, Group
from harness.history.derived import TABLES
from harness.history.suites import State, Suite, load_suite
from harness.report.many import index, suite_rows
from harness.report.many.blocks import print_shown
from harness.report.many.compare import compare
from harness.report.many.index import night_before
from harness.report.many.suite_rows import headline, refresh_states
from harness.report.outcome import name_of
from harness.suite import director as player
from tests.report.sample_run import Row, verdict, write_manifest, write_table
from tests.report.sample_suite import entry, write_judged

STOOD_STILL = "this machine stood still for 64 ms"
WHY = f"1 cannot be judged: one, {STOOD_STILL}"
UNKNOWN = verdict("R01", "UNKNOWN", unknowns=1, evidence="violations/R01.parquet", reason=WHY)


def night(
    results: Path,
    *runs: tuple[list[Row], dict[str, list[str]]],
    state: State = State.DIFFERS,
    reason: str = "",
) -> Suite:
    """A night of runs, each of verdicts and of what could not be judged, by rule."""
    folder = results / "nightly" / "night-1"
    folder.mkdir(parents=True)
    entries = []
    for number, (verdicts, unknown) in enumerate(runs, start=1):
        protocol = ("eager", "cooperative", "consumer")[number % 3]
        rows = [{**row, "protocol": protocol} for row in verdicts]
        run_dir = write_judged(results / "consumer-crash" / f"run-{number}", *rows)
        for rule, reasons in unknown.items():
            sentence = [{"rule": rule, "subject": "one", "ok": None, "why": why} for why in reasons]
            (run_dir / "violations").mkdir(exist_ok=True)
            path = run_dir / "violations" / f"{rule}.parquet"
            write_table(path, TABLES["judgements"], sentence)
        label = f"consumer-crash:librdkafka/{protocol}"
        place = os.path.relpath(run_dir, folder)
        entries.append(entry(label, state, folder=place, reason=reason))
    return Suite(folder, "nightly", "2026-11-20T10:00:00Z", entries)


def again(suite: Suite, becomes: State = State.AS_EXPECTED, folder: str | None = None) -> list[str]:
    """Plan again what the machine spoilt, as if it had been played; the labels."""
    candidate = Candidate.of("consumer-crash", Experiment(claim="It holds.", group=Group()))
    labels = []
    refresh_states(suite)
    for spoilt, planned in player._to_play_again(suite, [candidate] * len(suite.entries)):
        played = player._again(spoilt, planned)
        suite.entries.append(played)
        played.state, played.folder = becomes, folder
        player._give_way(spoilt, played)
        labels.append(played.label)
    return labels


def test_a_run_spoilt_by_the_machine_alone_is_played_again(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R02"), UNKNOWN], {"R01": [STOOD_STILL, STOOD_STILL]}))

    assert ["consumer-crash:librdkafka/eager (again)"] == again(suite)
    assert [State.SPOILT, State.AS_EXPECTED] == [each.state for each in suite.entries]
    assert suite.entries[0].folder


def test_a_run_whose_rows_are_damaged_is_not_played_again(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R02"), UNKNOWN], {"R01": [STOOD_STILL]}))
    folder = suite.run_dir(suite.entries[0])
    assert folder is not None
    (folder / "violations" / "R01.parquet").write_bytes(b"PAR1 and nothing else")

    assert not again(suite)
    assert State.DIFFERS is suite.entries[0].state


@pytest.mark.parametrize("becomes", [State.VOID, State.INTERRUPTED, State.PLANNED])
def test_a_second_run_that_shows_nothing_leaves_the_first_its_place(
    tmp_path: Path, becomes: State
) -> None:
    suite = night(tmp_path, ([verdict("R02"), UNKNOWN], {"R01": [STOOD_STILL]}))
    again(suite, becomes)
    verdicts = suite_rows.read_verdicts(suite)

    assert [State.BUSY, becomes] == [each.state for each in suite.entries]
    assert [["R02", "R01"], []] == [[row["rule"] for row in rows] for rows in verdicts.values()]


@pytest.mark.parametrize(
    ("verdicts", "unknown"),
    [
        ([verdict("R01", "VIOLATED")], {}),
        ([UNKNOWN, verdict("R02", "VIOLATED")], {"R01": [STOOD_STILL]}),
        ([UNKNOWN], {"R01": [STOOD_STILL, "no sign of life before it is on record"]}),
        ([UNKNOWN, verdict("R02", "UNKNOWN", unknowns=0)], {"R01": [STOOD_STILL]}),
    ],
)
def test_what_the_machine_did_not_spoil_is_never_played_again(
    tmp_path: Path, verdicts: list[Row], unknown: dict[str, list[str]]
) -> None:
    suite = night(tmp_path, (verdicts, unknown))

    assert not again(suite)
    assert [State.DIFFERS] == [each.state for each in suite.entries]


def test_a_machine_that_spoils_many_runs_gets_no_second_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = night(tmp_path, *[([UNKNOWN], {"R01": [STOOD_STILL]})] * 6)

    assert not again(suite)
    assert Exit.BUSY is suite.exit_code
    assert {"withheld"} == {index.shown(suite, suite_rows.read_verdicts(suite)).outcome}
    shown = index.write(suite)
    sentence = "This machine stalled at judged moments of 6 runs"
    assert sentence in (suite.path / "summary.md").read_text()
    assert sentence in (suite.path / "index.html").read_text()
    print_shown(shown)
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_repeats_are_never_played_again(tmp_path: Path) -> None:
    suite = night(tmp_path, ([UNKNOWN], {"R01": [STOOD_STILL]}))
    suite.kind = "repeat"

    assert not again(suite)


def test_what_is_new_since_the_night_before_is_shown(tmp_path: Path) -> None:
    """A rule got worse, one is judged for the first time, and a run was played again."""
    first = night(
        tmp_path,
        ([verdict("R01"), verdict("R02")], {}),
        ([verdict("R01")], {}),
        state=State.AS_EXPECTED,
    )
    first.save()
    index.write(first)
    second = night(
        tmp_path / "second",
        ([verdict("R01", "VIOLATED"), verdict("R02"), verdict("R12")], {}),
        ([UNKNOWN], {"R01": [STOOD_STILL]}),
    )
    second.path = second.path.rename(first.path.with_name("night-2"))
    for each in second.entries:
        assert each.folder is not None
        each.folder = f"../../second/{each.folder.removeprefix('../../')}"
    again(second, folder=first.entries[1].folder)
    index.write(second)
    page = (second.path / "index.html").read_text()
    text = (second.path / "summary.md").read_text()

    assert "2 verdicts changed since night-1." in page
    assert "2 verdicts changed since night-1." in text
    label = "consumer-crash:librdkafka/cooperative"
    assert f"| {label} | {name_of('R01')} | HOLDS | **✗ VIOLATED** |" in text
    assert f"| {label} | {name_of('R12')} | not judged | ✓ HOLDS |" in text


def test_the_index_keeps_both_and_counts_the_second(tmp_path: Path) -> None:
    suite = night(tmp_path, ([UNKNOWN], {"R01": [STOOD_STILL]}))
    fine = write_judged(tmp_path / "consumer-crash" / "run-9", verdict("R01"))
    again(suite, folder=os.path.relpath(fine, suite.path))
    index.write(suite)
    page = (suite.path / "index.html").read_text()

    assert Exit.AS_EXPECTED is suite.exit_code
    assert "All 1 run as expected, 1 of them only when played again" == headline(suite)
    assert "this machine delayed a judged timing, so the run was played again" in page
    assert 'skipped="1"' in (suite.path / "junit.xml").read_text()
    assert "1 verdict, 0 not as expected" in page


def nights_of(results: Path, *each: tuple[Mapping[str, object], State]) -> list[Suite]:
    """Nights of one run each, in one folder, with what was asked and how the run ended."""
    nights = []
    for number, (asked, state) in enumerate(each):
        suite = night(results / f"{number}", ([verdict("R01")], {}), state=state)
        suite.asked = dict(asked)
        suite.path = suite.path.rename(results / f"night-{number}")
        suite.entries[0].folder = str(results / f"{number}" / "consumer-crash" / "run-1")
        suite.save()
        index.write(suite)
        nights.append(suite)
    return nights


def test_a_night_is_compared_with_the_last_one_of_the_same_set(tmp_path: Path) -> None:
    """Another set, and one that judged nothing, came between."""
    same, differs = {"long": False}, State.DIFFERS
    asked = ((same, differs), ({"long": True}, differs), (same, State.VOID), (same, differs))
    first, other, _, last = nights_of(tmp_path, *asked)

    before = night_before(last)
    assert before is not None
    assert first.path == before[0]
    assert night_before(other) is None


def test_a_damaged_night_is_passed_over(tmp_path: Path) -> None:
    """Its metadata can be read, and its rows cannot."""
    first, damaged, last = nights_of(tmp_path, *[({}, State.DIFFERS)] * 3)
    table = damaged.path / "verdicts.parquet"
    content = bytearray(table.read_bytes())
    content[4:64] = bytes(60)
    table.write_bytes(content)

    index.write(last)

    before = night_before(last)
    assert before is not None
    assert first.path == before[0]
    assert "No verdict is another one than in night-0." in (last.path / "summary.md").read_text()


def test_latest_is_the_night_that_it_names(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R01")], {}))
    suite.save()
    index.write(suite)
    latest = suite.path.with_name("latest")
    latest.symlink_to(suite.name)

    assert suite.name == load_suite(latest).name
    assert night_before(load_suite(latest)) is None


def test_what_was_judged_again_is_taken_up(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R01")], {}), ([verdict("R01", "VIOLATED")], {}))
    suite.entries[0].state = State.FAILED
    suite.entries[0].reason = "it could not be judged: Spark died"
    suite.entries[1].state = State.AS_EXPECTED
    refresh_states(suite)

    assert [State.AS_EXPECTED, State.DIFFERS] == [each.state for each in suite.entries]
    assert "" == suite.entries[0].reason


def test_a_run_whose_verdicts_are_gone_could_not_be_judged(tmp_path: Path) -> None:
    suite = night(tmp_path, *[([verdict("R01")], {})] * 2, state=State.AS_EXPECTED)
    verdicts = tmp_path / "consumer-crash" / "run-1" / "verdicts.parquet"
    kept = verdicts.read_bytes()
    verdicts.unlink()
    write_judged(tmp_path / "consumer-crash" / "run-2")
    refresh_states(suite)

    assert [State.FAILED, State.FAILED] == [each.state for each in suite.entries]
    assert suite.entries[0].reason.startswith("it could not be judged: ")
    assert "verdicts.parquet is missing" in suite.entries[0].reason
    assert "it could not be judged: no rule was" == suite.entries[1].reason
    assert Exit.FAILED is suite.exit_code
    assert ["UNKNOWN"] * 4 == [
        row["verdict"] for rows in suite_rows.read_verdicts(suite).values() for row in rows
    ]
    verdicts.write_bytes(kept)
    refresh_states(suite)

    assert [State.AS_EXPECTED, State.FAILED] == [each.state for each in suite.entries]


def test_a_night_whose_runs_were_removed_still_says_what_they_showed(tmp_path: Path) -> None:
    """As where only nights are kept: the run folders are the large ones."""
    suite = night(tmp_path, ([verdict("R01", "VIOLATED")], {}), ([verdict("R21")], {}))
    suite.save()
    index.write(suite)
    shown = suite_rows.read_verdicts(suite)
    shutil.rmtree(tmp_path / "consumer-crash")
    refresh_states(suite)
    index.write(suite)

    assert [State.DIFFERS, State.DIFFERS] == [each.state for each in suite.entries]
    assert shown == suite_rows.read_verdicts(suite)
    with pytest.raises(NoData, match="has no judged run any more"):
        compare(suite.path, suite.path)
    (suite.path / "verdicts.parquet").unlink()
    with pytest.raises(NoData, match="consumer-crash/run-1 was removed, so what it showed is"):
        suite_rows.read_verdicts(suite)


def test_a_run_that_a_killed_night_had_not_judged_is_taken_up(tmp_path: Path) -> None:
    why = "it has been played, and not been judged yet"
    suite = night(tmp_path, *[([verdict("R01")], {})] * 2, state=State.INTERRUPTED, reason=why)
    write_manifest(tmp_path / "consumer-crash" / "run-2", status="interrupted")
    refresh_states(suite)

    assert [State.AS_EXPECTED, State.INTERRUPTED] == [each.state for each in suite.entries]
    assert ["", why] == [each.reason for each in suite.entries]
    write_manifest(tmp_path / "consumer-crash" / "run-2")
    refresh_states(suite)

    assert Exit.AS_EXPECTED is suite.exit_code


def test_a_killed_night_without_all_its_runs_is_not_as_expected(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R01")], {}), state=State.INTERRUPTED)
    suite.entries.append(entry("baseline:librdkafka/eager", State.PLANNED))
    refresh_states(suite)

    assert State.AS_EXPECTED is suite.entries[0].state
    assert Exit.INTERRUPTED is suite.exit_code
    assert "1 of 2 runs as expected, 1 not played" == headline(suite)


def test_what_was_never_whole_is_not_taken_up(tmp_path: Path) -> None:
    suite = night(tmp_path, ([verdict("R01")], {}), state=State.VOID)
    refresh_states(suite)

    assert State.VOID is suite.entries[0].state
