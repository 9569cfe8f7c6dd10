"""The headline of a run is the first finding that it fits, and else what its faults cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from harness.report.headline import FINDINGS, Finding, found_in
from harness.report.load import load
from harness.rules import rule_names
from tests.report.sample_run import Row, at, stop, verdict, write_manifest, write_run

# What the clause of a rule says where a finding asks for words.
WORDS: Final = {
    "streams-stays": "ended without leaving the group; Kafka Streams stays in its group",
    "does-not-leave": "ended without leaving the group, which waits for its session",
    "has-no-handler": "ran as PID 1 and did not react to SIGTERM",
    "takes-many-rounds": "took 4 rounds among 4 members",
    "ends-with-its-client": "ended by itself after kill-broker of broker-3",
}
BY_RULES: Final = [each for each in FINDINGS if each.rules or each.rows[0]]
BY_STOPS: Final = [each for each in FINDINGS if each.stops]
BY_PUT_OUT: Final = [each for each in FINDINGS if each.put_out]
FREEZE: Final = {"kind": "freeze-consumer", "target": "any", "resolved": "member-1"}
FAULT: Final = [
    {"fault": "1-x", **FREEZE, "phase": phase, "at": at(when), "took_effect": True}
    for phase, when in (("injecting", 8.0), ("injected", 8.2), ("healed", 20.2))
]
EMPTY: Final = ("stops", "redeliveries", "evictions", "client_events", "coordinator_events")
QUIET: Final = dict.fromkeys((*EMPTY, "verdicts", "judgements"), ())
BY_NAME: Final = {each.name: each for each in FINDINGS}


def by_id(finding: Finding) -> str:
    return finding.name


def found(run_dir: Path, **changes: Any) -> tuple[str, str]:
    return found_in(load(write_run(run_dir, **{**QUIET, "faults": FAULT, **changes})))


def judged(finding: Finding, verdict_is: str = "VIOLATED", **more: Any) -> dict[str, list[Row]]:
    """Verdicts and rows that a finding asks for."""
    names = dict.fromkeys([*finding.rules, *filter(None, finding.rows[:1])])
    why = WORDS.get(finding.name, "was otherwise")
    row = {"subject": "member-1 (x)", "at": at(30), "ok": False, "measured": 3.0, "why": why}
    ids = [rule_names.id_of(name) for name in names]
    return {
        "verdicts": [
            verdict(id_, verdict_is if finding.rules else "HOLDS", unit="records") for id_ in ids
        ],
        "judgements": [{"rule": id_, **row, **more} for id_ in ids],
    }


def test_every_rule_that_is_named_exists() -> None:
    named = {rule for each in FINDINGS for rule in (*each.rules, *filter(None, each.rows[:1]))}
    assert named <= set(rule_names.NAMES.values())
    assert len(FINDINGS) == len({each.name for each in FINDINGS})


@pytest.mark.parametrize("finding", BY_RULES, ids=by_id)
def test_a_violated_rule_is_a_finding_and_one_that_holds_is_none(
    finding: Finding, tmp_path: Path
) -> None:
    assert finding.name == found(tmp_path / "seen", **judged(finding))[0]

    held = judged(finding, "HOLDS", ok=True, why="left after 5 ms")
    assert "harmless" == found(tmp_path / "not-seen", **held)[0]


@pytest.mark.parametrize("finding", BY_STOPS, ids=by_id)
def test_the_longest_standstill_is_a_finding_by_its_cause_and_by_what_it_waited_for(
    finding: Finding, tmp_path: Path
) -> None:
    parts = dict.fromkeys(("detection_ms", "join_ms"), 0.0) | {finding.part or "other_ms": 6_000.0}
    row = {**stop(0, 6_000, 0), **parts, "cause": finding.stops[0], "episode": None}

    assert finding.name == found(tmp_path / "seen", stops=[row])[0]
    next_door: list[Row] = [{"cause": "unheard-of"}, {finding.part or "cause": None}]
    for number, other in enumerate(next_door):
        name, said = found(tmp_path / f"not-seen-{number}", stops=[{**row, **other}])
        assert finding.name != name
        assert "1 partition stopped for 6.00 s" in said


def put_out(finding: Finding, *members: str) -> dict[str, Any]:
    by = finding.put_out.removeprefix("all ")
    rows = [
        {"member": m, "member_id": m, "evicted_at": at(14), "event_at": at(14)} for m in members
    ]
    logged = [{"event": "fenced", "group": "g-orders", "at": at(14), **row} for row in rows]
    return {
        "evictions": rows if by == "session" else [],
        "client_events": [{**r, "event": "max_poll_exceeded"} for r in rows]
        if by == "max poll"
        else [],
        "coordinator_events": logged if by == "rebalance" else [],
    }


@pytest.mark.parametrize("finding", BY_PUT_OUT, ids=by_id)
def test_who_is_put_out_while_alive_is_a_finding_and_who_was_killed_is_none(
    finding: Finding, tmp_path: Path
) -> None:
    members = ("member-1", "member-2", "member-3")[: 3 if finding.put_out.startswith("all") else 1]
    name, said = found(tmp_path / "seen", **put_out(finding, *members))
    assert finding.name == name
    assert "although alive: no partition stopped" in said

    killed = [
        {**row, "kind": "kill-consumer", "resolved": member, "fault": f"1-{member}"}
        for row in FAULT
        for member in members
    ]
    assert "harmless" == found(tmp_path / "not", faults=killed, **put_out(finding, *members))[0]


def test_every_finding_is_one_of_these() -> None:
    assert set(FINDINGS) == {*BY_RULES, *BY_STOPS, *BY_PUT_OUT}


def test_an_end_without_leaving_costs_a_session_each_time(tmp_path: Path) -> None:
    """As an orderly end of a program whose session timeout is 45 s."""
    changes = {**QUIET, "faults": FAULT, **judged(BY_NAME["does-not-leave"])}
    rows = [
        stop(partition, 45_260 - partition, 45_000, cause="close", episode=episode)
        for partition, episode in ((0, 2), (1, 2), (0, 3))
    ]
    # What moves to the next process at that time, and an end in order.
    rows[1] = {**rows[1], "cause": "start-consumer", "trigger": "join"}
    rows.append({**stop(2, 900, 0, cause="close", episode=4), "trigger": "leave"})
    run_dir = write_run(tmp_path / "run", **{**changes, "stops": rows, "reads": ()})
    app = {"name": "orders", "command": ["./orders"], "stop": {}}
    write_manifest(run_dir, declared={"group": {}, "app": app}, observed={"clients": ["kgo v1.22"]})

    assert (
        "Your program does not leave its group when it ends: in 2 rebalances 2 partitions "
        "stopped for up to 45.3 s and 12 records came again. Call `client.Close()` when it is "
        "asked to end."
    ) == found_in(load(run_dir))[1]


def test_without_a_finding_the_cost_is_said(tmp_path: Path) -> None:
    rows = [stop(0, 6_000, 2_000, cause="unheard-of")]
    assert ("", "The freeze of member-1: 1 partition stopped for 6.00 s.") == found(
        tmp_path / "run", stops=rows
    )
    nothing = "no partition stopped, and no record came again or was lost."
    assert ("harmless", f"The freeze of member-1: {nothing}") == found(tmp_path / "quiet")
    assert ("", f"Nothing was broken: {nothing}") == found(tmp_path / "baseline", faults=())


def test_what_was_before_the_first_fault_and_what_is_not_on_record_is_not_said(
    tmp_path: Path,
) -> None:
    early = stop(0, 6_000, 5_900, from_at=at(1), to_at=at(7))
    assert "harmless" == found(tmp_path / "early", stops=[early])[0]
    lost = "The record of what was broken, or of what that cost, is not whole."
    assert ("", lost) == found(tmp_path / "lost", stops=None)
