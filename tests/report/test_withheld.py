"""What a run comes to where verdicts were withheld because of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.history.derived import SPOILT
from harness.report import outcome
from harness.report.load import load_manifest
from tests.report.sample_run import write_run

BUSY = "broker-1 waited for a processor for 3,813 of 5,107 ms, and for 38% of the run"
CLOCK = f"1 records of the machine's clock; 1 cannot be judged: clock ticks, late; {BUSY}"


def row(rule: str, verdict: str, reason: str, expected: str = "HOLDS") -> dict[str, str]:
    return {"rule": rule, "verdict": verdict, "expected": expected, "reason": reason}


@pytest.mark.parametrize("why", SPOILT)
def test_the_sentence_says_what_this_machine_did(tmp_path: Path, why: str) -> None:
    manifest = load_manifest(write_run(tmp_path))
    withheld = row("R01", "UNKNOWN", f"1 cannot be judged: member-1, {why} for 90 ms")
    wrong = row("R02", "VIOLATED", "1 violates it")

    headline = outcome.of_verdicts(manifest, [withheld]).headline
    assert headline == "1 verdict differs from the expected, withheld because of this machine"

    headline = outcome.of_verdicts(manifest, [withheld, wrong, row("E04", "HOLDS", CLOCK)]).headline
    assert headline == (
        f"2 verdicts differ from the expected, 1 of them withheld because of this machine ({BUSY})"
    )


def test_no_machine_is_named_for_what_it_did_not_do(tmp_path: Path) -> None:
    manifest = load_manifest(write_run(tmp_path))
    rows = [
        row("R01", "UNKNOWN", "0 evictions examined"),
        row("R02", "UNKNOWN", SPOILT[0], expected="UNKNOWN"),
        row("E04", "HOLDS", CLOCK),
    ]
    assert outcome.of_verdicts(manifest, rows).headline == "1 verdict differs from the expected"
