"""Runs of a suite while they are played: those that are measured, and the next, which is warmed up.

Each is played by a process of its own. What is said of a run that is being warmed up is kept until
the one before it has been played, so that one reads of one run after the other.
"""

import os
import pickle
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from harness.base import processes
from harness.base.errors import HarnessError
from harness.base.priority import SHARES
from harness.base.words import plural
from harness.catalogue import own_modules
from harness.catalogue.cover import Candidate
from harness.experiment import protocol_said
from harness.history.suites import UNJUDGED, Entry, State, Suite
from harness.report import report
from harness.report.many.suite_rows import state_of
from harness.run.app_processes import Built
from harness.run.interrupts import Progress, uninterrupted
from harness.run.screen import Screen
from harness.run.start import Order
from harness.run.turns import TURNS, turns
from harness.suite.background import BackgroundJudge, child
from harness.suite.player import ENDED, UP

# Ticks in a run that came later than 50 ms. On two cores runs that were measured one at a time had
# up to three, and those that were measured two at a time up to five, with the same verdicts.
MOST_LATE: Final = 8
_LOOK_S: Final = 0.5

Planned = tuple[Entry, Candidate, str]  # with what is said as it begins
Message = dict[str, Any]


@dataclass(eq=False)
class OnStage:
    """One run, and the process that plays it. `kept` is what is still to be said of it.

    `up` says whether all that it needs has been started. It `began` when it was the first that is
    shown. `outcome` is the last message of its process: what became of the run.
    """

    entry: Entry
    process: subprocess.Popen[bytes]
    kept: list[str]
    began: float = field(default_factory=time.monotonic)
    up: bool = False
    outcome: Message | None = None
    over: bool = False


