"""Ctrl-C and SIGTERM while a run goes on: heal, clean, and end."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

Progress = Callable[[str], None]  # where a line for a person goes

_ASK_AGAIN_S: Final = 0.01  # by then the finalizer that ignored an interruption is over


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: heal, clean, and end with exit code 2.

    As KeyboardInterrupt it is no Exception, so that nothing that goes on after any failure goes on
    after this.
    """


@contextmanager
def interruptible(leave: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into Interrupted while a run goes on.

    But for a SIGINT that `leave` takes note of: it says whether the run will end by itself soon.

    One that comes while Python finalizes an object would be lost, for what is raised there is
    ignored: it is sent again and again until it has been heard.
    """
    heard = asking = False
    asker: threading.Thread | None = None
    pause = threading.Event()

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        if number == signal.SIGINT and leave():
            return
        if not asking:  # what is raised there is ignored as well, and it will be sent again
            heard = True
            raise Interrupted

    def ask_again() -> None:
        main = threading.main_thread().ident
        assert main is not None
        while not pause.wait(_ASK_AGAIN_S) and not heard:
            signal.pthread_kill(main, signal.SIGINT)

    def hear(ignored: "sys.UnraisableHookArgs") -> None:
        nonlocal asker, asking, heard
        if ignored.exc_type is not Interrupted:
            hook(ignored)
            return
        asking, heard = True, False
        try:
            asker = threading.Thread(target=ask_again, daemon=True)
            asker.start()
        finally:
            asking = False

    hook, sys.unraisablehook = sys.unraisablehook, hear
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        heard = True
        try:
            if asker is not None:
                asker.join()
        finally:
            sys.unraisablehook = hook
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def uninterrupted(say: Progress) -> Iterator[None]:
    """Healing and cleaning run to their end: a Ctrl-C meanwhile says so, and comes after them.

    Raises Interrupted then.
    """
    asked = False

    def wait(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        say("healing and cleaning up, a moment please")

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            raise Interrupted
