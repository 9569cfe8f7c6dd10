"""What a page and a terminal say of an incident, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from harness.base.words import plural
from harness.history.foreign.events import Log, Read
from harness.history.foreign.log_stamps import YEAR_NOT_SAID
from harness.report.formats import duration
from harness.report.incident.by_brokers import incident_of
from harness.report.incident.findings import Explained, explained, listed
from harness.report.incident.logged import Incident
from harness.report.incident.names import Names

_MOST_USELESS: Final = 3  # files that are named one by one
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class IncidentView:
    read: Read
    names: Names
    groups: tuple[Explained, ...]
    headline: str
    detail: str
    notes: tuple[str, ...]


def moment(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def at(us: int | None) -> str:
    """A time of day with its date, to the second."""
    return "–" if us is None else f"{moment(us):%Y-%m-%d %H:%M:%S}"


def span(from_us: int, to_us: int) -> str:
    hours, rest = divmod(round((to_us - from_us) / 1e6), 3600)
    if hours:
        return f"{hours} h {rest // 60:02d} min"
    return duration((to_us - from_us) / 1e3)


def view_of(read: Read, only: str | None = None) -> IncidentView:
    """What there is to say of these logs, or of one group in them."""
    incident = incident_of(read, only)
    names = Names(incident, read.clients)
    last_at = max((log.last_at or 0 for log in read.logs), default=0)
    groups = tuple(explained(incident, names, last_at))
    rebalances = sum(len(one.group.rebalances) for one in groups)
    removals = sum(len(one.group.removals) for one in groups)
    storms = sum(len(one.storms) for one in groups)
    headline = (
        f"{plural(len(groups), 'group')}: {plural(rebalances, 'rebalance')}, "
        f"{plural(removals, 'eviction')}, {plural(storms, 'storm') if storms else 'no storm'}"
    )
    return IncidentView(
        read,
        names,
        groups,
        headline,
        _detail(read.logs),
        (*_notes(read), *_of_brokers(incident), *_of_clients(incident)),
    )


def _of_clients(incident: Incident) -> Iterator[str]:
    """What is less certain where only clients tell of a group."""
    by_clients = [group for group in incident.groups if group.by_clients]
    if by_clients:
        names = listed([group.name for group in by_clients])
        yield (
            f"{names}: known from clients' logs alone, which say what these clients did and heard. "
            "The logs of the brokers have all members and each reason"
        )
    for group in by_clients:
        if group.unseen:
            few = "generation" if len(group.unseen) == 1 else "generations"
            numbers = listed([str(each) for each in group.unseen])
            yield f"{group.name}: none of these clients was in {few} {numbers}"


def _of_brokers(incident: Incident) -> Iterator[str]:
    """What brokers did to several groups at once."""
    rows = [row for group in incident.groups for row in group.removals]
    for one in sorted({row.burst for row in rows if row.burst}, key=lambda one: one.from_at):
        if one.groups > 1:
            yield (
                f"broker {one.broker} put out {one.members} members of {one.groups} groups at "
                f"{at(one.from_at)}, in one moment: look at that broker before its members"
            )
    for when, broker in incident.expired:
        yield f"broker {broker} removed expired offsets at {at(when)}: groups begin anew after that"


def _detail(logs: Sequence[Log]) -> str:
    useful = [log for log in logs if log.used or log.twice]
    of_brokers = [log for log in useful if log.brokers]
    brokers = sorted({broker for log in of_brokers for broker in log.brokers})
    versions = sorted({version for log in of_brokers for version in log.versions})
    first = min((log.first_at for log in useful if log.first_at is not None), default=None)
    last = max((log.last_at for log in useful if log.last_at is not None), default=None)
    kafka = f", Kafka {', '.join(versions)}" if versions else ""
    numbers = ", ".join(map(str, brokers))
    whose = f"{plural(len(of_brokers), 'log')} of {plural(len(brokers), 'broker')} ({numbers})"
    clients = f"{plural(len(useful) - len(of_brokers), 'log')} of clients"
    parts = [whose] * bool(of_brokers) + [clients] * (len(of_brokers) < len(useful))
    return f"{' and '.join(parts)}{kafka}, {at(first)} to {at(last)} {zone(useful)}"


def zone(logs: Sequence[Log]) -> str:
    if any(log.clock.assumed and not log.clock.said for log in logs):
        given = {str(log.clock.zone) for log in logs if log.clock.zone} - {"UTC"}
        if given:
            return f"UTC, from {', '.join(given)}"
        return "UTC" if any(log.clock.zone for log in logs) else "(as written)"
    return "UTC"


def _notes(read: Read) -> Iterator[str]:
    """What the reader has to know of what was read."""
    named = list(zip(read.names, read.logs, strict=True))
    useless = [(name, log.lacks) for name, log in named if log.lacks]
    if len(useless) <= _MOST_USELESS:
        yield from (f"{name} {lacks}: nothing of it is used" for name, lacks in useless)
    else:
        name, lacks = useless[0]
        yield (
            f"{len(useless)} of {len(named)} files are of no use, such as {name}, which {lacks}; "
            "the page lists them"
        )
    useful = [(name, log) for name, log in named if log.used or log.twice]
    assumed = [name for name, log in useful if log.clock.assumed and not log.clock.said]
    if assumed and not any(log.clock.zone for _, log in useful):
        more = "" if len(assumed) == 1 else f" and {plural(len(assumed) - 1, 'more log')}"
        mixed = len(assumed) < len(useful)
        yield (
            f"{assumed[0]}{more}: the times say no time zone"
            + (", and others are UTC: " if mixed else " and are shown as written: ")
            + "say --timezone Europe/Berlin, or the zone in which they ran"
        )
    for name, log in useful:
        if log.clock.undated:
            yield (
                f"{name}: the times say no date. They are shown as if the first was of 2000-01-01, "
                "and each one after midnight of the next day"
            )
        elif log.first_at is not None and moment(log.first_at).year == YEAR_NOT_SAID:
            yield f"{name}: the times say no year, and are shown as if of {YEAR_NOT_SAID}"
    for name, log in named:
        if log.unknown:
            lines = plural(log.unknown, "line")
            yield (
                f"{name}: {lines} of the coordinator in words that are not known here{log.whose}, "
                f"such as {'; '.join(f'“{each}”' for each in log.examples)}"
            )
    for name, log in useful:
        if log.damage:
            yield f"{name} {log.damage[0]}: what is before that is used"
        if log.unread:
            whose = "the coordinator" if log.brokers else "a client"
            yield f"{name}: {plural(log.unread, 'line')} of {whose} cut off or without a time"
    if twice := sum(log.twice for log in read.logs):
        yield f"{plural(twice, 'line')} stood in several files and counted once"
