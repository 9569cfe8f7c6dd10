"""From a line of somebody's log to its time and the coordinator's message in it.

Read are Kafka's default (`[%d] %p %m (%c)%n`), Strimzi's (`%d{ISO8601} %p %m (%c) [%t]%n`), other
patterns that have a date and the message, JSON lines of any layout, and what Docker, Kubernetes and
shippers of logs put around them. A stamp that Kafka wrote goes before one of whoever shipped it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple

from harness.history.coordinator_log import MARK

_SECOND: Final = 1_000_000
_QUARTER: Final = 900 * _SECOND  # offsets of time zones are multiples of it
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_ZONE: Final = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\d:]))?"
_TIME: Final = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?" + _ZONE
_STAMPS: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[T ]" + _TIME),
    re.compile(r"(?<!\d)(?P<d>\d\d)[ /-](?P<mo>[A-Z][a-z]{2})[ /-](?P<y>\d{4})[ :T]" + _TIME),
    re.compile(
        r"(?<!\d)(?P<y>\d{4})(?P<mo>\d\d)(?P<d>\d\d)[T ](?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)"
        r"[.,](?P<f>\d{1,9})" + _ZONE
    ),
)
# The head of most lines, read at once: Kafka's default, Strimzi's and our own.
_PLAIN: Final = re.compile(
    r"\[?(?P<y>\d{4})-(?P<mo>\d\d)-(?P<d>\d\d)[T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
    r"[.,](?P<f>\d{1,9})(?P<zone>Z)?\]? +(?:TRACE|DEBUG|INFO|WARN|ERROR) +(?:[\w.$]+ )?"
    r"(?=\[GroupCoordinator )"
)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
# Behind the message: the logger, in Strimzi's pattern the thread as well, or a location.
_TAIL: Final = re.compile(r" \((?:kafka|org\.apache\.kafka)\.[\w.$]+(?::\d+)?\)(?: \[[^\]]*\])?$")
# Between a stamp and the message: level, logger, thread and brackets, and no sentence.
_BETWEEN: Final = re.compile(r"[\]\s]*(?:[^\s]+\s+){0,6}?(?:[-:|>]\s*)?$")
_TIME_KEYS: Final = (
    *("@timestamp", "timestamp", "time", "ts", "date", "datetime", "asctime", "instant"),
    *("timeMillis", "epochMillis", "eventTime", "@t", "Timestamp"),
)
_JSON: Final = re.compile(r'\{\s*"')
_DEEPEST: Final = 4  # layers of JSON in JSON


class Stamp(NamedTuple):
    """A time as it is written: microseconds of that clock, and its offset from UTC, if said."""

    local_us: int
    offset_us: int | None

    @property
    def at(self) -> int:
        """UTC; as written where no zone is said."""
        return self.local_us - (self.offset_us or 0)


class Line(NamedTuple):
    """A message of the coordinator, its own stamp, and the one of who shipped it."""

    message: str
    stamp: Stamp | None
    shipped: Stamp | None
    whole: bool  # something stands behind the message


_days: dict[tuple[str, str, str], int] = {}


def _day(year: str, month: str, day: str) -> int:
    """Microseconds since the epoch of a date. Raises ValueError for none."""
    key = (year, month, day)
    if key not in _days:
        # A name of a month that is none gives 0, which is no month.
        number = int(month) if month.isdigit() else (_MONTHS.find(month.lower()) + 4) // 4
        moment = datetime(int(year), number, int(day), tzinfo=UTC)
        _days[key] = int(moment.timestamp()) * _SECOND
    return _days[key]


def stamps_in(text: str) -> Iterator[Stamp]:
    """The times in a text, from left to right."""
    for pattern in _STAMPS:
        found = False
        for match in pattern.finditer(text):
            stamp = _stamp(match)
            if stamp is not None:
                found = True
                yield stamp
        if found:
            return


def _stamp(match: re.Match[str]) -> Stamp | None:
    year, month, day, hour, minute, second, fraction, zone = match.group(
        "y", "mo", "d", "h", "m", "s", "f", "zone"
    )
    try:
        at = _day(year, month, day)
    except ValueError:
        return None
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        return None
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    at += seconds * _SECOND + int((fraction or "").ljust(6, "0")[:6])
    return Stamp(at, _offset(zone))


def _offset(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    size = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * _SECOND
    return size if zone[0] == "+" else -size


def peeled(line: str) -> Line | None:
    """The coordinator's message in a line and its times; None where there is none, or none whole.

    A JSON line that is cut off has none.
    """
    if plain := _PLAIN.match(line):
        stamp = _stamp(plain)
        if stamp is not None:
            return _line(line[plain.end() :], stamp, None)
    line = _COLOURS.sub("", line) if "\x1b" in line else line
    at = line.find(MARK)
    json_at = _JSON.search(line, 0, at)
    if json_at:
        return _of_json(line, json_at.start())
    return _of_text(line, at, None)


def _of_text(line: str, at: int, shipped: Stamp | None) -> Line | None:
    head = line[:at]
    stamps = list(stamps_in(head))
    own = stamps[-1] if stamps else None
    if len(stamps) > 1:
        shipped = shipped or stamps[0]
    if len(stamps) == 1 and _ships(head):
        own, shipped = None, own
    if not _BETWEEN.match(_behind_stamp(head)):
        return None
    return _line(line[at:], own, shipped)


def _line(message: str, own: Stamp | None, shipped: Stamp | None) -> Line:
    """Without what stands behind the message."""
    message = message.rstrip()
    tail = _TAIL.search(message, max(0, message.rfind(" (")))
    if tail:
        message = message[: tail.start()]
    return Line(message, own, shipped, tail is not None)


def _behind_stamp(head: str) -> str:
    """What stands between the last stamp and the message."""
    ends = [match.end() for pattern in _STAMPS for match in pattern.finditer(head)]
    return head[max(ends, default=0) :]


def _ships(head: str) -> bool:
    """Whether the only stamp of a line is a container's: its line goes on without another."""
    return bool(re.search(r"Z (?:stdout|stderr) [FP] ?$", head))


