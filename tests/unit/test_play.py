"""A suite that is interrupted: what has been played is on record, whatever the judge does."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.base import processes
from harness.base.errors import Exit
from harness.catalogue import registry
from harness.catalogue.cover import Candidate
from harness.history.suites import State, Suite
from harness.run.screen import Screen
from harness.suite import director
from harness.suite.stage import Stage
from tests.report.sample_run import write_manifest

SOON_S = 0.2


PLAYED = "it is all over"
# A process that plays a run: what it says of it.
PLAYER = """
import json, pickle, sys
pickle.load(sys.stdin.buffer)
run_dir = sys.argv[1]
for message in (
    {"reserved": run_dir},
    {"phase": "steady", "built": []},
    {"say": "it is all over"},
    {"ended": "played", "run_dir": run_dir, "late_ticks": 0},
):
    print(json.dumps(message), flush=True)
sys.stdin.buffer.read()
"""


class Impatient(Screen):
    """A screen whose user presses Ctrl-C soon after each line that begins with one of these."""

    def __init__(self, *lines: str, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.lines, self.number, self.said = lines, number, list[str]()

    def say(self, text: str) -> None:
        self.said.append(text)
        if text.strip().startswith(self.lines):
            threading.Timer(SOON_S, os.kill, (os.getpid(), self.number)).start()


def played(
    results: Path, screen: Screen, script: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Exit, dict[str, Any], list[str | None]]:
    """A suite of one run, which `script` plays and a process that hangs judges.

    Its exit code, its record, and when it had ended as it was published, each time.
    """
    run_dir = results / "baseline" / "run-1"
    write_manifest(run_dir)
    programs = {
        "harness.suite.background": ["sleep", "600"],
        "harness.suite.player": [sys.executable, "-c", script, str(run_dir)],
    }
    monkeypatch.setattr(processes, "python_module", lambda module, *_: programs[module])
    monkeypatch.setattr(director, "sweep", lambda _say: 0)
    monkeypatch.setattr(director, "sweep_results", lambda _results: [])
    published: list[str | None] = []
    candidate = Candidate.of("baseline", registry.load("baseline"))
    suite = director.new_repeat(results, candidate, 1)

    def publish(shown: Suite) -> None:
        published.append(shown.ended_at)

    code = director.play(suite, [candidate], results, seed=1, screen=screen, publish=publish)
    assert run_dir.is_dir()
    return code, json.loads((suite.path / "suite.json").read_text()), published


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_night_whose_judge_hangs_is_ended_by_a_second_interruption(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Impatient(PLAYED, "interrupted:", number=number)

    code, kept, published = played(tmp_path, screen, PLAYER, monkeypatch)

    assert Exit.INTERRUPTED == code
    assert kept["interrupted"]
    [entry] = kept["entries"]
    assert (State.INTERRUPTED, "it has been played, and not been judged yet") == (
        entry["state"],
        entry["reason"],
    )
    assert published[-1] == kept["ended_at"] != ""
    assert screen.said[-1].startswith("interrupted again: what has not been judged can be")


# It heals until the suite has heard the second interruption.
HEALING = """
import json, pickle, sys, time
from pathlib import Path
pickle.load(sys.stdin.buffer)
run_dir = Path(sys.argv[1])

def tell(**what):
    print(json.dumps(what), flush=True)

tell(reserved=str(run_dir))
try:
    tell(say="it is all over")
    time.sleep(600)
except KeyboardInterrupt:
    tell(say="it heals")
    while not (run_dir / "heard").exists():
        time.sleep(0.01)
    tell(ended="interrupted")
"""


def test_a_night_that_is_interrupted_again_while_it_heals_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Impatient(PLAYED, "it heals")
    say = screen.say

    def heard(text: str) -> None:
        say(text)
        if text.startswith("healing and cleaning up"):
            (tmp_path / "baseline" / "run-1" / "heard").touch()

    monkeypatch.setattr(screen, "say", heard)

    code, kept, published = played(tmp_path, screen, HEALING, monkeypatch)

    assert Exit.INTERRUPTED == code
    assert kept["interrupted"]
    assert [State.INTERRUPTED] == [entry["state"] for entry in kept["entries"]]
    assert kept["entries"][0]["folder"].endswith("run-1")
    assert [kept["ended_at"]] == published[-1:]
    assert kept["ended_at"]
    assert screen.said[-1].startswith("interrupted again: ")


def test_a_night_that_cannot_go_on_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Stage, "play", gone)
    with pytest.raises(OSError, match="No space left"):
        played(tmp_path, Impatient(), HEALING, monkeypatch)

    [record] = tmp_path.glob("*/**/suite.json")
    kept = json.loads(record.read_text())
    assert kept["ended_at"]
    assert ["It ended early: OSError: [Errno 28] No space left on device"] == kept["notes"]
