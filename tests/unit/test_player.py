"""The process that plays a run of a suite: it understands its order, and tells what came of it.

What it plays is refused before any broker is started; whole runs are in tests/cluster.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import SetupError
from harness.catalogue import registry
from harness.run.start import Order
from harness.suite import player
from harness.suite.players import UP, Players


def order(results: Path) -> Order:
    return Order("baseline", registry.load("baseline"), results, seed=1, label="baseline")


def test_a_run_that_is_refused_is_void_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("this is no folder")
    with closing(Players(tmp_path / "playing.log")) as players:
        started = players.start(order(tmp_path / "results"), 80)
        told: list[dict[str, Any]] = []
        while not told or "ended" not in told[-1]:
            who, what = players.message()
            assert who is started
            players.take(who, what)
            told.append(what)

    assert "void" == told[-1]["ended"], (tmp_path / "playing.log").read_text()
    assert "choose another --results" in told[-1]["reason"]
    assert "" == (tmp_path / "playing.log").read_text()
    assert started.process.poll() == 0


@pytest.mark.parametrize(
    ("raised", "ended"),
    [
        (None, {"ended": "played", "late_ticks": 0}),
        (SetupError("no room"), {"ended": "void", "reason": "no room"}),
        (KeyboardInterrupt(), {"ended": "interrupted"}),
        (ValueError("x"), {"ended": "failed", "reason": "ValueError: x"}),
    ],
)
def test_what_becomes_of_a_run_is_told_last(
    raised: BaseException | None,
    ended: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[dict[str, Any]] = []

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
    player.play(lambda **what: told.append(what), order(tmp_path), 80, built, (None, None))

    assert {"reserved": str(tmp_path)} == told[0]
    assert {"say": "start cluster"} == told[1]
    assert "baseline" in told[2]["view"]
    assert {"phase": UP, "built": [("/here", ("make",))]} == told[3]
    assert ended.items() <= told[4].items()
    assert ("traceback" in told[4]) == (ended["ended"] == "failed")
