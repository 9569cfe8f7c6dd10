"""One run of a suite, played by a process of its own, so that the next can be warmed up meanwhile.

    python -m harness.suite.player

Method: its order comes on standard input, from the suite alone; what is to be told goes to standard
output, a line of JSON each. When standard input is closed, however the suite has ended, it heals,
cleans and ends.
"""

import json
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TextIO

from harness.base.errors import HarnessError
from harness.catalogue import own
from harness.experiment import SLACK_MS
from harness.history import store
from harness.run import build
from harness.run.screen import Relayed
from harness.run.start import play_run
from harness.suite.task import ENDED, UP, Task


class _Telling:
    """Lines of JSON for the suite; two threads may tell at once, and a signal's handler as well."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._lock = threading.RLock()
        self._writing = False
        self.through = threading.Event()  # the last was told, and the suite may let go

    def __call__(self, **what: Any) -> None:
        if ENDED in what:
            self.through.set()
        self._lines.put(json.dumps(what) + "\n")
        with self._lock:
            if self._writing:  # a signal came while this thread writes, which goes on with this
                return
            self._writing = True
            try:
                while not self._lines.empty():
                    with suppress(BrokenPipeError):  # the suite is gone, and this ends with it
                        self._out.write(self._lines.get())
                        self._out.flush()
            finally:
                self._writing = False


def play(task: Task, tell: Callable[..., None]) -> None:
    """Play a run, and tell of it; at last what became of it."""
    build.take_as_built(task.built)

    def begun(phase: str) -> None:
        tell(phase=phase, built=sorted(build.built()) if phase == UP else [])

    try:
        with own.used(task.own_experiments, task.own_rules):
            run_dir = play_run(
                task.order,
                Relayed(tell, task.columns),
                reserved=lambda run_dir: tell(reserved=str(run_dir)),
                on_phase=begun,
            )
        late = store.late_ticks(run_dir, SLACK_MS)
        tell(ended="played", run_dir=str(run_dir), late_ticks=late)
    except KeyboardInterrupt:
        tell(ended="interrupted")
    except HarnessError as error:
        tell(ended="void", reason=str(error))
    except Exception as error:  # noqa: BLE001 (one run must not cost all the others)
        told = traceback.format_exc()
        tell(ended="failed", reason=f"{type(error).__name__}: {error}", traceback=told)


def _end_with_the_suite(through: threading.Event) -> None:
    """Interrupt this process when standard input is closed before it is through.

    What reads a file of Python's as Python ends would end it with an error of its own.
    """
    while os.read(0, 1):
        pass
    if not through.is_set():
        os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Play what is ordered on standard input."""
    task = pickle.load(sys.stdin.buffer)  # it is from the suite that started this
    assert isinstance(task, Task)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is not to be told
    telling = _Telling(out)
    threading.Thread(target=_end_with_the_suite, args=(telling.through,), daemon=True).start()
    play(task, telling)


if __name__ == "__main__":
    main()
