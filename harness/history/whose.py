"""Whose request it was: of the processes of an app, the one that had the lane it came through.

Groups that are too large for a lane each share one. Then the name that a client gives itself tells
them apart, if its program takes it from where it is told to.
"""

import re
from collections.abc import Iterable
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


def whose(
    lane: str, client_id: str | None, arrived_at: int, started: Iterable[Started]
) -> str | None:
    """The process that sent what came through this lane at this time; null if it is not known.

    What a process had sent may be read when it has ended and the next one has its lane. So one that
    had the lane and is named is believed.
    """
    had = [each for each in started if each.lane == lane and each.at <= arrived_at]
    named = [each for each in had if each.name == name_in(client_id)]
    if lane == SHARED or named:
        had = named
    return max(had, key=lambda each: each.at).name if had else None
