"""Events that a client library notices while the application is not looking, from its own log.

The library's threads log to standard error with their own time stamp, so these lines tell when an
event really was, where callbacks wait for the next poll. librdkafka's lines look like this:

    %4|1763718000.123|SESSTMOUT|member-1#consumer-1| [thrd:main]: Consumer group session timed out …
    %4|1763718000.123|MAXPOLL|member-1#consumer-1| [thrd:main]: Application maximum poll interval …

The Java client's, by `java_log4j2.xml`, tell of its coordinator and its heartbeats as well:

    2026-11-21T13:59:06.480004 INFO ConsumerCoordinator [Consumer clientId=member-1, …] Group coo…
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NamedTuple

from harness.base.stamps import parse_stamp

_LINE: Final = re.compile(
    r"^%(?P<level>\d)\|(?P<at>\d+\.\d+)\|(?P<what>[A-Z]+)\|[^|]*\| (?P<text>.*)"
)
_SILENCE: Final = re.compile(r"after (?P<ms>\d+) ms without a successful response")
_EXCEEDED: Final = re.compile(
    r"Application maximum poll interval \((?P<limit>\d+)ms\) exceeded by (?P<by>\d+)ms"
)


class ClientLogEvent(NamedTuple):
    """One event. `duration_ms`: the silence, or for max_poll_exceeded the time without a poll."""

    # session_timed_out | max_poll_exceeded; of the Java client also coordinator_lost |
    # coordinator_asked | coordinator_found | heartbeat_sent | heartbeat_failed | fetched
    event: str
    at_us: int
    duration_ms: float | None
    text: str


_JAVA_LINE: Final = re.compile(
    r"^\S+ (?:DEBUG|INFO|WARN) \w+ \[Consumer (?:instanceId=[^]]*, )?clientId=[^]]*\] (?P<text>.*)"
)
# The consumer of KIP-848 begins some of these with a capital.
_JAVA_TEXTS: Final = (
    ("coordinator_lost", re.compile(r"Group coordinator .* is unavailable or invalid")),
    ("coordinator_asked", re.compile(r"Sending FindCoordinator request")),
    ("coordinator_found", re.compile(r"Discovered group coordinator")),
    ("heartbeat_sent", re.compile(r"Sending Heartbeat request")),
    ("heartbeat_failed", re.compile(r"Cancelled in-flight HEARTBEAT request")),
    ("fetched", re.compile(r"Fetch \w+ at offset \d+ for partition \S+ returned fetch data")),
    ("max_poll_exceeded", re.compile(r"[Cc]onsumer poll timeout has expired")),
)
_JAVA_SILENCE: Final = "session timed out without receiving a heartbeat response"


def parse_client_log(client: str, lines: Iterable[str]) -> list[ClientLogEvent]:
    """The events in the log of one consumer, in their order, by its client library."""
    return parse_java_log(lines) if client == "java" else parse_librdkafka_log(lines)


def parse_java_log(lines: Iterable[str]) -> list[ClientLogEvent]:
    """The events in `lines`, in their order; any other line is passed over.

    A session that timed out is two events: that, and the coordinator given up for it.
    """
    events = []
    for line in lines:
        if (found := _JAVA_LINE.match(line)) is None:
            continue
        text = found["text"].strip()
        kinds = [event for event, pattern in _JAVA_TEXTS if pattern.match(text)]
        if _JAVA_SILENCE in text:
            kinds.insert(0, "session_timed_out")
        try:
            events += [ClientLogEvent(kind, parse_stamp(line), None, text) for kind in kinds]
        except ValueError:  # a line cut off by SIGKILL, or of another layout
            continue
    return events


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