def _of_json(line: str, brace: int) -> Line | None:
    try:
        found = json.loads(line[brace:])
    except (ValueError, RecursionError):
        return None
    before = next(stamps_in(line[:brace]), None)
    return _in_json(found, before, _DEEPEST)


def _in_json(found: Any, shipped: Stamp | None, deepest: int) -> Line | None:
    text = _marked(found, _DEEPEST)
    if text is None or deepest == 0:
        return None
    own = time_in(found)
    at = text.find(MARK)
    if json_at := _JSON.search(text, 0, at):
        try:
            inner = json.loads(text[json_at.start() :])
        except (ValueError, RecursionError):
            return None
        return _in_json(inner, own or shipped, deepest - 1)
    line = _of_text(text, at, shipped)
    if line is None:
        return None
    if line.stamp is None:
        return line._replace(stamp=own, whole=True)
    return line._replace(shipped=own or line.shipped, whole=True)


def _marked(found: Any, deepest: int) -> str | None:
    """The text in a value that has the coordinator's mark."""
    if isinstance(found, str):
        return found if MARK in found else None
    inner = list(found.values()) if isinstance(found, dict) else found
    if not isinstance(inner, list) or deepest == 0:
        return None
    texts = (_marked(each, deepest - 1) for each in inner)
    return next((text for text in texts if text is not None), None)


def time_in(found: Any) -> Stamp | None:
    """The time that a JSON object says, whatever its layout calls it."""
    if not isinstance(found, dict):
        return None
    for key in _TIME_KEYS:
        if key in found and (stamp := _time(found[key])) is not None:
            return stamp
    inner = (time_in(each) for each in found.values())
    return next((stamp for stamp in inner if stamp is not None), None)


def _time(value: Any) -> Stamp | None:
    if isinstance(value, str):
        return next(stamps_in(value), None)
    if isinstance(value, dict) and isinstance(value.get("epochSecond"), int):
        nanos = value.get("nanoOfSecond", 0)
        return _epoch(
            value["epochSecond"] * _SECOND + (nanos if isinstance(nanos, int) else 0) // 1000
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        for unit in (_SECOND, 1_000, 1, 0.001):  # seconds, or finer
            at = value * unit
            if 1e15 <= at < 5e15:  # 2001 to 2128
                return _epoch(round(at))
    return None


def _epoch(at: int) -> Stamp:
    return Stamp(at, 0)


class Clock:
    """What the stamps of one log mean: who says no zone gets the one given, or the one shown.

    Whoever ships logs writes UTC beside Kafka's own stamp, which gives its offset away.
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._offsets: dict[int, int] = {}  # by hour of the local clock
        self._shown: int | None = None
        self.said = self.assumed = False

    @property
    def given(self) -> tzinfo | None:
        """The zone for stamps that say none."""
        return self._zone

    def at(self, line: Line) -> int | None:
        """UTC in microseconds; None of a line without a time."""
        own, shipped = line.stamp, line.shipped
        if own is None:
            own = shipped
        if own is None:
            return None
        if own.offset_us is not None:
            self.said = True
            return own.at
        if self._zone is None and shipped is not None and shipped.offset_us is not None:
            if self._shown is None:
                self._shown = round((own.local_us - shipped.at) / _QUARTER) * _QUARTER
            self.said = True
            return own.local_us - self._shown
        return self.utc(own)

    def utc(self, stamp: Stamp) -> int:
        """UTC of a stamp, by the zone given where it says none."""
        if stamp.offset_us is not None:
            return stamp.at
        if self._shown is not None:
            return stamp.local_us - self._shown
        self.assumed = True
        if self._zone is None:
            return stamp.local_us
        hour = stamp.local_us // (3600 * _SECOND)
        if hour not in self._offsets:
            local = datetime.fromtimestamp(hour * 3600, UTC).replace(tzinfo=self._zone)
            self._offsets[hour] = round(
                (local.utcoffset() or timedelta()) / timedelta(microseconds=1)
            )
        return stamp.local_us - self._offsets[hour]
