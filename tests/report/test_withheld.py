"""What a run comes to where verdicts were withheld because of this machine."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.history.derived import KEPT, SPOILT, STOOD_STILL, TABLES
from harness.report import exit_code, outcome, report
from harness.report.load import load_manifest
from tests.report.sample_run import verdict, write_run, write_table

BUSY = "broker-1 waited for a processor for 3,813 of 5,107 ms, and for 38% of the run"
CLOCK = f"1 records of the machine's clock; 1 cannot be judged: clock ticks, late; {BUSY}"


def row(rule: str, verdict: str, reason: str, expected: str = "HOLDS") -> dict[str, str]:
    return {"rule": rule, "verdict": verdict, "expected": expected, "reason": reason}


@pytest.mark.parametrize("why", SPOILT)
def test_the_sentence_says_what_this_machine_did(tmp_path: Path, why: str) -> None:
    manifest = load_manifest(write_run(tmp_path))
    withheld = row("R01", "UNKNOWN", f"1 cannot be judged: member-1, {why} for 90 ms")
    wrong = row("R02", "VIOLATED", "1 violates it")

    found = outcome.of_verdicts(manifest, [withheld])
    assert ("withheld", Exit.BUSY) == (found.kind, outcome.exit_code_of(manifest, [withheld]))
    assert "Every verdict that could be judged as expected" == found.headline

    both = [withheld, wrong, row("E04", "HOLDS", CLOCK)]
    found = outcome.of_verdicts(manifest, both)
    assert ("differs", Exit.DIFFERS) == (found.kind, outcome.exit_code_of(manifest, both))
    assert "1 verdict differs from the expected" == found.headline
    busy = "this machine was busy" if why in (STOOD_STILL, KEPT) else "its clock was not watched"
    assert found.detail.endswith(
        f"Not judged because {busy} ({BUSY}): 1 rule, {outcome.name_of('R01')}."
    )


def test_no_machine_is_named_for_what_it_did_not_do(tmp_path: Path) -> None:
    manifest = load_manifest(write_run(tmp_path))
    rows = [
        row("R01", "UNKNOWN", "0 evictions examined"),
        row("R02", "UNKNOWN", SPOILT[0], expected="UNKNOWN"),
        row("E04", "HOLDS", CLOCK),
    ]
    found = outcome.of_verdicts(manifest, rows)
    assert "1 verdict differs from the expected" == found.headline
    assert "Not judged" not in found.detail


def test_what_was_withheld_is_skipped_and_amber_and_never_a_failure(tmp_path: Path) -> None:
    reason = f"1 cannot be judged: one, {STOOD_STILL} for 90 ms"
    rows = [verdict("R01", "UNKNOWN", reason=reason, unknowns=1, evidence="violations/R01.parquet")]
    run_dir = write_run(tmp_path / "run", verdicts=[*rows, verdict("R02")])
    unknown = [{"rule": "R01", "subject": "one", "ok": None, "why": f"{STOOD_STILL} for 90 ms"}]
    write_table(run_dir / "violations" / "R01.parquet", TABLES["judgements"], unknown)
    report(run_dir)

    assert Exit.BUSY == exit_code(run_dir)
    suite = ET.parse(run_dir / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert ["2", "0", "0", "1"] == [
        suite.get(n) for n in ("tests", "failures", "errors", "skipped")
    ]
    page = (run_dir / "report.html").read_text()
    assert 'class="outcome withheld"' in page
    assert "badge differs" not in page
    assert "Not judged because this machine was busy: 1 rule" in page

    write_table(
        run_dir / "violations" / "R01.parquet",
        TABLES["judgements"],
        [*unknown, {**unknown[0], "why": "no heartbeat is on record"}],
    )
    assert Exit.DIFFERS == exit_code(run_dir)
