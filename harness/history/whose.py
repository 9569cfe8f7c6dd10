"""Whose request it was: of the processes of an app, the one that had the lane it came through.

Groups that are too large for a lane each share one. Then the name that a client gives itself sets
them apart, if its program takes it from the environment.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

SHARED: Final = "member-shared"  # the lane of processes that have none to themselves
BY_LANE: Final = "lane"
BY_CLIENT_ID: Final = "client.id"
_PREFIX: Final = "LANE_"
# Libraries put words of their own beside it: Spring's "member-7" becomes "member-7-0".
_NAMED: Final = re.compile(r"(?<![A-Za-z0-9])member-\d+(?!\d)")


class Started(NamedTuple):
    """A process: its name, its lane, and when it was started, in epoch microseconds."""

    name: str
    lane: str
    at: int


def lane_of(listener: str | None) -> str:
    """The lane that a listener is for: LANE_MEMBER_1 is member-1's."""
    return (listener or "").removeprefix(_PREFIX).lower().replace("_", "-")


def name_in(client_id: str | None) -> str:
    """The process that a client.id names; empty if none."""
    found = _NAMED.search(client_id or "")
    return found[0] if found else ""


class Processes:
    """All processes of an app, to be asked of each of millions of requests."""

    def __init__(self, started: Iterable[Started]) -> None:
        self._by_lane: dict[str, list[Started]] = {}
        self._named: dict[tuple[str, str], list[Started]] = {}
        for each in sorted(
            started, key=attrgetter("at")
        ):  # stable: of two at once the first stays first
            self._by_lane.setdefault(each.lane, []).append(each)
            self._named.setdefault((each.lane, each.name), []).append(each)

    def whose(self, lane: str, client_id: str | None, arrived_at: int) -> str | None:
        """The process that sent what came through this lane at this time; null: it is not known.

        What a process had sent may be read when it has ended and the next one has its lane. So one
        that had the lane and is named is believed.
        """
        named = _latest(self._named.get((lane, name_in(client_id)), ()), arrived_at)
        if named is not None or lane == SHARED:
            return named
        return _latest(self._by_lane.get(lane, ()), arrived_at)


def _latest(started: Sequence[Started], at: int) -> str | None:
    """The name of the last one that was started by then; of several at once, of the first."""
    count = bisect_right(started, at, key=attrgetter("at"))
    if not count:
        return None
    return started[bisect_left(started, started[count - 1].at, key=attrgetter("at"))].name
