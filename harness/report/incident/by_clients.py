"""What clients' logs say of a group: all there is where no broker's log does, or beside one.

A client knows less than its coordinator. It knows why itself joins again and leaves, and when it
has joined a generation. Of what others did it only hears that the group is rebalancing.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from harness.history.foreign.events import Event
from harness.report.incident import reasons
from harness.report.incident.logged import LoggedGroup, LoggedRebalance, Removal

_SECOND: Final = 1_000_000
_SAME_US: Final = 5 * _SECOND  # lines of one client so close tell of one thing
_APART_US: Final = 30 * _SECOND  # clocks of a client and a broker, at most
_FEW: Final = 50  # generations that may be missing; more are another life of the group
# What Java's client gives as a reason to join, and is none.
_NO_REASON: Final = ("given member-id", "pro-actively leaving")
_PUT_OUT: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
_LOST_US: Final = 60 * _SECOND  # so long after it lost its coordinator, that explains it
_LEAVES: Final = ("max_poll", "closed", "left", "unsubscribed")
_EXPIRED: Final = ("put_out", "put_out_after_loss", "coordinator_silent")
# By event: where in a group its departure is kept, its cause, and after which it says nothing new.
_GOES: Final = {
    "max_poll": ("leaves", "max_poll", _LEAVES),
    "crashed": ("leaves", "crashed", ("crashed",)),
    "session": ("others", "coordinator_silent", ("coordinator_silent",)),
    "fenced": ("removals", "instance_fenced", ("instance_fenced",)),
    "taken": ("others", "instance_taken", ("instance_taken",)),
}
# Causes by `trigger` in the table of a run; of all others a member joins again.
_TRIGGERS: Final = {
    **dict.fromkeys(_LEAVES, "leave"),
    **dict.fromkeys(_EXPIRED, "expiry"),
    "joined": "join",
    "metadata": "metadata",
}


def group_of(name: str, events: Iterable[Event]) -> LoggedGroup:
    """The group as the lines of its clients tell it, in order of time."""
    teller = _ClientsStory(name)
    for event in events:
        teller.take(event)
    return teller.done()


def explain_leaves(group: LoggedGroup, events: Iterable[Event]) -> None:
    """Give the departures without a reason in a broker's log the one in the client's own."""
    exceeded = [event for event in events if event.event == "client_max_poll"]
    for row in group.leaves:
        if row.cause != "left":
            continue
        for event in exceeded:
            if row.member_id.startswith(event.client_id or "") and (
                abs(event.at - row.at) <= _APART_US
            ):
                exceeded.remove(event)
                row.cause, row.said = "max_poll", event.reason
                for one in group.rebalances:
                    if one.cause == "left" and one.named[:1] == (row.member_id,):
                        one.cause = "max_poll"
                break


class _ClientsStory:
    """Follows one group through its clients' lines, in order of time."""

    def __init__(self, name: str) -> None:
        self._group = LoggedGroup(name, by_clients=True)
        self._reasons: list[tuple[Event, str, str | None]] = []  # since the last generation
        self._asked: dict[str, int] = {}  # who wants to join since then, and since when
        self._here: set[str] = set()  # who was seen, and has not gone
        self._gone: dict[str, str] = {}  # who has gone, and why
        self._within: dict[int | None, set[str]] = {}  # who has joined each generation
        self._last: dict[tuple[str, str], int] = {}  # when a client last had this cause

    def take(self, event: Event) -> None:
        group = self._group
        group.first_at = group.first_at or event.at
        group.last_at = event.at
        group.members.add(event.who)
        name = event.event.removeprefix("client_")
        if name in _GOES:
            self._goes(event, *_GOES[name])
        elif name != "named":  # which only says of which group it is
            getattr(self, f"_{name}")(event)

    def done(self) -> LoggedGroup:
        """The group, with the generations that none of these clients was in."""
        group = self._group
        classic = [one for one in group.rebalances if one.protocol == "classic"]
        seen = sorted({one.generation for one in classic if one.generation is not None})
        for before, after in pairwise(seen):
            if 1 < after - before <= _FEW:
                group.unseen += range(before + 1, after)
        return group

    def _joined(self, event: Event, protocol: str = "classic") -> None:
        if event.who not in self._here:
            self._asks(event)
        who, rows = event.who, self._group.rebalances
        joined = self._within.get(event.generation)
        if joined is not None:
            latest = rows[-1].generation == event.generation
            if event.generation is None:  # then only time shows whether it is the next one
                latest = who not in joined and event.at - (rows[-1].joined_at or 0) <= _SAME_US
            if latest or (event.generation is not None and who not in joined):
                joined.add(who)
                self._asked.pop(who, None)
                return
        why = [each for each in self._reasons if each[1] != "elsewhere"] or self._reasons
        if not why:  # it asked for it, or only heard of it
            asked = who in self._asked
            why = [(event, *(("rejoined", "") if asked else ("elsewhere", "a new assignment")))]
        first, cause, reason = why[0]
        rows.append(
            LoggedRebalance(
                self._group.name, event.generation, _TRIGGERS.get(cause, "rejoin"), cause,
                (first.who,), reason, protocol, None, event,
                client_reason=reason if cause == "connect" else None,
                joined_at=event.at, started_at=min(self._asked.values(), default=None),
            )
        )  # fmt: skip
        self._reasons.clear()
        self._asked.clear()
        self._within[event.generation] = {who}

    def _given(self, event: Event) -> None:
        if event.generation:  # it has none before it has joined
            self._joined(event, "consumer")

    _assigned = _joined

    def _asks(self, event: Event) -> None:
        self._asked.setdefault(event.who, event.at)
        if event.who not in self._here:
            self._here.add(event.who)
            self._gone.pop(event.who, None)
            self._group.joins.append((event.who, event.at))
            self._reasons.append((event, "joined", "a client joined"))

    def _rejoins(self, event: Event) -> None:
        said = event.reason or ""
        if any(words in said for words in _NO_REASON):
            return
        if any(words in said for words in _PUT_OUT):
            self._put_out(event)
            return
        if event.who in self._gone:  # that is why
            return
        cause = "elsewhere" if "already rebalancing" in said else reasons.of_rejoin(said)
        self._here.add(event.who)
        self._asked.setdefault(event.who, event.at)
        self._reasons.append((event, cause, said))

    def _left(self, event: Event) -> None:
        self._goes(event, "leaves", reasons.of_leave(event.reason), (*_LEAVES, "crashed"))

    def _put_out(self, event: Event) -> None:
        lost_at = self._last.get((event.who, "coordinator_lost"))
        lost = lost_at is not None and event.at - lost_at <= _LOST_US
        cause = "put_out_after_loss" if lost else "put_out"
        self._goes(event, "removals", cause, _EXPIRED)

    _lost = _put_out

    def _commit_refused(self, event: Event) -> None:
        if self._gone.get(event.who) not in _LEAVES:  # a member that has left gets this too
            self._put_out(event)

    def _coordinator_lost(self, event: Event) -> None:
        key = (event.who, "coordinator_lost")
        if event.at - self._last.get(key, 0) > _SAME_US:
            self._note(event, "others", "coordinator_lost")
        self._last[key] = event.at

    def _goes(self, event: Event, rows: str, cause: str, but_after: Iterable[str]) -> None:
        """It is no member any more, unless it has just said so in other words."""
        who = event.who
        self._here.discard(who)
        self._asked.pop(who, None)  # what it waited for ended without it
        if any(event.at - self._last.get((who, each), 0) <= _SAME_US for each in but_after):
            return
        self._gone[who] = cause
        self._last[who, cause] = event.at
        self._reasons.append((event, cause, event.reason or cause))
        self._note(event, rows, cause)

    def _note(self, event: Event, rows: str, cause: str) -> None:
        one = Removal(
            self._group.name, cause, event.who, event.instance_id, event.reason, None, event.at,
            event, said=event.reason,
        )  # fmt: skip
        getattr(self._group, rows).append(one)
