"""Tests that take turns, so that a change is tested within half an hour.

A part of those that are marked `long` is run each day, another one the next, and every one has had
its turn after DAYS days. `make test ALL=every`, which the nightly workflow runs, leaves none out.

A test that is asked for by itself is run on any day: only `--in-turn` leaves others out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import pytest

OPTION: Final = "--in-turn"
DAYS: Final = 3


def today() -> int:
    """The number of this day: everything that is tested on it has the same turn."""
    return datetime.now(UTC).toordinal()


def waiting(items: Iterable[pytest.Item], day: int) -> list[pytest.Item]:
    """The long tests whose turn is on another day.

    Tests of one run of an experiment have one turn, since it is the run that takes long. Turns are
    dealt round each module, so each day has a part of every module.
    """
    dealt: dict[tuple[str, str], int] = {}
    of_modules: dict[str, int] = {}
    left_out = []
    for item in items:
        if item.get_closest_marker("long") is None:
            continue
        module = item.nodeid.partition("::")[0]
        unit = (module, _unit(item))
        if unit not in dealt:
            dealt[unit] = of_modules.get(module, 0)
            of_modules[module] = dealt[unit] + 1
        if dealt[unit] % DAYS != day % DAYS:
            left_out.append(item)
    return left_out


def _unit(item: pytest.Item) -> str:
    """What has one turn: a run that several tests are about (the fixture `runs`), or the test."""
    if "runs" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec"):
        return str(item.callspec.params["run"])
    return item.nodeid