class Stage:
    """Where a suite's runs are played; to be closed.

    `jobs` runs are measured at one time, and one more is warmed up beside them if there is no
    `port_base`, and the system has shares of processor time. The suite's `playing.log` gets what
    their processes print.
    """

    def __init__(
        self,
        suite: Suite,
        results: Path,
        screen: Screen,
        judge: BackgroundJudge,
        port_base: int | None,
        jobs: int,
    ) -> None:
        self._suite = suite
        self._results = results
        self._screen = screen
        self._judge = judge
        self._port_base = port_base
        self._jobs = jobs
        self._ahead = 1 if port_base is None and SHARES.there() else 0
        self._log = suite.path / "playing.log"
        self._folder = processes.scratch_folder("turns")
        self._turns: dict[str, str] = {}
        if TURNS not in os.environ:  # else what plays this suite has turns for it
            (self._folder / "turns").mkdir()
            self._turns = turns(self._folder / "turns", jobs)
        self._messages: SimpleQueue[tuple[OnStage, Message]] = SimpleQueue()
        self._on_stage: deque[OnStage] = deque()  # the first is shown
        self.built: set[Built] = set()

    def play(self, runs: Iterable[Planned], after: Callable[[], None]) -> None:
        """Play them to their ends, `after` each. What becomes of them is in their entries.

        Raises Interrupted only; then `interrupt` is to be called.
        """
        waiting = deque(runs)
        with self._screen.drawing() as draw:
            while waiting or self._playing:
                while waiting and self._room():
                    with uninterrupted(lambda _text: None):
                        self._start(*waiting.popleft())
                if not self._playing:  # none of those that were left could be started
                    break
                run, what = self._message()
                with uninterrupted(lambda _text: None):  # what is half taken would be lost
                    self._take(run, what, draw)
                if ENDED in what:
                    after()

    def interrupt(self) -> None:
        """Have what is being played heal, clean and end, and put on record what became of it.

        First those that would get the others' turns.
        """
        with uninterrupted(self._screen.say):
            for run in reversed(self._playing):
                run.process.send_signal(signal.SIGINT)
            while self._playing:
                self._take(*self._message(), lambda _drawn: None)

    def settle(self, *, wait: bool = False) -> None:
        """Put on record what has been judged; `wait` until all that was played is."""
        suite, say = self._suite, self._screen.say
        entries = {suite.run_dir(entry): entry for entry in suite.entries if entry.folder}
        for run_dir, problem in self._judge.finished(wait=wait):
            entry = entries[run_dir.resolve()]
            if problem:
                entry.state, entry.reason = State.FAILED, f"{UNJUDGED}: {problem}"
            else:
                entry.state, entry.reason = state_of(run_dir)
            say(_became(entry))
            if not entry.judged:
                _explain(run_dir, say)

    def close(self) -> None:
        for run in self._playing:
            self._let_go(run)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _playing(self) -> list[OnStage]:
        return [run for run in self._on_stage if not run.over]

    def _room(self) -> bool:
        """Whether one more may be started: there is room for it, and no other is being started."""
        most = self._jobs + self._ahead
        return len(self._playing) < most and all(run.up for run in self._playing)

    def _start(self, entry: Entry, candidate: Candidate, said: str) -> None:
        assert entry.seed is not None
        entry.state, entry.reason = State.INTERRUPTED, "it was interrupted before it was complete"
        order = Order(
            name=entry.experiment,
            experiment=candidate.experiment,
            results=self._results,
            seed=entry.seed,
            port_base=self._port_base,
            label=entry.label,
        )
        try:
            self._on_stage.append(self._begun(entry, order, said))
        except OSError as error:
            entry.state = State.FAILED
            entry.reason = f"the harness failed: no process for this run could be started ({error})"
            self._screen.say(_became(entry))
        self._say_what_is_kept()

    def _begun(self, entry: Entry, order: Order, said: str) -> OnStage:
        process = child("harness.suite.player", log=self._log, environment=self._turns)
        run = OnStage(entry, process, [said])
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and its listener says so
            folders = own_modules.experiments_folder(), own_modules.rules_folder()
            known = {"built": frozenset(self.built), "own_folders": folders}
            ordered = {"order": order, "columns": self._screen.columns, **known}
            process.stdin.write(pickle.dumps(ordered))
            process.stdin.flush()
        threading.Thread(target=self._listen, args=(run,), daemon=True).start()
        return run

    def _listen(self, run: OnStage) -> None:
        """Hand on a process's messages, and that it has ended if it does not say that itself."""
        assert run.process.stdout is not None
        what: Message = {}
        with run.process.stdout as said:
            for what in processes.messages(said):
                if ENDED not in what:
                    self._messages.put((run, what))
        if ENDED not in what:
            code = run.process.wait()
            reason = f"its process ended with exit code {code}; {self._log} has its words"
            what = {ENDED: "failed", "reason": reason}
        run.outcome = what
        self._messages.put((run, what))

    def _message(self) -> tuple[OnStage, Message]:
        """The next message of one of them; what became of its run is the last.

        Ctrl-C may drop one message, never an outcome.
        """
        while True:
            try:
                run, what = self._messages.get(timeout=_LOOK_S)
            except Empty:
                ended = [(run, run.outcome) for run in self._playing if run.outcome is not None]
                if not ended:
                    continue
                run, what = ended[0]
            if not run.over:
                return run, what

    def _take(self, run: OnStage, what: Message, draw: Progress) -> None:
        if "say" in what:
            run.kept.append(f"  {what['say']}")
        elif "view" in what and run is self._on_stage[0]:
            draw(what["view"])
        elif "reserved" in what:
            run.entry.folder = os.path.relpath(what["reserved"], self._suite.path)
        elif what.get("phase") == UP:
            run.up = True
            self.built |= {(folder, tuple(command)) for folder, command in what["built"]}
            self._judge.go()
        elif ENDED in what:
            self._let_go(run)
            draw("")
            self._end(run, what)
        self._say_what_is_kept()

    def _let_go(self, run: OnStage) -> None:
        assert run.process.stdin is not None
        with suppress(BrokenPipeError):
            run.process.stdin.close()
        run.process.wait()
        run.over = True

    def _end(self, run: OnStage, what: Message) -> None:
        entry = run.entry
        entry.took_s = round(time.monotonic() - run.began, 1)
        match what[ENDED]:
            case "played":
                entry.reason = "it has been played, and not been judged yet"
                self._judge.submit(Path(what["run_dir"]))
                self._slow_down(run, what["late_ticks"])
            case "void":
                entry.state, entry.reason = State.VOID, what["reason"]
            case "failed" if not self._suite.interrupted:
                run.kept += filter(None, [what.get("traceback")])
                reason = what["reason"]
                entry.state, entry.reason = State.FAILED, f"the harness failed: {reason}"
        if entry.state in (State.VOID, State.FAILED):
            run.kept.append(_became(entry))
            if (folder := self._suite.run_dir(entry)) is not None:
                _explain(folder, run.kept.append)

    def _slow_down(self, run: OnStage, late_ticks: int) -> None:
        """Measure one run at a time from here on if the clock came late too often."""
        if self._jobs == 1 or late_ticks <= MOST_LATE:
            return
        self._jobs = 1
        for turn in sorted((self._folder / "turns").glob("*"))[1:]:
            turn.unlink()  # the run that has it is measured to the end
        run.kept.append(
            f"{protocol_said(run.entry.label)}: this machine's clock came late "
            f"{plural(late_ticks, 'time')}, so that one run is measured at a time from here on"
        )

    def _say_what_is_kept(self) -> None:
        while self._on_stage:
            first = self._on_stage[0]
            for line in first.kept:
                self._screen.say(line)
            first.kept = []
            if not first.over:
                return
            self._on_stage.popleft()
            if self._on_stage:
                self._on_stage[0].began = time.monotonic()


def _became(entry: Entry) -> str:
    reason = f" ({entry.reason})" if entry.reason else ""
    return f"{protocol_said(entry.label)}: {entry.state}{reason}"


def _explain(run_dir: Path, say: Progress) -> None:
    try:
        report(run_dir)
    except HarnessError as error:
        say(f"  no report: {error}")
    except Exception as error:  # noqa: BLE001 (the runs still to come matter more than a page)
        say(f"  no report: {type(error).__name__}: {error}")
