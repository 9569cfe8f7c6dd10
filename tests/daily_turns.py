"""Tests that take turns, so that a change is tested within half an hour.

A part of those that are marked `long` is run each day, another one the next. After DAYS days every
one has had its turn, as long as none is added, removed or marked anew meanwhile: that deals the
turns again. `make test ALL=every`, which the nightly workflow runs, leaves no test out.

A test that is asked for by itself is run on any day: only `--in-turn` leaves others out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import pytest

OPTION: Final = "--in-turn"
DAYS: Final = 10
# Of a test whose mark says nothing: `@pytest.mark.long(45)` is one of about 45 s.
USUAL_S: Final = 10.0


def today() -> int:
    """The number of this day: everything that is tested on it has the same turn."""
    return datetime.now(UTC).toordinal()


def waiting(items: Iterable[pytest.Item], day: int) -> list[pytest.Item]:
    """The tests whose turn is on another day.

    Tests of one run of an experiment have one turn, since it is the run that takes long. Turns are
    dealt so that each day takes about as long as any other.
    """
    long = [item for item in items if item.get_closest_marker("long") is not None]
    for item in long:
        if "snapshot" in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid}: its snapshot is unused on other days")
    turns = _dealt({_unit(item): _seconds(item) for item in long})
    return [item for item in long if turns[_unit(item)] != day % DAYS]


def _dealt(lengths: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], int]:
    """The day of each: the longest first, to the day that has least to do so far."""
    todo = [0.0] * DAYS
    turns = {}
    for unit, length in sorted(lengths.items(), key=lambda each: -each[1]):
        turns[unit] = todo.index(min(todo))
        todo[turns[unit]] += length
    return turns


def _seconds(item: pytest.Item) -> float:
    """About how long it takes on two processors, beside another test where it has company."""
    marker = item.get_closest_marker("long")
    assert marker is not None
    return float(marker.args[0]) if marker.args else USUAL_S


def _unit(item: pytest.Item) -> tuple[str, str]:
    """What has one turn: a run that several tests are about (the fixture `runs`), or the test."""
    module = item.nodeid.partition("::")[0]
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "runs" in getattr(item, "fixturenames", ()) and "run" in parameters:
        return module, str(parameters["run"])
    return module, item.nodeid
