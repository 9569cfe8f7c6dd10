"""Runs of a suite while they are played: what is said of each, and what becomes of it.

What is said of a run that is being warmed up is kept until the one before it has been played, so
that one reads of one run after the other.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.words import plural
from harness.catalogue.cover import Candidate
from harness.history.suites import Entry, State, Suite
from harness.report import report
from harness.run.interrupts import Progress, uninterrupted
from harness.run.screen import Screen
from harness.run.start import Order
from harness.suite.background import BackgroundJudge
from harness.suite.players import ENDED, UP, Player, Players

Planned = tuple[Entry, Candidate, str]  # with what is said as it begins


@dataclass
class _OnStage:
    """One run that is being played. `kept` is what is still to be said of it.

    It `began` when it was the first that is shown.
    """

    entry: Entry
    player: Player
    kept: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    over: bool = False


@dataclass(eq=False)
class Stage:
    suite: Suite
    results: Path
    screen: Screen
    judge: BackgroundJudge
    players: Players
    port_base: int | None
    _on_stage: deque[_OnStage] = field(default_factory=deque)  # the first is shown

    def play(self, runs: Iterable[Planned], after: Callable[[], None]) -> None:
        """Play them to their ends, `after` each. What becomes of them is in their entries.

        Raises Interrupted only; then `interrupt` is to be called.
        """
        waiting = deque(runs)
        with self.screen.drawing() as draw:
            while waiting or self.players.playing:
                while waiting and self.players.room():
                    with uninterrupted(lambda _text: None):
                        self._start(*waiting.popleft())
                if not self.players.playing:  # none of those that were left could be started
                    break
                player, what = self.players.message()
                with uninterrupted(lambda _text: None):  # what is half taken would be lost
                    self._take(player, what, draw)
                if ENDED in what:
                    after()

    def interrupt(self) -> None:
        """Have what is being played heal, clean and end, and put on record what became of it."""
        with uninterrupted(self.screen.say):
            self.players.interrupt()
            while self.players.playing:
                player, what = self.players.message()
                self._take(player, what, lambda _drawn: None)

    def _start(self, entry: Entry, candidate: Candidate, said: str) -> None:
        assert entry.seed is not None
        entry.state, entry.reason = State.INTERRUPTED, "it was interrupted before it was complete"
        order = Order(
            name=entry.experiment,
            experiment=candidate.experiment,
            results=self.results,
            seed=entry.seed,
            port_base=self.port_base,
            label=entry.label,
        )
        try:
            player = self.players.start(order, self.screen.columns)
        except OSError as error:
            entry.state = State.FAILED
            entry.reason = f"the harness failed: no process for this run could be started ({error})"
            self.screen.say(_became(entry))
            return
        self._on_stage.append(_OnStage(entry, player, [said]))
        self._say_what_is_kept()

    def _take(self, player: Player, what: dict[str, Any], draw: Progress) -> None:
        self.players.take(player, what)
        run = next(each for each in self._on_stage if each.player is player)
        if "say" in what:
            run.kept.append(f"  {what['say']}")
        elif "view" in what and run is self._on_stage[0]:
            draw(what["view"])
        elif "reserved" in what:
            run.entry.folder = os.path.relpath(what["reserved"], self.suite.path)
        elif what.get("phase") == UP:
            self.judge.go()
        elif ENDED in what:
            draw("")
            self._end(run, what)
        self._say_what_is_kept()

    def _end(self, run: _OnStage, what: dict[str, Any]) -> None:
        entry = run.entry
        entry.took_s = round(time.monotonic() - run.began, 1)
        match what[ENDED]:
            case "played":
                entry.reason = "it has been played, and not been judged yet"
                self.judge.submit(Path(what["run_dir"]))
                if self.players.slow_down(late := what["late_ticks"]):
                    run.kept.append(
                        f"{entry.label}: this machine's clock came late {plural(late, 'time')}, "
                        "so that one run is measured at a time from here on"
                    )
            case "void":
                entry.state, entry.reason = State.VOID, what["reason"]
            case "failed" if not self.suite.interrupted:
                run.kept += filter(None, [what.get("traceback")])
                reason = what["reason"]
                entry.state, entry.reason = State.FAILED, f"the harness failed: {reason}"
        if entry.state in (State.VOID, State.FAILED):
            run.kept.append(_became(entry))
            if (folder := self.suite.run_dir(entry)) is not None:
                explain(folder, run.kept.append)
        run.over = True

    def _say_what_is_kept(self) -> None:
        while self._on_stage:
            first = self._on_stage[0]
            for line in first.kept:
                self.screen.say(line)
            first.kept = []
            if not first.over:
                return
            self._on_stage.popleft()
            if self._on_stage:
                self._on_stage[0].began = time.monotonic()


def _became(entry: Entry) -> str:
    return f"{entry.label}: {entry.state} ({entry.reason})"


def explain(run_dir: Path, say: Progress) -> None:
    try:
        report(run_dir)
    except HarnessError as error:
        say(f"  no report: {error}")
    except Exception as error:  # noqa: BLE001 (the runs still to come matter more than a page)
        say(f"  no report: {type(error).__name__}: {error}")
