"""Writes suites as real ones look: runs of every outcome, with their folders beside the suite's."""

import os
from pathlib import Path

from harness.history.derived import TABLES
from harness.history.suites import Entry, State, Suite
from harness.report.headline import of_run
from harness.report.load import load
from harness.report.run.page_files import write_whole
from harness.report.text.junit import junit
from tests.report.sample_run import Row, verdict, write_manifest, write_run, write_table


def entry(label: str, state: State = State.AS_EXPECTED, **more: object) -> Entry:
    """An entry of a suite; `label` is NAME:CLIENT/PROTOCOL."""
    name, _, variant = label.partition(":")
    client, _, protocol = variant.partition("/")
    known = {
        "label": label,
        "experiment": name,
        "claim": f"What {name} claims.",
        "client": client,
        "protocol": protocol,
        "kafka": "4.3.1",
        "estimate_s": 40.0,
        "rules": [{"id": "R01", "expected": "HOLDS"}, {"id": "R21", "expected": "VIOLATED"}],
        "state": state,
        "seed": 7,
        "took_s": 0.0 if state is State.PLANNED else 38.5,
    }
    return Entry(**{**known, **more})  # type: ignore[arg-type]


def write_judged(run_dir: Path, *verdicts: Row, **measured: list[float]) -> Path:
    """A complete run with these verdicts; `measured` has what was measured, by rule."""
    write_run(run_dir, verdicts=verdicts)
    rows = [
        {"rule": rule, "subject": f"thing {n}", "ok": True, "measured": value}
        for rule, values in measured.items()
        for n, value in enumerate(values)
    ]
    write_table(run_dir / "tables" / "judgements.parquet", TABLES["judgements"], rows)
    return run_dir


def write_report(run_dir: Path) -> Path:
    """What a suite looks for in a run's report: its JUnit, and whether there is a page."""
    run = load(run_dir)
    write_whole(run_dir / "junit.xml", junit(run, of_run(run)))
    (run_dir / "report.html").touch()
    return run_dir


def write_night(results: Path) -> Suite:
    """A night of four runs: as expected, differing, void and not played."""
    folder = results / "nightly" / "night-1"
    folder.mkdir(parents=True)
    write_judged(results / "baseline" / "run-1", verdict("R01"), verdict("E04", measured_max=22.5))
    write_judged(
        results / "consumer-crash" / "run-2",
        verdict("R01", "VIOLATED", reason="evicted <b>late</b>"),
        verdict("R21", "VIOLATED", "VIOLATED"),
        verdict("R12", "UNKNOWN"),
    )
    why = "broker-2 ended outside the plan"
    write_manifest(results / "broker-kill" / "run-3", status="void", status_reason=why)
    fine, bad, void = (
        os.path.relpath(write_report(results / run), folder)
        for run in ("baseline/run-1", "consumer-crash/run-2", "broker-kill/run-3")
    )
    entries = [
        entry("baseline:librdkafka/eager", folder=fine),
        entry("consumer-crash:java/eager", State.DIFFERS, folder=bad),
        entry("broker-kill:librdkafka/eager", State.VOID, folder=void, reason=why),
        entry("consumer-join:java/consumer", State.PLANNED, seed=None),
    ]
    uncovered = ["X05 java/eager"]
    suite = Suite(folder, "nightly", "2026-11-20T10:00:00Z", entries, uncovered=uncovered)
    suite.save()
    return suite


def write_repeats(results: Path, values: list[list[float]], *void: str) -> Suite:
    """One experiment as often as there are lists of what was measured for R01, and void runs."""
    folder = results / "consumer-crash" / "repeat-1"
    folder.mkdir(parents=True)
    label = "consumer-crash:librdkafka/eager"
    entries = []
    for number, found in enumerate(values, start=1):
        run_dir = results / "consumer-crash" / f"run-{number}"
        late = max(found) > 6_050
        judged = verdict("R01", "VIOLATED" if late else "HOLDS", unit="ms", bound_high=6_050.0)
        write_report(write_judged(run_dir, judged, R01=found))
        state = State.DIFFERS if late else State.AS_EXPECTED
        entries.append(entry(label, state, folder=os.path.relpath(run_dir, folder)))
    rules = [{"id": "R01", "expected": "HOLDS"}]
    entries += [entry(label, State.VOID, reason=reason, rules=rules) for reason in void]
    for number, each in enumerate(entries, start=1):
        each.label += f" run {number}"
    suite = Suite(folder, "repeat", "2026-11-20T10:00:00Z", entries)
    suite.save()
    return suite
