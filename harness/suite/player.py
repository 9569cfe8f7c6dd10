"""One run of a suite, played by a process of its own, so that the next can be warmed up beside it.

    python -m harness.suite.player

Method: its order comes on standard input, from the suite alone; what it reports goes to standard
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
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from harness.base.errors import HarnessError
from harness.catalogue import own_modules
from harness.experiment import SLACK_MS
from harness.history import store
from harness.run import app_processes
from harness.run.screen import Relayed
from harness.run.start import Order, play_run

UP: Final = "steady"  # the phase of a run in which all that it needs has been started
ENDED: Final = "ended"  # in the last message: what became of the run


def play(
    send: Callable[..., None],
    order: Order,
    columns: int | None,
    built: frozenset[app_processes.Built],
    own_folders: tuple[Path | None, Path | None],
) -> None:
    """Play a run, and send what happens in it; at last what became of it.

    `columns` is the width of the terminal to draw for, null without one. `built` are the programs
    that need no building any more.
    """
    app_processes.take_as_built(built)

    def begun(phase: str) -> None:
        send(phase=phase, built=sorted(app_processes.built()) if phase == UP else [])

    try:
        with own_modules.used(*own_folders):
            run_dir = play_run(
                order,
                Relayed(send, columns),
                reserved=lambda run_dir: send(reserved=str(run_dir)),
                on_phase=begun,
            )
        late = store.late_ticks(run_dir, SLACK_MS)
        send(ended="played", run_dir=str(run_dir), late_ticks=late)
    except KeyboardInterrupt:
        send(ended="interrupted")
    except HarnessError as error:
        send(ended="void", reason=str(error))
    except Exception as error:  # noqa: BLE001 (one run must not cost all the others)
        where = traceback.format_exc()
        send(ended="failed", reason=f"{type(error).__name__}: {error}", traceback=where)


def _end_with_the_suite(through: threading.Event) -> None:
    """Interrupt this process when standard input is closed before it is through.

    What reads a file of Python's as Python ends would end it with an error of its own.
    """
    while os.read(0, 1):
        pass
    if not through.is_set():
        os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    ordered = pickle.load(sys.stdin.buffer)  # it is from the suite that started this
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what others print is no message
    through = threading.Event()  # the last was sent, and the suite may let go
    # By a thread, which Python waits for at its end: a signal's handler may send something too.
    messages: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def send(**what: Any) -> None:
        if ENDED in what:
            through.set()
        messages.put(what)

    def write() -> None:
        for what in iter(messages.get, None):
            with suppress(BrokenPipeError):  # the suite is gone, and this ends with it
                out.write(json.dumps(what) + "\n")
                out.flush()

    threading.Thread(target=write).start()
    threading.Thread(target=_end_with_the_suite, args=(through,), daemon=True).start()
    try:
        play(send, **ordered)
    finally:
        messages.put(None)


if __name__ == "__main__":
    main()
