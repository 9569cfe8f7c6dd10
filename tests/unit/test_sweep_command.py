"""What `sweep` plays, in what order, and what it says of itself. No run is played here."""

import json
from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.cli.main import main
from harness.history.suites import load_suite
from tests.unit.conftest import Begun


def sweep(results: Path, *arguments: str) -> int:
    return main(["sweep", *arguments, "--results", str(results)])


BOTH = "consumer-crash,consumer-freeze"
OVER = ("--over", "session_timeout_ms=6000,45000")


def test_rounds_have_every_point_of_every_experiment(tmp_path: Path, begun: Begun) -> None:
    sweep(tmp_path, BOTH, *OVER, "--repeat", "2")

    ((suite, runs),) = begun
    assert [
        f"{name}, session_timeout_ms={session}, run {number}"
        for number in (1, 2)
        for name in ("consumer-crash", "consumer-freeze")
        for session in (6000, 45000)
    ] == [entry.label for entry in suite.entries]
    assert [6_000, 45_000] * 4 == [each.experiment.group.session_timeout_ms for each in runs]
    assert {"session_timeout_ms": "6000"} == suite.entries[0].settings
    assert suite.path == (tmp_path / "sweep" / "latest").resolve()
    assert suite.entries[1].settings == load_suite(suite.path).entries[1].settings


def test_what_is_set_is_the_same_for_all_runs(tmp_path: Path, begun: Begun) -> None:
    sweep(tmp_path, "consumer-crash", *OVER, "--client", "java", "--set", "members=5")

    ((suite, runs),) = begun
    assert {("java", 5)} == {(r.experiment.group.client, r.experiment.group.members) for r in runs}
    assert {"java"} == {entry.client for entry in suite.entries}
    assert 6 == len(suite.entries)  # three runs of each unless --repeat says otherwise


def test_the_command_that_made_it_is_kept(tmp_path: Path, begun: Begun) -> None:
    options = ("--set", "members=5", "--limit", "standstill_s=20", "--repeat", "1", "--seed", "7")
    sweep(tmp_path, BOTH, *OVER, *options, "--protocol", "cooperative", "--security", "ssl")

    ((suite, _),) = begun
    assert (
        "./kafka-chaos sweep consumer-crash,consumer-freeze "
        "--over session_timeout_ms=6000,45000 --set members=5 --limit standstill_s=20 "
        "--protocol cooperative --security ssl --repeat 1 --seed 7"
    ) == suite.asked["command"]
    assert {"session_timeout_ms": ["6000", "45000"]} == suite.asked["over"]
    freeze = "freeze-consumer of any member, 3 to 5 s after steady state, for 12 s"
    assert [freeze] == suite.asked["faults"]["consumer-freeze"]
    assert freeze in (suite.path / "sweep.html").read_text()


def test_how_long_it_takes_is_said_before_it_starts(
    tmp_path: Path, begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(tmp_path, BOTH, *OVER, "--repeat", "2")

    assert "8 runs, about 5 min, into " in capsys.readouterr().err
    assert begun


def test_a_list_plays_nothing(
    tmp_path: Path, begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*OVER, "--over", "heartbeat_interval_ms=2000,9000", "--list")
    assert Exit.AS_EXPECTED == sweep(tmp_path, "consumer-crash", *options)

    said = capsys.readouterr().out
    assert "  59 s  consumer-crash, session_timeout_ms=45000, heartbeat_interval_ms=2000" in said
    assert "left out: consumer-crash with session_timeout_ms=6000, heartbeat" in said
    assert "3 runs of each, about 7 min" in said
    assert not begun
    assert not (tmp_path / "sweep").exists()


def test_a_point_that_is_left_out_is_named(
    tmp_path: Path, begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(tmp_path, "consumer-crash", *OVER, "--over", "heartbeat_interval_ms=2000,9000")

    ((suite, runs),) = begun
    assert 9 == len(runs)
    (note,) = suite.notes
    assert note.startswith("Left out: consumer-crash with session_timeout_ms=6000, heartbeat")
    said = capsys.readouterr()
    assert "Left out: consumer-crash with " in said.err
    assert "Left out: consumer-crash with " in " ".join(said.out.split())


def test_one_that_is_interrupted_keeps_what_there_is(
    tmp_path: Path, begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    code = sweep(tmp_path, "consumer-crash", *OVER, "--repeat", "1")

    ((suite, _),) = begun
    assert Exit.INTERRUPTED == code
    record = json.loads((suite.path / "sweep.json").read_text())
    assert ["interrupted", "not played"] == [each["state"] for each in record["runs"]]
    said = " ".join(capsys.readouterr().out.split())
    assert "session_timeout_ms=6000, run 1: interrupted (it was interrupted before" in said
