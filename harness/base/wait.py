"""The one way to wait: for a named condition, with what was seen when time ran out."""

import time
from collections.abc import Callable
from typing import TypeVar

from harness.base.errors import WaitTimeout

_T = TypeVar("_T")


def wait_until(
    what: str,
    condition: Callable[[], _T | None],
    *,
    timeout_s: float,
    saw: Callable[[], str] = lambda: "",
    every_s: float = 0.05,
) -> _T:
    """Return the first truthy value of `condition`.

    `saw` tells the state at the time-out in words. Raises WaitTimeout:
    "<what> after <n> s: <what was seen>".
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            seen = saw()
            raise WaitTimeout(f"no {what} after {timeout_s:g} s" + (f": {seen}" if seen else ""))
        time.sleep(every_s)
