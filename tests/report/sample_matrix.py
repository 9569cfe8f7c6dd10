"""Writes runs of programs of other people's, and matrices of them, as real ones look."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from harness.history.suites import Entry, State, Suite
from tests.report.sample_run import TOPIC, Row, at, manifest, verdict, write_manifest, write_run
from tests.report.sample_suite import entry, write_report

STOP_S: Final = 58.0  # when the processes of the sample run are asked to end
COMMAND: Final = "./kafka-chaos matrix --repeat 3"


def fault(number: str, kind: str, target: str, began: float, **more: Any) -> list[Row]:
    """The rows of a fault that took effect; `number` is 1, or 1.2 for a step of that one."""
    took_effect = more.pop("took_effect", True)
    row = {
        "fault": f"{number}-{kind}",
        "kind": kind,
        "target": target,
        "resolved": target.replace(" ", "-"),
        "parameters": json.dumps({"how": None, **more}),
    }
    return [
        {**row, "phase": "planned", "at": at(0.1)},
        {**row, "phase": "injecting", "at": at(began)},
        {**row, "phase": "injected", "at": at(began + 0.02), "took_effect": took_effect},
    ]


EVERYDAY: Final = (
    *fault("1", "kill-consumer", "member 1", 5.0),
    *fault("2", "start-consumer", "new member", 15.0),
    *fault("3", "terminate-consumer", "member 2", 20.0),
    *fault("4", "start-consumer", "new member", 25.0),
    *fault("5", "kill-broker", "coordinator", 30.0),
    *fault("6", "isolate", "member 3", 40.0),
)


def stood(partition: int, from_s: float, to_s: float, **more: Any) -> Row:
    """A partition that stopped."""
    row = {"topic": TOPIC, "partition": partition, "from_at": at(from_s), "to_at": at(to_s)}
    return {**row, "ms": (to_s - from_s) * 1e3, "stopped": True, **more}


def again(seconds: float, count: int) -> Row:
    """Records that came again."""
    row = {"topic": TOPIC, "partition": 0, "first_offset": 1, "last_offset": count}
    return {**row, "count": count, "polled_at": at(seconds), "explained": True}


def judgement(rule: str, seconds: float, ok: bool | None = True, subject: str = "it") -> Row:
    """What a rule found of one thing."""
    return {"rule": rule, "subject": subject, "at": at(seconds), "ok": ok}


def fine() -> list[Row]:
    """A run in which nothing went wrong."""
    ends = [judgement("P6", 20.01), *[judgement("P6", STOP_S + 0.01)] * 3]
    return [
        *ends,
        judgement("P1", 52, subject=f"{TOPIC}-0"),
        judgement("P7", STOP_S),
        judgement("P10", STOP_S),
    ]


def read(partition: int, last: int, seconds: float) -> Row:
    """Records that were read, from the first to this one."""
    row = {"member": "member-1", "topic": TOPIC, "partition": partition, "first_offset": 0}
    return {**row, "last_offset": last, "count": last + 1, "polled_at": at(seconds)}


def write_app_run(
    run_dir: Path,
    *,
    app: str = "kafkajs",
    shows: bool = True,
    observed: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """A complete run of the experiment everyday with these processes; `changes` as of `write_run`.

    `shows` says whether the program shows what it processed.
    """
    known: dict[str, Any] = {
        "faults": EVERYDAY,
        "stops": [stood(0, 5.1, 12.6, cause_at=at(5.0)), stood(1, 30.5, 34.5)],
        "redeliveries": [again(12.7, 40)],
        "judgements": fine(),
        "reads": [read(0, 2_900, 55)],
        "sends": [
            {
                "topic": TOPIC,
                "partition": 0,
                "outcome": "acknowledged",
                "first_offset": 0,
                "last_offset": 2_900,
                "count": 2_901,
            }
        ],
        "effects": [{"count": 1}] if shows else [],
        "verdicts": [verdict("P1")],
    }
    write_run(run_dir, **{**known, **changes})
    declared = dict(manifest()["declared"])  # type: ignore[call-overload]
    write_manifest(
        run_dir,
        experiment="everyday",
        declared={**declared, "app": {"name": app, "stop": {"signal": "SIGTERM", "grace_s": 30.0}}},
        observed=observed
        or {
            "clients": ["kgo v1.22.2"],
            "protocol": "cooperative",
            "assignors": ["cooperative-sticky"],
            "session_timeout_ms": 45_000,
        },
    )
    write_report(run_dir)
    return run_dir


def suite_of(results: Path, *entries: Entry, repeat: int = 3, examples: bool = True) -> Suite:
    """A matrix of these runs, in a folder of its own."""
    folder = results / "matrix" / "20261124T100000-abcd"
    folder.mkdir(parents=True, exist_ok=True)
    asked = {"repeat": repeat, "examples": examples, "command": COMMAND}
    return Suite(folder, "matrix", "2026-11-24T10:00:00Z", list(entries), asked=asked)


def played(
    results: Path,
    run_dir: Path | None,
    *,
    client: str = "franz-go",
    experiment: str = "everyday",
    state: State = State.AS_EXPECTED,
    number: int = 1,
    **more: Any,
) -> Entry:
    """A run of a matrix; without a folder it never began."""
    folder = results / "matrix" / "20261124T100000-abcd"
    return replace(
        entry(f"{experiment}:{client}/eager", state, **more),
        label=f"{client}, {experiment}, run {number}",
        folder=None if run_dir is None else os.path.relpath(run_dir, folder),
        rules=[{"id": "P1", "expected": "HOLDS"}],
    )


def write_matrix(results: Path) -> Suite:
    """A matrix of two clients: one with three runs, one with a run, a void one and one to come."""
    slow = [stood(0, 5.1, 14.9, cause_at=at(5.0)), stood(1, 30.5, 34.5)]
    runs = [
        write_app_run(results / "everyday" / "run-1"),
        write_app_run(results / "everyday" / "run-2", stops=slow),
        write_app_run(results / "everyday" / "run-3", redeliveries=[]),
    ]
    theirs = write_app_run(
        results / "everyday" / "run-4",
        app="kafkajs",
        shows=False,
        observed={
            "clients": ["unknown unknown"],
            "protocol": "eager",
            "assignors": ["RoundRobinAssigner"],
            "session_timeout_ms": 30_000,
        },
        judgements=[
            judgement("P6", 20.01, ok=False),
            judgement("P8", 44, ok=None),
            judgement("P1", 52, subject=f"{TOPIC}-0"),
            judgement("P7", STOP_S, ok=False),
            judgement("P10", STOP_S),
        ],
        verdicts=[verdict("P6", "VIOLATED"), verdict("P7", "VIOLATED")],
    )
    return suite_of(
        results,
        *(played(results, run, number=n) for n, run in enumerate(runs, start=1)),
        played(results, theirs, client="kafkajs", state=State.DIFFERS),
        played(
            results,
            None,
            client="kafkajs",
            state=State.VOID,
            number=2,
            reason="broker-2 <b>ended</b> outside the plan",
        ),
        played(results, None, client="kafkajs", state=State.PLANNED, number=3),
    )
