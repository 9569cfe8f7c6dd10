"""Which process a client's line is of: pods and replicas of a service share a client.id."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from harness.history.foreign.clients import KnownClient, made_of
from harness.history.foreign.log import Event, Log

IN: Final = " in "  # before the process of a client, if several share its client.id
UNNAMED: Final = "a client"  # whose lines name neither it nor a member id
_AT_ONCE_US: Final = 60_000_000  # members join one generation within this
# What stands around a line and says whose it is, the most certain first.
_PLACES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rb"^\[?pod/([^\s\]]+)\]? ",  # kubectl logs --prefix
        rb"^([a-z0-9][a-z0-9.-]*-[a-z0-9.-]+ [a-z0-9][a-z0-9-]*) (?=[%\[{\d])",  # stern
        rb"^(?!(?i:trace|debug|info|warn|error|fatal|status))([a-zA-Z][\w.-]*) +\| ",  # compose
        (  # syslog and journalctl
            rb"^(?:<\d+>\d? ?)?(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+) "
            rb"([\w.-]+ [\w./-]+\[\d+\]): "
        ),
        rb'"pod(?:_?[nN]ame)?\\*": ?\\*"([^"\\]+)',
        rb'"(?:container_?[iI]d|@?logStream(?:Name)?|container_?[nN]ame)\\*": ?\\*"([^"\\]+)',
        rb'"(?:host_?[nN]ame|HOSTNAME)\\*": ?\\*"([^"\\]+)',
        rb'"host\\*": ?\\*"([^"\\]+)',
    )
)
_TABLE: Final = re.compile(rb"\bStorageKafka \(([^)\n]+)\)")  # ClickHouse has a client for each
_OF_SPRING: Final = ("client_assigned", "client_lost")
_HANDLE: Final = re.compile(r"#(?:consumer|producer)-\d+$")


def place_of(line: bytes) -> str:
    """The pod, container or host that a line names beside its message; "" if none."""
    found = next((match for each in _PLACES if (match := each.search(line))), None)
    names = [match[1].decode("utf-8", "replace") for match in (found, _TABLE.search(line)) if match]
    return "/".join(names).replace(" ", "/")


def once(found: Iterable[tuple[Log, list[tuple[Event, int]]]]) -> None:
    """Leave out the lines of clients in files that are copies or parts of one before them.

    Processes of one kind may write the same line in the same millisecond. So a file repeats another
    only if it is the same in the time that both cover, or if one has all lines of the other.
    """
    before: list[tuple[Log, dict[int, int]]] = []  # files, and times by line
    for log, events in found:
        ours = {key: event.at for event, key in events if event.broker is None}
        for other, theirs in before:
            both = ours.keys() & theirs.keys()
            if both and (
                both in (ours.keys(), theirs.keys())
                or both == _within(ours, theirs) == _within(theirs, ours)
            ):
                log.process = other.process
                log.twice += sum(event.broker is None and key in both for event, key in events)
                events[:] = [
                    each for each in events if each[0].broker is not None or each[1] not in both
                ]
        before.append((log, ours))


def _within(lines: dict[int, int], others: dict[int, int]) -> set[int]:
    """Those of these lines that lie in the time of others."""
    first, last = min(others.values()), max(others.values())
    return {line for line, at in lines.items() if first <= at <= last}


def name_groups(events: Iterable[Event]) -> None:
    """Give clients' lines that name no group the one that their client's others name, or the file.

    A file that names several groups does not tell of which one a client is that names none.
    """
    bare = [event for event in events if event.broker is None and event.group is None]
    groups: dict[tuple[int, ...] | tuple[int, str, str], set[str]] = defaultdict(set)
    for event in events if bare else ():
        if event.broker is None and event.group:
            groups[event.log, event.place, event.handle or event.client_id or ""].add(event.group)
            groups[(event.log,)].add(event.group)
    for event in bare:
        name = event.handle or event.client_id
        named = groups[event.log, event.place, name] if name else set()
        named = named or groups[(event.log,)]
        event.group = next(iter(named)) if len(named) == 1 else None


def without_repeats(events: list[Event]) -> list[Event]:
    """Spring says again who got partitions: that counts only where Java's client is silent."""
    of_client = {
        (event.log, event.place, event.group)
        for event in events
        if event.broker is None and event.event not in _OF_SPRING
    }
    return [
        event
        for event in events
        if event.event not in _OF_SPRING or (event.log, event.place, event.group) not in of_client
    ]


