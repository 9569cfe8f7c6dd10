"""The process that plays a run of a suite: it understands its order, and says what came of it.

What it plays is refused before any broker is started; whole runs are in tests/cluster.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import SetupError
from harness.catalogue import registry
from harness.catalogue.cover import Candidate
from harness.history.suites import State
from harness.run.screen import Screen
from harness.run.start import Order
from harness.suite import director, player
from harness.suite.background import BackgroundJudge
from harness.suite.player import UP
from harness.suite.stage import Stage


def order(results: Path) -> Order:
    return Order("baseline", registry.load("baseline"), results, seed=1, label="baseline")


def test_a_run_that_is_refused_is_void_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("this is no folder")
    candidate = Candidate.of("baseline", registry.load("baseline"))
    suite = director.new_repeat(tmp_path, candidate, 1)
    (entry,) = suite.entries
    entry.seed = 1
    log = suite.path / "playing.log"
    judge = BackgroundJudge(suite.path / "judging.log")  # which is asked for nothing
    with closing(Stage(suite, tmp_path / "results", Screen(), judge, None, 1)) as stage:
        stage.play([(entry, candidate, "run 1")], lambda: None)

    assert State.VOID == entry.state, log.read_text()
    assert "choose another --results" in entry.reason
    assert "" == log.read_text()


@pytest.mark.parametrize(
    ("raised", "ended"),
    [
        (None, {"ended": "played", "late_ticks": 0}),
        (SetupError("no room"), {"ended": "void", "reason": "no room"}),
        (KeyboardInterrupt(), {"ended": "interrupted"}),
        (ValueError("x"), {"ended": "failed", "reason": "ValueError: x"}),
    ],
)
def test_what_becomes_of_a_run_is_shown_last(
    raised: BaseException | None,
    ended: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[dict[str, Any]] = []

    def play_run(_: Order, screen: Any, *, reserved: Any, on_phase: Any, **__: Any) -> Path:
        reserved(tmp_path)
        screen.say("start cluster")
        with screen.watch("baseline", registry.load("baseline")) as view:
            view.phase("start cluster")
        on_phase(UP)
        if raised is not None:
            raise raised
        return tmp_path

    monkeypatch.setattr(player, "play_run", play_run)

    built = frozenset({("/here", ("make",))})
    player.play(lambda **what: messages.append(what), order(tmp_path), 80, built, (None, None))

    assert {"reserved": str(tmp_path)} == messages[0]
    assert {"say": "start cluster"} == messages[1]
    assert "baseline" in messages[2]["view"]
    assert {"phase": UP, "built": [("/here", ("make",))]} == messages[3]
    assert ended.items() <= messages[4].items()
    assert ("traceback" in messages[4]) == (ended["ended"] == "failed")
