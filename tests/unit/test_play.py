"""A suite that is interrupted: what has been played is on record, whatever the judge does."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from harness.base import processes
from harness.base.errors import Exit
from harness.catalogue import registry
from harness.catalogue.cover import Candidate
from harness.history.suites import State, Suite
from harness.run.screen import Screen
from harness.suite import play
from tests.report.sample_run import write_manifest

SOON_S = 0.2


PLAYED = "it is all over"
# A process that plays a run: what it tells of it.
PLAYER = """
import json, pickle, sys
pickle.load(sys.stdin.buffer)
run_dir = sys.argv[1]
for told in (
    {"reserved": run_dir},
    {"phase": "steady", "built": []},
    {"say": "it is all over"},
    {"ended": "played", "run_dir": run_dir, "late_ticks": 0},
):
    print(json.dumps(told), flush=True)
sys.stdin.buffer.read()
"""


class Impatient(Screen):
    """A screen whose user presses Ctrl-C once all is played, and again for each line about it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.said = number, list[str]()

    def say(self, text: str) -> None:
        self.said.append(text)
        if text.startswith("interrupted:") or text.strip() == PLAYED:
            threading.Timer(SOON_S, os.kill, (os.getpid(), self.number)).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_night_whose_judge_hangs_is_ended_by_a_second_interruption(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Impatient(number)
    run_dir = tmp_path / "baseline" / "run-1"
    write_manifest(run_dir)
    programs = {
        "harness.suite.background": ["sleep", "600"],
        "harness.suite.player": [sys.executable, "-c", PLAYER, str(run_dir)],
    }
    monkeypatch.setattr(processes, "python_module", lambda module, *_: programs[module])
    monkeypatch.setattr(play, "sweep", lambda _say: 0)
    monkeypatch.setattr(play, "sweep_results", lambda _results: [])
    published: list[str | None] = []
    candidate = Candidate.of("baseline", registry.load("baseline"))
    suite = play.new_repeat(tmp_path, candidate, 1)

    def publish(shown: Suite) -> None:
        published.append(shown.ended_at)

    code = play.play(
        suite,
        [candidate],
        tmp_path,
        seed=1,
        screen=screen,
        publish=publish,
    )

    assert Exit.INTERRUPTED == code
    kept = json.loads((suite.path / "suite.json").read_text())
    assert kept["interrupted"]
    [entry] = kept["entries"]
    assert (State.INTERRUPTED, "it has been played, and not been judged yet") == (
        entry["state"],
        entry["reason"],
    )
    assert published[-1] == kept["ended_at"] != ""
    assert run_dir.is_dir()
    assert screen.said[-1].startswith("interrupted again: what has not been judged can be")