class _Key(NamedTuple):
    """A client of a group, as far as its lines name it."""

    group: str | None
    name: str
    place: str


def tell_apart(events: Iterable[Event], logs: Sequence[Log]) -> dict[str, KnownClient]:
    """Give each client's line the member whose it is; what is known of those, by that name.

    A member is a client.id in one process, which stays when it joins again with another id. Where
    the lines do not tell processes apart, but members of one name joined a generation together,
    each member id is one.
    """
    lines: dict[_Key, list[Event]] = defaultdict(list)
    homes: dict[tuple[str | None, str, str], str] = {}
    same: dict[_Key, str] = {}
    places: dict[int, set[str]] = defaultdict(set)  # by file
    for event in events:
        if event.place:
            places[event.log].add(event.place)
    for event in events:
        if event.broker is None:
            if not event.place and len(places[event.log]) == 1:  # a line without its prefix
                [event.place] = places[event.log]
            name = event.instance_id or event.handle or event.client_id or ""
            key = _Key(event.group, name, event.place or logs[event.log].process)
            lines[key].append(event)
            if event.member_id:  # of one process, wherever it stands
                same[key] = homes.setdefault((event.group, name, event.member_id), key.place)
    by_client: dict[_Key, list[Event]] = defaultdict(list)
    for key, each in lines.items():
        by_client[key._replace(place=same.get(key, key.place))] += each
    names = {key: _name_of(key, each) for key, each in by_client.items()}
    sharing: dict[tuple[str | None, str], set[_Key]] = defaultdict(set)
    for key, name in names.items():
        sharing[key.group, name].add(key)
    files = {log.process for log in logs}
    alike = Counter(Path(file).name for file in files)
    short = {file: name for file in files if alike[name := Path(file).name] == 1}
    found: dict[str, KnownClient] = {}
    for key, each in by_client.items():
        each.sort(key=lambda event: event.at)
        name = names[key]
        others = sharing[key.group, name]
        place = _shown(key, others, short.get(key.place, key.place)) if len(others) > 1 else None
        whole = f"{name or UNNAMED}{IN}{place}" if place else name or UNNAMED
        _name_members(each, whole)
        for event in each:
            client = found.setdefault(event.who, KnownClient())
            client.learn(client_id=event.client_id or name, instance_id=event.instance_id)
            client.learn(place=place)
    return found


def _name_of(key: _Key, events: Sequence[Event]) -> str:
    """What a person calls a client: by its client.id, which a member id begins with as well."""
    if key.name:
        return _HANDLE.sub("", key.name) if not key.name.startswith("rdkafka#") else key.name
    ids = {event.member_id for event in events if event.member_id}
    made = {each if (name := made_of(each)) is None else name for each in ids}
    return made.pop() if len(made) == 1 else ""


def _shown(key: _Key, others: Iterable[_Key], place: str) -> str:
    """What sets a client apart from others of its name: its process, or its number within that."""
    number = _HANDLE.search(key.name)
    alone = sum(each.place == key.place for each in others) == 1
    return place if alone or number is None else f"{place}{number[0]}"


def _name_members(events: Sequence[Event], name: str) -> None:
    """The member of each of a client's lines, which are in order of time."""
    known = [event for event in events if event.member_id]
    if len(known) < len(events) and not _are_several(known):
        for event in events:
            event.who = name
        return
    times = [event.at for event in known]
    for event in events:
        near = bisect_left(times, event.at)  # what follows says more of what just happened
        nearest = known[max(0, near - 1) : near + 1]
        whose = min(nearest, key=lambda other: (abs(other.at - event.at), -other.at))
        event.who = event.member_id or whose.member_id or name


def _are_several(known: Iterable[Event]) -> bool:
    """Whether two members joined one generation together."""
    joined: dict[int, Event] = {}
    for event in known:
        if event.event in ("client_joined", "client_given") and event.generation is not None:
            other = joined.get(event.generation)
            if (
                other is not None
                and other.member_id != event.member_id
                and event.at - other.at < _AT_ONCE_US
            ):
                return True
            joined[event.generation] = event
    return False
