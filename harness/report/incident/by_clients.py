"""What clients' logs say of a group: all there is where no broker's log does, or beside one.

A client knows less than its coordinator. It knows why itself joins again and leaves, and when it
has joined a generation. Of what others did it only hears that the group is rebalancing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from harness.history.foreign.events import Event
from harness.report.incident import reasons
from harness.report.incident.rows import Group, Rebalance, Removal

_SECOND: Final = 1_000_000
_SAME_US: Final = 5 * _SECOND  # lines of one client so close tell of one thing
_APART_US: Final = 30 * _SECOND  # clocks of a client and a broker, at most
_FEW: Final = 50  # generations that may be missing; more are another life of the group
# What Java's client gives as a reason to join, and is none.
_NO_REASON: Final = ("given member-id", "pro-actively leaving")
_PUT_OUT: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
_LEAVES: Final = ("max_poll", "closed", "left", "unsubscribed")
# Causes by `trigger` in the table of a run; of all others a member joins again.
_TRIGGERS: Final = {
    **dict.fromkeys(_LEAVES, "leave"),
    **dict.fromkeys(("put_out", "coordinator_silent"), "expiry"),
    "joined": "join",
    "metadata": "metadata",
}


def group_of(name: str, events: Iterable[Event]) -> Group:
    """The group as the lines of its clients tell it, in order of time."""
    teller = _Teller(name)
    for event in events:
        teller.take(event)
    return teller.done()


def explain_leaves(group: Group, events: Iterable[Event]) -> None:
    """Give the departures without a reason in a broker's log the one in the client's own."""
    exceeded = [event for event in events if event.event == "client_max_poll"]
    for row in group.leaves:
        if row.cause != "left":
            continue
        for event in exceeded:
            ours = event.client_id and row.member_id.startswith(event.client_id)
            if ours and abs(event.at - row.at) <= _APART_US:
                exceeded.remove(event)
                row.cause, row.said = "max_poll", event.reason
                for one in group.rebalances:
                    if one.cause == "left" and one.named[:1] == (row.member_id,):
                        one.cause = "max_poll"
                break


class _Teller:
    """Follows one group through its clients' lines, in order of time."""

    def __init__(self, name: str) -> None:
        self._group = Group(name, by_clients=True)
        self._reasons: list[tuple[Event, str, str | None]] = []  # since the last generation
        self._here: set[str] = set()  # who was seen, and has not gone
        self._within: dict[int | None, set[str]] = {}  # who has joined each generation
        self._last: dict[tuple[str, str], int] = {}  # when a client last had this cause

    def take(self, event: Event) -> None:
        """The next line."""
        group, who = self._group, _who(event)
        group.first_at = group.first_at or event.at
        group.last_at = event.at
        group.members.add(who)
        getattr(self, f"_{event.event.removeprefix('client_')}")(event, who)

    def done(self) -> Group:
        """The group, with the generations that none of these clients was in."""
        group = self._group
        classic = [one for one in group.rebalances if one.protocol == "classic"]
        seen = sorted({one.generation for one in classic if one.generation is not None})
        for before, after in pairwise(seen):
            if 1 < after - before <= _FEW:
                group.unseen += range(before + 1, after)
        return group

    def _joined(self, event: Event, who: str, protocol: str = "classic") -> None:
        if who not in self._here:
            self._asks(event, who)
        rows, joined = self._group.rebalances, self._within.get(event.generation)
        if joined is not None:
            latest = event.generation is not None and rows[-1].generation == event.generation
            if who not in joined or latest:
                joined.add(who)
                return
        told = [each for each in self._reasons if each[1] != "elsewhere"] or self._reasons
        first, cause, reason = (told or [(event, "elsewhere", "a new assignment")])[0]
        rows.append(
            Rebalance(
                self._group.name, event.generation, _TRIGGERS.get(cause, "rejoin"), cause,
                (_who(first),), reason,
                protocol, None, event, joined_at=event.at,
                started_at=self._reasons[0][0].at if self._reasons else None,
            )
        )  # fmt: skip
        self._reasons.clear()
        self._within[event.generation] = {who}

    def _given(self, event: Event, who: str) -> None:
        self._joined(event, who, "consumer")

    def _asks(self, event: Event, who: str) -> None:
        if who not in self._here:
            self._here.add(who)
            self._group.joins.append((who, event.at))
            self._reasons.append((event, "joined", "a client joined"))

    def _rejoins(self, event: Event, who: str) -> None:
        said = event.reason or ""
        if any(words in said for words in _NO_REASON):
            return
        if any(words in said for words in _PUT_OUT):
            self._put_out(event, who)
            return
        cause = "elsewhere" if "already rebalancing" in said else reasons.of_rejoin(said)
        self._here.add(who)
        self._reasons.append((event, cause, said))

    def _max_poll(self, event: Event, who: str) -> None:
        self._goes(event, who, "max_poll", self._group.leaves, but_after=_LEAVES)

    def _left(self, event: Event, who: str) -> None:
        cause = reasons.of_leave(event.reason)
        self._goes(event, who, cause, self._group.leaves, but_after=_LEAVES)

    def _session(self, event: Event, who: str) -> None:
        self._goes(event, who, "coordinator_silent", self._group.turned_away)

    def _put_out(self, event: Event, who: str) -> None:
        before = ("put_out", "coordinator_silent")
        self._goes(event, who, "put_out", self._group.removals, but_after=before)

    def _fenced(self, event: Event, who: str) -> None:
        before = ("instance_fenced",)
        self._goes(event, who, "instance_fenced", self._group.removals, but_after=before)

    def _coordinator_lost(self, event: Event, who: str) -> None:
        key = (who, "coordinator_lost")
        if event.at - self._last.get(key, 0) > _SAME_US:
            self._group.turned_away.append(self._removal(event, *key))
        self._last[key] = event.at

    def _crashed(self, event: Event, who: str) -> None:
        self._group.turned_away.append(self._removal(event, who, "crashed"))

    def _goes(
        self,
        event: Event,
        who: str,
        cause: str,
        rows: list[Removal],
        but_after: Iterable[str] = (),
    ) -> None:
        """It is no member any more, unless it has just said so in other words."""
        self._here.discard(who)
        if any(event.at - self._last.get((who, each), 0) <= _SAME_US for each in but_after):
            return
        self._last[who, cause] = event.at
        self._reasons.append((event, cause, event.reason or cause))
        rows.append(self._removal(event, who, cause))

    def _removal(self, event: Event, who: str, cause: str) -> Removal:
        return Removal(
            self._group.name, cause, who, event.instance_id, event.reason, None, event.at, event,
            said=event.reason,
        )  # fmt: skip


def _who(event: Event) -> str:
    return event.instance_id or event.client_id or event.member_id or ""
