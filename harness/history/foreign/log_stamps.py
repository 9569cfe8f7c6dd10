"""Times as people's logs write them: with a date or without, by name of month, since the epoch."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
YEAR_NOT_SAID: Final = 2000  # stands for a year, and its first day for a date, that is not written
_ZONE: Final = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\d:]))?"
_SECONDS: Final = r"(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_TIME: Final = r"(?P<h>\d\d):(?P<m>\d\d):" + _SECONDS + _ZONE
_OF_CLOCK: Final = (  # in numbers of one digit as well, or with AM and PM
    r",? +(?P<h>\d\d?):(?P<m>\d\d):" + _SECONDS + r"(?:\s?(?P<half>[AaPp])\.?[Mm]\b\.?)?" + _ZONE
)
_NAME: Final = r"(?P<mo>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +(?P<d>\d\d?)"
# Tried in this order: the first that is found in a text is what its times look like.
_PATTERNS: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<mo>\d\d)[-/.](?P<d>\d\d)[T ]" + _TIME),
    re.compile(r"(?<!\d)(?P<d>\d\d)[ /-](?P<mo>[A-Z][a-z]{2})[ /-](?P<y>\d{4})[ :T]" + _TIME),
    re.compile(
        r"(?<!\d)(?P<y>\d{4})(?P<mo>\d\d)(?P<d>\d\d)[T ](?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)"
        r"[.,](?P<f>\d{1,9})" + _ZONE
    ),
    re.compile(r"(?<![\d/])(?P<mo>\d\d?)/(?P<d>\d\d?)/(?P<y>\d{4})" + _OF_CLOCK),
    re.compile(r"(?<![\d.])(?P<d>\d\d?)\.(?P<mo>\d\d?)\.(?P<y>\d{4})" + _OF_CLOCK),
    re.compile(r"(?<![\d/])(?P<y>\d\d)/(?P<mo>\d\d)/(?P<d>\d\d)" + _OF_CLOCK),
    re.compile(r"\b" + _NAME + r",? (?P<y>\d{4})(?:,? @| at|,)?" + _OF_CLOCK),
    re.compile(r"\b" + _NAME + " " + _TIME + r"(?: [A-Z]{3,4})? (?P<y>\d{4})\b"),
    re.compile(r"\b" + _NAME + " " + _TIME),
    re.compile(
        r"(?<![\w.,-])(?P<epoch>1\d{9}(?:\d{3}|\d{6}|\d{9})?)(?:[.,](?P<f>\d{1,9}))?(?![\w-])"
    ),
    re.compile(r"(?<![\d:])" + _TIME),
)

_ANY: Final = re.compile(r"\d\d:\d\d|\d{10}|\d{8}[T ]\d{6}")  # what each of them has


class Stamp(NamedTuple):
    """A time as it is written: microseconds of that clock, and its offset from UTC, if said."""

    local_us: int
    offset_us: int | None
    dated: bool = True  # whether it says a date

    @property
    def at(self) -> int:
        """UTC; as written where no zone is said."""
        return self.local_us - (self.offset_us or 0)


def stamps_in(text: str) -> Iterator[Stamp]:
    return (stamp for stamp, _ in placed_in(text))


def placed_in(text: str) -> Iterator[tuple[Stamp, int]]:
    """The times in a text, from left to right, each with where it ends."""
    for pattern in _PATTERNS if _ANY.search(text) else ():
        found = False
        for match in pattern.finditer(text):
            stamp = _stamp_of(match)
            if stamp is not None:
                found = True
                yield stamp, match.end()
        if found:
            return


def _stamp_of(match: re.Match[str]) -> Stamp | None:
    """What one of the patterns found; None where it is no time."""
    said: dict[str, Any] = dict.fromkeys(("y", "mo", "d", "zone")) | match.groupdict()
    if epoch := said.get("epoch"):
        return _since_epoch(float(f"{epoch}.{said['f']}") if said["f"] else int(epoch))
    month, day, hour = said["mo"], said["d"], said["h"]
    if month and day and int(day) <= 12 < int(month if month.isdigit() else 0):
        month, day = day, month  # Europe's order
    if half := said.get("half"):
        hour = str(int(hour) % 12 + (12 if half in "Pp" else 0))
    date = said["y"] or str(YEAR_NOT_SAID), month or "1", day or "1"
    stamp = stamp_at((*date, hour, said["m"], said["s"]), said["f"], said["zone"])
    return stamp if month or stamp is None else stamp._replace(dated=False)


def stamp_at(digits: Sequence[str], fraction: str | None, zone: str | None) -> Stamp | None:
    """The time of a year, month, day, hour, minute and second; None if these are none."""
    at = _second(*digits)
    if at is None:
        return None
    if fraction:
        at += int(fraction[:6]) * 10 ** max(0, 6 - len(fraction))
    return Stamp(at, None if zone is None else _offset(zone))


@lru_cache(4096)  # the lines of a log follow each other
def _second(year: str, month: str, day: str, hour: str, minute: str, second: str) -> int | None:
    # A name of a month that is none gives 0, which is no month.
    number = int(month) if month.isdigit() else (_MONTHS.find(month.lower()) + 4) // 4
    full = int(year) + (2000 if len(year) == 2 else 0)
    try:
        at = datetime(full, number, int(day), int(hour), int(minute), tzinfo=UTC)
    except ValueError:
        return None
    if not 1970 <= full < 2200 or int(second) > 60:  # no log is of such a time
        return None
    return (int(at.timestamp()) + int(second)) * SECOND


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    size = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * SECOND
    return size if zone[0] == "+" else -size


_TIME_KEYS: Final = (
    *("@timestamp", "timestamp", "time", "ts", "date", "datetime", "asctime", "instant"),
    *("timeMillis", "epochMillis", "eventTime", "@t", "Timestamp"),
)
_LONGEST: Final = 35  # of a time that stands alone
_LIKE_TIME: Final = re.compile(r"(?i)time|date|stamp|^_?ts$|^t$")


def time_in(found: Any) -> Stamp | None:
    """The time that a JSON value says, whatever its layout calls it; of a list, in an entry."""
    if isinstance(found, list):  # a text that has a time among other words is none
        entries = [each for each in found[:2] if not isinstance(each, str) or len(each) <= _LONGEST]
        return next((one for one in map(_time, entries) if one is not None and one.dated), None)
    if not isinstance(found, dict):
        return None
    known = [key for key in _TIME_KEYS if key in found]
    for key in known or filter(_LIKE_TIME.search, found):
        stamp = _time(found[key])
        if stamp is not None and (stamp.dated or known):
            return stamp
    inner = (time_in(each) for each in found.values() if isinstance(each, dict))
    return next((stamp for stamp in inner if stamp is not None), None)


def _time(value: Any) -> Stamp | None:
    if isinstance(value, str):
        return next(stamps_in(value), None)
    if isinstance(value, dict) and isinstance(value.get("epochSecond"), int):
        nanos = value.get("nanoOfSecond", 0)
        whole = value["epochSecond"] * SECOND
        return Stamp(whole + (nanos if isinstance(nanos, int) else 0) // 1000, 0)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since_epoch(value)
    return None


def _since_epoch(value: float) -> Stamp | None:
    for unit in (SECOND, 1_000, 1, 0.001):  # seconds, or finer
        at = value * unit
        if 1e15 <= at < 5e15:  # 2001 to 2128
            return Stamp(round(at), 0)
    return None
