"""Ctrl-C and SIGTERM while a run goes on, or is judged: heal, clean, and end."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from harness.base.errors import HarnessError

Progress = Callable[[str], None]  # where a line for a person goes

_ASK_AGAIN_S: Final = 0.05  # by then code that ignored an interruption is mostly through
_DEEPEST: Final = 100  # exceptions that were raised while others were handled
_asked: list[int] = []  # signals that were raised as Interrupted, and may have been ignored
_waiting: list[Callable[[], None]] = []  # what notes a signal where nothing may be raised


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: heal, clean, and end with exit code 2.

    No Exception, so that code that goes on after any failure ends; libraries tidy up as after any
    Ctrl-C.
    """


@contextmanager
def interruptible(leave: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into Interrupted while a run goes on.

    But for a SIGINT that `leave` takes note of: it says whether the run will end by itself soon.

    One that comes while Python finalizes an object would be lost, for what is raised there is
    ignored, by files without a word; and libraries in C make another exception of it (DuckDB). So a
    clock (SIGALRM) raises it again and again until the block is left or `heard` is called, only not
    while it is being handled.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if _waiting:
            _waiting[-1]()
            return
        if number == signal.SIGINT and leave():
            return
        _asked.append(number)
        signal.setitimer(signal.ITIMER_REAL, _ASK_AGAIN_S, _ASK_AGAIN_S)
        raise Interrupted

    def ask_again(_number: int, _frame: FrameType | None) -> None:
        if _asked and not _waiting and not _handled():
            raise Interrupted

    def ignored(raised: "sys.UnraisableHookArgs") -> None:
        if raised.exc_type is not Interrupted:
            hook(raised)

    numbers = {signal.SIGINT: interrupt, signal.SIGTERM: interrupt, signal.SIGALRM: ask_again}
    before = {number: signal.getsignal(number) for number in numbers}
    clock, hook = signal.getitimer(signal.ITIMER_REAL), sys.unraisablehook
    try:
        sys.unraisablehook = ignored
        for number, ours in numbers.items():
            signal.signal(number, ours)
        yield
        if _asked:
            raise Interrupted
    except HarnessError:
        raise
    except Exception as error:
        if _asked:  # what a library has made of it
            raise Interrupted from error
        raise
    finally:
        heard()
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, *clock)


@contextmanager
def keyboard_interrupts() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into KeyboardInterrupt while runs are judged or queried.

    What DuckDB makes of one is never taken for a result or for an error of a run. In other threads
    than the main one nothing is interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        with interruptible():
            try:
                yield
            except HarnessError:
                if _asked:  # a query that was interrupted is said to have failed
                    raise Interrupted from None
                raise
    except Interrupted:
        raise KeyboardInterrupt from None


def heard() -> None:
    """Take note of an interruption after which a run goes on: it is not raised again."""
    _asked.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)


def _handled() -> bool:
    """Whether an interruption is being handled, or an error that was raised during that."""
    error = sys.exception()
    for _ in range(_DEEPEST):
        if error is None or isinstance(error, Interrupted):
            break
        error = error.__context__
    return error is not None


@contextmanager
def uninterrupted(say: Progress) -> Iterator[None]:
    """Let healing and cleaning end; a Ctrl-C is noted, and raises Interrupted after them."""
    asked = over = False

    def note() -> None:
        nonlocal asked
        asked = True
        say("healing and cleaning up, a moment please")

    def wait(_number: int, _frame: FrameType | None) -> None:
        if over:  # the one before could not be put back, for this one came first
            raise Interrupted
        note()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _waiting.append(note)
        for number in before:
            signal.signal(number, wait)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        over = True
        _waiting.remove(note)
        if asked:
            raise Interrupted
