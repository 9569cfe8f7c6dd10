"""Runs of a suite at one time: those that are measured, and the next, which is warmed up."""

import os
import pickle
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from harness.base import processes
from harness.base.priority import SHARES
from harness.catalogue import own_modules
from harness.run.app_processes import Built
from harness.run.start import Order
from harness.run.turns import TURNS, turns
from harness.suite.background import child

UP: Final = "steady"  # the phase of a run in which all that it needs has been started
ENDED: Final = "ended"  # in the last message of a process
# Ticks in a run that came later than 50 ms. On two cores runs that were measured one at a time had
# up to three, and those that were measured two at a time up to five, with the same verdicts.
MOST_LATE: Final = 8
_LOOK_S: Final = 0.5


@dataclass(eq=False)
class Player:
    """A process that plays one run. `up` says whether all that the run needs has been started.

    `outcome` is its last message: what became of its run.
    """

    process: subprocess.Popen[bytes]
    up: bool = False
    outcome: dict[str, Any] | None = None


class Players:
    """The processes that play a suite's runs; to be closed.

    `jobs` runs are measured at one time, and where `ahead` one more is warmed up beside them if the
    system has shares of processor time. `log` gets what they print.
    """

    def __init__(self, log: Path, *, jobs: int = 1, ahead: bool = True) -> None:
        self._log = log
        self._jobs = jobs
        self._ahead = 1 if ahead and SHARES.there() else 0
        self._folder = processes.scratch_folder("turns")
        self._turns: dict[str, str] = {}
        if TURNS not in os.environ:  # else what plays this suite has turns for it
            (self._folder / "turns").mkdir()
            self._turns = turns(self._folder / "turns", jobs)
        self._messages: SimpleQueue[tuple[Player, dict[str, Any]]] = SimpleQueue()
        self._players: list[Player] = []
        self.built: set[Built] = set()

    def room(self) -> bool:
        """Whether one more may be started: there is room for it, and no other is being started."""
        most = self._jobs + self._ahead
        return len(self._players) < most and all(player.up for player in self._players)

    def slow_down(self, late_ticks: int) -> bool:
        """Measure one run at a time from here on if the clock came late too often; whether so."""
        if self._jobs == 1 or late_ticks <= MOST_LATE:
            return False
        self._jobs = 1
        for turn in sorted((self._folder / "turns").glob("*"))[1:]:
            turn.unlink()  # the run that has it is measured to the end
        return True

    def start(self, order: Order, columns: int | None) -> Player:
        """Have a run played, and drawn for a terminal of this width if there is one."""
        process = child("harness.suite.player", log=self._log, environment=self._turns)
        player = Player(process)
        self._players.append(player)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and its listener says so
            ordered = {"order": order, "columns": columns, "built": frozenset(self.built)}
            folders = own_modules.experiments_folder(), own_modules.rules_folder()
            process.stdin.write(pickle.dumps({**ordered, "own_folders": folders}))
            process.stdin.flush()
        threading.Thread(target=self._listen, args=(player,), daemon=True).start()
        return player

    def message(self) -> tuple[Player, dict[str, Any]]:
        """The next message of one of them; `ended` and what became of its run is the last.

        Ctrl-C may drop one message, never an outcome.
        """
        while True:
            try:
                player, what = self._messages.get(timeout=_LOOK_S)
            except Empty:
                ended = [each for each in self._players if each.outcome is not None]
                if not ended:
                    continue
                player, what = ended[0], ended[0].outcome or {}
            if player in self._players:
                return player, what

    def take(self, player: Player, what: dict[str, Any]) -> None:
        if what.get("phase") == UP:
            player.up = True
            self.built |= {(folder, tuple(command)) for folder, command in what["built"]}
        if ENDED in what:
            self._let_go(player)

    def interrupt(self) -> None:
        """Have all of them heal, clean and end; first those that would get the others' turns."""
        for player in reversed(self._players):
            player.process.send_signal(signal.SIGINT)

    @property
    def playing(self) -> bool:
        return bool(self._players)

    def close(self) -> None:
        for player in list(self._players):
            self._let_go(player)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _let_go(self, player: Player) -> None:
        assert player.process.stdin is not None
        with suppress(BrokenPipeError):
            player.process.stdin.close()
        player.process.wait()
        self._players.remove(player)

    def _listen(self, player: Player) -> None:
        """Hand on a process's messages, and that it has ended if it does not say that itself."""
        assert player.process.stdout is not None
        what: dict[str, Any] = {}
        with player.process.stdout as said:
            for what in processes.messages(said):
                if ENDED not in what:
                    self._messages.put((player, what))
        if ENDED not in what:
            code = player.process.wait()
            reason = f"its process ended with exit code {code}; {self._log} has its words"
            what = {ENDED: "failed", "reason": reason}
        player.outcome = what
        self._messages.put((player, what))
