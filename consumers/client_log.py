"""Events that librdkafka notices while the application is not looking, from its own log.

librdkafka's threads log to standard error with their own time stamp, so these lines tell when an
event really was, where callbacks wait for the next poll. The lines read look like this:

    %4|1763718000.123|SESSTMOUT|member-1#consumer-1| [thrd:main]: Consumer group session timed out …
    %4|1763718000.123|MAXPOLL|member-1#consumer-1| [thrd:main]: Application maximum poll interval …
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    r"^%(?P<level>\d)\|(?P<at>\d+\.\d+)\|(?P<what>[A-Z]+)\|[^|]*\| (?P<text>.*)"
)
_SILENCE: Final = re.compile(r"after (?P<ms>\d+) ms without a successful response")
_EXCEEDED: Final = re.compile(
    r"Application maximum poll interval \((?P<limit>\d+)ms\) exceeded by (?P<by>\d+)ms"
)


class ClientLogEvent(NamedTuple):
    """One event. `duration_ms`: the silence, or for max_poll_exceeded the time without a poll."""

    event: str  # session_timed_out | max_poll_exceeded
    at_us: int
    duration_ms: float | None
    text: str


def parse_librdkafka_log(lines: Iterable[str]) -> list[ClientLogEvent]:
    """The events in `lines`, in their order; any other line is passed over.

    A line whose words have changed is still an event, with `duration_ms` None.
    """
    return [event for line in lines if (event := _event(line)) is not None]


def _event(line: str) -> ClientLogEvent | None:
    if (found := _LINE.match(line)) is None:
        return None
    at_us = int(Decimal(found["at"]) * 1_000_000)
    text = found["text"].strip()
    match found["what"]:
        case "SESSTMOUT":
            silence = _SILENCE.search(text)
            duration = float(silence["ms"]) if silence else None
            return ClientLogEvent("session_timed_out", at_us, duration, text)
        case "MAXPOLL":
            over = _EXCEEDED.search(text)
            duration = float(int(over["limit"]) + int(over["by"])) if over else None
            return ClientLogEvent("max_poll_exceeded", at_us, duration, text)
        case _:
            return None
