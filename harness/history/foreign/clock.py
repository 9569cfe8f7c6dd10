"""What the stamps of one log mean."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from harness.history.foreign.lines import Message
from harness.history.foreign.log_stamps import DAY, SECOND, Stamp

_QUARTER: Final = 900 * SECOND  # offsets of time zones are multiples of it


class Clock:
    """What the stamps of one log mean: without a zone they have the one given, or the one shown.

    A log shipper writes UTC beside Kafka's own stamp, which gives its offset away.
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self.zone = zone  # for stamps that say none
        self._offsets: dict[int, int] = {}  # by hour of the local clock
        self._shown: int | None = None
        self._latest: int | None = None  # of stamps without a date
        self.said = self.assumed = self.undated = False

    def at(self, line: Message) -> int | None:
        """UTC in microseconds; None of a line without a time."""
        own, shipped = line.stamp, line.shipped
        if own is None or (shipped is not None and shipped.dated > own.dated):
            own = shipped
        if own is None:
            return None
        if not own.dated:
            self._latest = self._nearest(own)
            own = own._replace(local_us=self._latest)
        if own.offset_us is not None:
            self.said = True
            return own.at
        if self.zone is None and shipped is not None and shipped.offset_us is not None:
            if self._shown is None:
                self._shown = round((own.local_us - shipped.at) / _QUARTER) * _QUARTER
            self.said = True
            return own.local_us - self._shown
        return self.utc(own)

    def _nearest(self, stamp: Stamp) -> int:
        """A time of day as the one nearest to the one before it: days follow each other."""
        self.undated = True
        if self._latest is None:
            return stamp.local_us
        return stamp.local_us + round((self._latest - stamp.local_us) / DAY) * DAY

    def utc(self, stamp: Stamp) -> int:
        """UTC of a stamp, by the zone given where it says none."""
        if stamp.offset_us is not None:
            return stamp.at
        if self._shown is not None:
            return stamp.local_us - self._shown
        self.assumed = True
        if self.zone is None:
            return stamp.local_us
        hour = stamp.local_us // (3600 * SECOND)
        if hour not in self._offsets:
            local = datetime.fromtimestamp(hour * 3600, UTC).replace(tzinfo=self.zone)
            self._offsets[hour] = round(
                (local.utcoffset() or timedelta()) / timedelta(microseconds=1)
            )
        return stamp.local_us - self._offsets[hour]
