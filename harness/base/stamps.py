"""Stamps of log lines, as brokers and the Java client are set to write them."""

from datetime import UTC, datetime
from typing import Final

_STAMP_LENGTH: Final = len("2026-11-21T09:36:07.834320")


def parse_stamp(text: str) -> int:
    """Microseconds since the epoch of a log line's stamp (UTC).

    Raises ValueError where there is none, or one that is not in microseconds.
    """
    if not text[_STAMP_LENGTH : _STAMP_LENGTH + 1].isspace():
        raise ValueError(f"no stamp in microseconds: {text[: _STAMP_LENGTH + 4]!r}")
    moment = datetime.strptime(text[:_STAMP_LENGTH], "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
