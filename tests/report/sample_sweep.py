"""Writes sweeps as real ones look: a crash and a freeze for several session timeouts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.catalogue.grid import in_words
from harness.history.suites import Entry, State, Suite
from tests.report.sample_matrix import again, fault
from tests.report.sample_run import GROUP, Row, at, member_id, stop, verdict, write_run
from tests.report.sample_suite import entry

COMMAND: Final = "./kafka-chaos sweep consumer-crash --over session_timeout_ms=6000,45000"
FOLDER: Final = "20261124T100000-abcd"
CRASH: Final = "consumer-crash"
FREEZE: Final = "consumer-freeze"


def evicted(member: str, seconds: float) -> Row:
    """A member whose session ended."""
    return {
        "group": GROUP,
        "member": member,
        "member_id": member_id(member),
        "evicted_at": at(seconds),
    }


def event(member: str, name: str, seconds: float) -> Row:
    """Something that a member noticed."""
    row = {"member": member, "event": name, "member_id": member_id(member)}
    return {**row, "event_at": at(seconds), "observed_at": at(seconds)}


def said(name: str, seconds: float, **more: object) -> Row:
    """A line of the coordinator about the group."""
    return {"broker": 2, "at": at(seconds), "event": name, "group": GROUP, **more}


def killed(member: str, seconds: float) -> list[Row]:
    """The rows of a fault that killed a member."""
    effects = {"breaks": "member", "killed": True, "ends_member": True}
    return fault("1", "kill-consumer", member.replace("-", " "), seconds, effects=effects)


def write_measured(
    run_dir: Path,
    standstill_ms: float = 0.0,
    *,
    false: Sequence[str] = (),
    right: Sequence[str] = (),
    twice: int = 0,
    **changes: object,
) -> Path:
    """A complete run of so long a standstill, with these members put out falsely, or rightly."""
    known: dict[str, object] = {
        "stops": [stop(0, standstill_ms, 0.9 * standstill_ms)] if standstill_ms else [],
        "evictions": [evicted(member, 14.0) for member in (*right, *false)],
        "faults": [row for member in right for row in killed(member, 8.0)],
        "client_events": [],
        "coordinator_events": [],
        "redeliveries": [again(20.0, twice)] if twice else [],
        "sends": [],
        "deliveries": [],
        "verdicts": [verdict("R01")],
        "judgements": [],
    }
    write_run(run_dir, **{**known, **changes})  # type: ignore[arg-type]
    (run_dir / "report.html").write_text("Its page, to which pages of many runs lead.")
    return run_dir


def played(
    results: Path,
    run_dir: Path | None,
    name: str,
    settings: Mapping[str, str],
    number: int = 1,
    state: State = State.AS_EXPECTED,
    **more: object,
) -> Entry:
    """A run of a sweep; without a folder it never began."""
    folder = results / "sweep" / FOLDER
    return replace(
        entry(f"{name}:librdkafka/eager", state, **more),
        label=f"{name}, {in_words(settings)}, run {number}",
        settings=dict(settings),
        folder=None if run_dir is None else os.path.relpath(run_dir, folder),
        rules=[{"id": "R01", "expected": "HOLDS"}],
    )


def suite_of(results: Path, over: Mapping[str, Sequence[str]], *entries: Entry) -> Suite:
    """A sweep of these runs, in a folder of its own."""
    folder = results / "sweep" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    asked = {"over": {name: list(values) for name, values in over.items()}, "command": COMMAND}
    return Suite(folder, "sweep", "2026-11-24T10:00:00Z", list(entries), asked=asked)


# By experiment and session timeout, of each run: standstill, false evictions, records twice.
Runs = Mapping[tuple[str, str], Sequence[tuple[float, int, int]]]
MEASURED: Final[Runs] = {
    (CRASH, "6000"): [(6_310, 0, 0), (6_590, 0, 0), (6_120, 0, 0)],
    (CRASH, "10000"): [(10_400, 0, 0), (10_120, 0, 0), (10_300, 0, 0)],
    (CRASH, "45000"): [(45_100, 0, 0), (44_600, 0, 0), (43_900, 0, 0)],
    (FREEZE, "6000"): [(6_900, 1, 52), (7_540, 1, 61), (6_700, 1, 38)],
    (FREEZE, "10000"): [(10_900, 1, 40), (11_200, 1, 77), (12_020, 0, 0)],
    (FREEZE, "45000"): [(12_100, 0, 0), (12_090, 0, 0), (12_180, 0, 0)],
}


def write_sweep(results: Path, measured: Runs = MEASURED) -> Suite:
    """A sweep of session timeouts, three runs of each point unless others are given."""
    entries = []
    for (name, session), runs in measured.items():
        for number, (standstill_ms, false, twice) in enumerate(runs, start=1):
            run_dir = write_measured(
                results / name / f"run-{session}-{number}",
                standstill_ms,
                false=[f"member-{place + 2}" for place in range(false)],
                right=("member-1",) if name == CRASH else (),
                twice=twice,
            )
            settings = {"session_timeout_ms": session}
            entries.append(played(results, run_dir, name, settings, number))
    values = list(dict.fromkeys(session for _, session in measured))
    return suite_of(results, {"session_timeout_ms": values}, *entries)
