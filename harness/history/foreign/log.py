"""A log of a user's broker or client: what its lines say, and why it may be of no use."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

from harness.base.paths import here
from harness.history.foreign.lines import Message
from harness.history.foreign.log_stamps import DAY, SECOND, Stamp

# Words of clients of which no lines are read: they say who wrote a log that is of no use.
_OTHERS: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        (
            "kafka-python or aiokafka",
            (
                rb"(?<![\w.])(?:kafka\.coordinator(?:\.(?:base|consumer|heartbeat))?(?![\w.])"
                rb"|aiokafka\b)|Heartbeat session expired|local member_id was not recognized"
            ),
        ),
        ("Sarama", rb"(?i)\bsarama\b"),
        ("franz-go", rb"\bfranz-go\b|\bkgo\b"),
        ("kafka-go", rb"\bkafka-go\b"),
    )
)
_READ: Final = (b"[Consumer clientId=", b"[Consumer instanceId=", b"[thrd:", b'"kafkajs"')
_NAME_BROKERS: Final = "name the brokers' logs, server.log or what their containers print"
# What a file's name has more once it is rotated or packed.
_ROTATED: Final = re.compile(
    r"(?:[-._]\d{4}-\d\d-\d\d(?:[-T_.]\d+)*(?=\.|$)|\.\d+(?=\.|$)|\.(?:gz|bz2|xz|zst|lz4)$)"
)
_LISTENED: Final = 16  # blocks
_EXAMPLES: Final = 3  # of lines that are not known
_SHOWN: Final = 300  # characters of one
_QUARTER: Final = 900 * SECOND  # offsets of time zones are multiples of it


@dataclass(slots=True)
class Event:
    """What one line says; `event` as in `coordinator_events`, and a few more.

    Those of clients begin with client_ and name no broker; of librdkafka's many name no group.
    """

    at: int
    broker: int | None
    event: str
    group: str | None = None
    generation: int | None = None
    member_id: str | None = None
    members: int | None = None
    instance_id: str | None = None
    reason: str | None = None
    client_reason: str | None = None
    other_id: str | None = None
    client_id: str | None = None  # of a client's line, as what follows
    handle: str | None = None  # of librdkafka, such as c-1#consumer-1
    place: str = ""  # the pod, container or host, if the line names it
    who: str = ""  # the member
    log: int = 0  # number of the file
    line: int = 0


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


def file_of(path: Path) -> str:
    """What a log is called, whatever its rotated parts have behind that."""
    name = path.name
    while (shorter := _ROTATED.sub("", name)) not in (name, ""):
        name = shorter
    return here(path.parent / name)


@dataclass
class Log:
    """A file that was read, and what of it is known."""

    path: Path
    lines: int = 0
    marked: int = 0  # lines of a coordinator
    of_clients: int = 0  # lines of clients that may say something
    untimed: int = 0  # of these, in known words and without a time
    client: str = ""  # whose client wrote it, if its words are not known
    silent: bool = False  # a client wrote it whose words are known
    used: int = 0  # those that are understood, each once
    twice: int = 0  # those that another file has too
    clients: int = 0  # of whom it says who they are, as a request log
    unread: int = 0  # of a coordinator, and cut off or without a time
    unknown: int = 0  # of a coordinator, in words that are not known
    examples: list[str] = field(default_factory=list)  # of those
    first_at: int | None = None
    last_at: int | None = None
    clock: Clock = field(default_factory=Clock)
    brokers: set[int] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    kafka: bool = False
    broker: bool = False
    damage: list[str] = field(default_factory=list)
    heard: int = 0  # blocks in which a client's words were looked for
    process: str = ""  # whose lines a client's log has, if they do not say so themselves

    def __post_init__(self) -> None:
        self.process = self.process or file_of(self.path)

    @property
    def lacks(self) -> str | None:
        """Why it is of no use, as the end of a sentence; None if it is."""
        return None if self.used or self.twice or self.clients else self.useless[0]

    @property
    def useless(self) -> tuple[str, str]:
        """Why nothing of it is about a group, as the end of a sentence, and what to do about it."""
        if not self.lines:
            return self.damage[0] if self.damage else "is empty", _NAME_BROKERS
        broker = self.broker or self.marked or self.clients
        if not broker and (self.of_clients or self.client or self.silent):
            return self._useless_of_clients
        if self.unknown:
            remedy = "report them with this version, so that they will be read"
        elif broker:
            remedy = (
                "name the logs of all brokers, written with org.apache.kafka.coordinator.group "
                "(Kafka 3.x: kafka.coordinator.group.GroupCoordinator) at INFO, which is Kafka's "
                "default"
            )
        else:
            remedy = _NAME_BROKERS
        if self.unread and not self.kafka:
            return "has lines of a coordinator without a time, or none that is whole", remedy
        if self.unknown:
            why = "has lines of the group coordinator in words that are not known here"
            return f"{why}{self.whose}", remedy
        if broker:
            return "has no INFO lines of the group coordinator", remedy
        more = ", but a controller's or client's" if self.kafka else ""
        return f"is no broker's log{more}", remedy

    @property
    def _useless_of_clients(self) -> tuple[str, str]:
        if self.client and not self.silent:
            why = f"is a log of {self.client}, and the words of that client are not known here"
            remedy = "report its lines, so that they will be read, or name the brokers' logs"
        else:
            why = "is a client's log, and none of its lines is about its group"
            remedy = (
                "name logs of Java's client with org.apache.kafka.clients.consumer at INFO, of "
                "librdkafka with debug=cgrp, of KafkaJS at INFO, or of the brokers"
            )
        if self.untimed:
            why = "has lines of clients in known words, and none of them has a time"
            remedy = "name a log with the times of its lines"
        elif self.of_clients and self.unread:
            why = "has lines of clients, and all of them are cut off"
        return why, remedy

    def listen(self, block: bytes) -> None:
        """Note which client wrote this, where no line of it is read; its beginning shows that."""
        self.heard += 1
        if self.heard > _LISTENED:
            return
        if not self.client:
            found = (name for name, pattern in _OTHERS if pattern.search(block))
            self.client = next(found, "")
        self.silent = self.silent or any(words in block for words in _READ)

    @property
    def whose(self) -> str:
        """The version of Kafka that the log shows, in brackets."""
        return f" (Kafka {', '.join(sorted(self.versions))})" if self.versions else ""

    def wonder_at(self, message: str) -> None:
        """Count a line of a coordinator in words that are not known."""
        self.unknown += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(message[:_SHOWN])
