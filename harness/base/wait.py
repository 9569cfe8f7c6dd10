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
    timeout_s: float | Callable[[], float],
    saw: Callable[[], str] = lambda: "",
    every_s: float = 0.05,
) -> _T:
    """Return the first truthy value of `condition`.

    A `timeout_s` that is asked at each look may grow with what is seen. `saw` gives the state at
    the time-out in words. Raises WaitTimeout: "<what> after <n> s: <what was seen>".
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        limit_s = timeout_s() if callable(timeout_s) else timeout_s
        if time.monotonic() >= began + limit_s:
            seen = saw()
            raise WaitTimeout(f"no {what} after {limit_s:g} s" + (f": {seen}" if seen else ""))
        time.sleep(every_s)
