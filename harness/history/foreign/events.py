"""From files to events: what coordinators and clients logged, in order of time, each line once."""

import json
import re
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import tzinfo
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

from harness.base.errors import BadInput, NoData
from harness.base.paths import here
from harness.base.progress import Steps, unheard
from harness.history.broker_log import CALL, MARK, UNREADABLE, Row, texts_in
from harness.history.coordinator_log import LAST_LINES, departed_at
from harness.history.foreign import client_processes, client_words
from harness.history.foreign.clients import CLIENT_CALLS, MEMBER_ID, KnownClient, client_of
from harness.history.foreign.lines import Message, Page, calls_in, messages_in, plain
from harness.history.foreign.log import Clock
from harness.history.foreign.log import Event as Event
from harness.history.foreign.log import Log as Log
from harness.history.foreign.log_files import BLOCK, blocks_of
from harness.history.foreign.log_stamps import stamps_in
from harness.history.foreign.wordings import is_known, row_of, with_marks

_MARK: Final = MARK.encode()
_OF_CLIENT: Final = client_words.MARKED.encode()
_CALL: Final = CALL.encode()
_VERSION: Final = re.compile(rb"Kafka version: (\d[\w.-]*)")
# What a broker's log has and no other; a controller's has the second alone.
_BROKER: Final = (
    *(b"(kafka.", b"[BrokerServer id=", b"[KafkaServer id=", b"[ReplicaManager broker="),
    b'"requestApiKeyName":',  # a log of requests, whatever pattern its lines have
)
_KAFKA: Final = (b"org.apache.kafka.", b"[QuorumController id=", b"[ControllerServer id=")
_FINER: Final = (b"DEBUG", b"TRACE")  # levels that are not Kafka's default
_FIRST: Final = "removing it from the group"  # 2.x writes it before what comes of it
_SAID: Final = [field.name for field in fields(Event)][1:13]  # what a row may have, from broker on
_MB: Final = 1_000_000
_ENOUGH: Final = 64  # events that show whether a log begins with the newest
_LOOKED_AT: Final = 200  # lines of a block in which a stamp is looked for


@dataclass
class Read:
    logs: list[Log]
    events: list[Event]
    clients: dict[str, KnownClient]  # by member id

    def place(self, event: Event) -> str:
        """The file and line of an event; without its folder where no other file has the name."""
        return f"{self.names[event.log]}:{event.line}"

    @cached_property
    def names(self) -> list[str]:
        count = Counter(log.path.name for log in self.logs)
        paths = [log.path for log in self.logs]
        return [path.name if count[path.name] == 1 else here(path) for path in paths]


def read(paths: Sequence[Path], zone: tzinfo | None = None, steps: Steps = unheard) -> Read:
    """The events of these files. Stamps that say no time zone are of `zone`, or taken as UTC.

    `steps` hears how many MB of the files are read. Raises BadInput where one cannot be opened.
    """
    found: list[tuple[Log, list[tuple[Event, int]]]] = []
    clients: dict[str, KnownClient] = {}
    said: list[str] = []
    logs = [Log(path, clock=Clock(zone)) for path in paths]
    sizes = [path.stat().st_size for path in paths]
    for number, log in enumerate(logs):
        reader, got = _LogReader(log, number, clients, said), 0
        try:
            for block, ended in blocks_of(log.path, log.damage.append):
                done, got = sum(sizes[:number]) + min(got, sizes[number]), got + len(block)
                steps("MB of logs are read", done // _MB, sum(sizes) // _MB)
                reader.take(block, ended=ended)
            reader.done()
        except OSError as error:
            raise BadInput(
                f"{here(log.path)} cannot be read ({error.strerror or error}): check its "
                "permissions"
            ) from error
        found.append((log, reader.found))
    found.sort(key=lambda each: each[0].first_at or 0)  # what happened at once stays in order
    client_processes.once(found)
    events = _each_once(found)
    events.sort(key=lambda event: event.at)
    for text in said:
        _forget(events, text, logs)
    if any(event.broker is None for event in events):
        client_processes.name_groups(events)
        events = client_processes.without_repeats(events)
        clients |= client_processes.tell_apart(events, logs)
    return Read(logs, events, clients)


def check(found: Read, group: str | None = None) -> None:
    """Raise NoData where no log is about a group, or none of this one."""
    names = {event.group for event in found.events if event.group}
    if not names and not (group is None and any(event.broker is None for event in found.events)):
        log = found.logs[0]
        more = f", and {len(found.logs) - 1} more" if len(found.logs) > 1 else ""
        why, remedy = log.useless
        raise NoData(f"{here(log.path)} {why}{more}: {remedy}")
    if group is not None and group not in names:
        near = get_close_matches(group, names, n=1) or sorted(names)[:3]
        raise NoData(
            f"these logs have no line about the group {group!r}; there are {', '.join(near)}"
            if len(near) > 1
            else f"these logs have no line about the group {group!r}: did you mean {near[0]!r}?"
        )


def _forget(events: list[Event], said: str, logs: list[Log]) -> None:
    """Leave out what a client has said: its lines look like a coordinator's, which repeats them.

    Of equal ones the last is the client's: it has read the other one.
    """
    for text in said.split("\n"):
        line = next(messages_in(text), None)
        row = _row(line.message) if line is not None else None
        if line is None or row is None:
            continue
        said_of = (row["event"], row.get("group"), row.get("member_id"), row.get("generation"))
        for place in range(len(events) - 1, -1, -1):
            event, log = events[place], logs[events[place].log]
            found = (event.event, event.group, event.member_id, event.generation)
            if said_of == found and event.at == log.clock.at(line):
                del events[place]
                log.used -= 1
                break


def _each_once(found: Iterable[tuple[Log, list[tuple[Event, int]]]]) -> list[Event]:
    """The events of all files: a coordinator's line counts as often as the file has it most.

    Those of clients are each other's copies in whole files only, which are left out before.
    """
    events: list[Event] = []
    seen: dict[int, int] = {}
    for log, read in found:
        here_seen: dict[int, int] = {}
        for event, key in read:
            if event.broker is not None:
                here_seen[key] = here_seen.get(key, 0) + 1
                if here_seen[key] <= seen.get(key, 0):
                    log.twice += 1
                    continue
            log.used += 1
            events.append(event)
        for key, count in here_seen.items():
            seen[key] = max(seen.get(key, 0), count)
        read.clear()
    return events


class _LogReader:
    def __init__(
        self, log: Log, number: int, clients: dict[str, KnownClient], said: list[str]
    ) -> None:
        self._log = log
        self._said = said  # what clients say that looks like a coordinator's line
        self._number = number
        self._clients = clients
        self._before: defaultdict[str, deque[Row]] = defaultdict(LAST_LINES)
        self._groups: set[str | None] = set()  # that were named so far
        self._rest = b""  # lines that are needed once more with the next block, and
        self._again = 0  # how many of them are read
        self._held: list[tuple[Row, int, int]] | None = []  # until it is known which way time goes
        self.found: list[tuple[Event, int]] = []

    def take(self, block: bytes, *, ended: bool) -> None:
        block = self._rest + client_words.with_marks(with_marks(block))
        keep, until = _finished(block) if ended else (len(block), len(block))
        self._read_block(block, until, ended=ended)
        self._again = block.count(b"\n", keep, until)
        self._rest = block[keep:]
        self._log.lines += block.count(b"\n", 0, keep) + (not ended)

    def done(self) -> None:
        self._read_block(self._rest, len(self._rest), ended=True)
        self._log.lines += self._rest.count(b"\n")
        held, self._held = self._held or [], None
        for row, at, number in reversed(held) if _newest_first(held) else held:
            self._keep(row, at, number)

    def _read_block(self, block: bytes, until: int, *, ended: bool) -> None:
        log = self._log
        if not log.broker:
            log.broker = any(mark in block for mark in _BROKER)
            log.kafka = log.kafka or log.broker or any(mark in block for mark in _KAFKA)
        if not (log.broker or self.found):
            log.listen(block)
        if b"Kafka version: " in block:
            log.versions.update(each.decode() for each in _VERSION.findall(block))
        calls = b'"' in block and b"requestApiKeyName" in block
        if calls or _MARK in block:
            lines = block.split(b"\n")
            page = Page(lines)
            stop = len(lines) if until == len(block) else block.count(b"\n", 0, until)
            for index in range(self._again, stop) if calls else _marked(block, self._again, stop):
                line = lines[index]
                # A coordinator's line has the mark before what looks like a request.
                if calls and (_MARK not in line or 0 <= line.find(_CALL) < line.find(_MARK)):
                    of_many = calls_in(line)
                    for call in of_many or [line]:
                        self._hear(call)
                    if not of_many or _MARK not in line:
                        continue
                cut = not ended and index == len(lines) - 1
                self._read(page.messages(index), line, log.lines + index + 1, cut=cut)
        self._look_at_times(block)

    def _look_at_times(self, block: bytes) -> None:
        log = self._log
        if log.first_at is None:
            head = block[: 1 << 16].split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
            log.first_at = self._first_time(head)
        tail = block[-(1 << 14) :].split(b"\n")
        last = self._first_time(reversed(tail))
        if last is not None:
            log.last_at = max(last, log.last_at or last)

    def _first_time(self, lines: Iterable[bytes]) -> int | None:
        for line in islice(lines, _LOOKED_AT):
            text = line[:400].decode("utf-8", "replace")
            stamps = [stamp for stamp in islice(stamps_in(text), 2) if stamp.dated]
            if stamps:
                shown = stamps[0] if stamps[0].offset_us is not None else stamps[-1]
                return self._log.clock.utc(shown)
        return None

    def _read(self, found: list[list[Message]], raw: bytes, number: int, *, cut: bool) -> None:
        """Read the messages of a line, each in the likeliest way that says something known."""
        if _OF_CLIENT in raw:
            self._log.of_clients += max(1, len(found))
        else:
            self._log.marked += max(1, len(found))
        self._log.unread += not found
        for ways in found:
            read = [(way, said) for way in ways if (said := _row(way.message)) is not None]
            if len(read) > 1:
                read = [min(read, key=self._likely)]
            line, row = read[0] if read else (ways[0], None)
            if row is None:
                self._pass_over(line, raw, number, cut=cut)
                continue
            of_client = row["broker"] is None
            if of_client:
                # Of a document with many messages it is not known which place is whose.
                row["place"] = client_processes.place_of(raw) if len(found) == 1 else ""
                if line.stamp is None and line.shipped is None:
                    line = line._replace(stamp=client_words.stamp_in(line.message))
            at = self._log.clock.at(line)
            whole = not line.open and (not cut or line.whole or line.message[-1:] in ".)")
            if at is not None and whole:
                self._add(row, at, number)
            else:
                self._log.unread += 1
                self._log.untimed += at is None and of_client

    def _pass_over(self, line: Message, raw: bytes, number: int, *, cut: bool) -> None:
        """Count a message that says nothing, unless it is known to, and read what begins in it."""
        if line.message.startswith(client_words.MARKED):
            return
        part = (cut and not line.whole) or line.open
        self._log.unread += part
        known = part or self._read_what_begins_within(raw, number)
        if not (known or is_known(line.message) or any(each in raw for each in _FINER)):
            self._log.wonder_at(line.message)

    def _likely(self, way: tuple[Message, Row]) -> tuple[bool, int]:
        """A group that was named before goes first, then ids with fewer blanks.

        A wrapped line that is joined wrongly has a blank too many, or one too few.
        """
        row = way[1]
        blanks = sum((row.get(name) or "").count(" ") for name in ("group", "member_id"))
        return row.get("group") not in self._groups, blanks

    def _read_what_begins_within(self, raw: bytes, number: int) -> bool:
        """A broker that is killed while it writes, and started again, goes on behind its half."""
        _, _, rest = raw.partition(_MARK)
        if _MARK not in rest:
            return False
        line = next(messages_in(rest.decode("utf-8", "replace")), None)
        row = _row(line.message) if line is not None else None
        at = self._log.clock.at(line) if line is not None else None
        self._log.unread += 1
        if row is not None and at is not None:
            self._add(row, at, number)
        return True

    def _add(self, row: Row, at: int, number: int) -> None:
        self._groups.add(row.get("group"))
        if self._held is None:
            self._keep(row, at, number)
            return
        self._held.append((row, at, number))
        if len(self._held) == _ENOUGH and not _newest_first(self._held):
            held, self._held = self._held, None
            for each in held:
                self._keep(*each)

    def _keep(self, row: Row, at: int, number: int) -> None:
        log, broker, group = self._log, row["broker"], row.get("group")
        if broker is not None:
            log.brokers.add(broker)
        if broker is not None and group is not None:
            before = self._before[group]
            if row["event"] == "left" and not row["text"].endswith(_FIRST):
                at = departed_at(row, before) or at
            row["at"] = at
            before.append(row)
        log.first_at = at if log.first_at is None else min(log.first_at, at)
        log.last_at = at if log.last_at is None else max(log.last_at, at)
        said: Any = map(row.get, _SAID)
        event = Event(at, *said)
        event.log, event.line, event.place = self._number, number, row.get("place", "")
        event.group = group and sys.intern(group)  # they stand in many lines
        event.member_id = event.member_id and sys.intern(event.member_id)
        self.found.append((event, hash((broker, event.place, at, row["text"]))))
        if event.member_id and ("client_id" in row or "host" in row):
            client = self._clients.setdefault(event.member_id, KnownClient())
            client.learn(client_id=row.get("client_id"), host=row.get("host"))

    def _hear(self, raw: bytes) -> None:
        """A request, which says who a client is, and what it says."""
        if CLIENT_CALLS.search(raw):
            self._know(raw)
        if _MARK not in raw:
            return
        _, _, body = raw.decode("utf-8", "replace").partition(CALL)
        try:
            self._said.extend(texts_in(json.loads(body)))
        except (ValueError, RecursionError):
            self._log.unread += 1

    def _know(self, raw: bytes) -> None:
        named = MEMBER_ID.search(raw)
        if named and named[1].decode("utf-8", "replace") in self._clients:
            return
        try:
            member_id, client = client_of(raw.decode("utf-8", "replace"))
        except UNREADABLE:
            return
        if member_id:
            self._log.clients += 1
            self._clients.setdefault(member_id, KnownClient()).learn(**vars(client))


def _finished(block: bytes) -> tuple[int, int]:
    """From where on a block is needed with the next one, and up to where it can be read now.

    What belongs to the last message in it may stand in the next one.
    """
    at = block.rfind(_MARK)
    begin = block.rfind(b"\n", 0, max(at, 0)) + 1
    line = plain(block[begin:].partition(b"\n")[0].decode("utf-8", "replace")) if at >= 0 else None
    before = block.rfind(_MARK, 0, begin)
    keep = block.find(b"\n", before) + 1 if before >= 0 else 0
    if at < 0 or (line is not None and line.whole) or len(block) - keep > BLOCK:
        return len(block), len(block)
    return keep, begin


def _marked(block: bytes, first: int, stop: int) -> list[int]:
    """The numbers of the lines that have a mark; to look into each line took longest of all."""
    found: list[int] = []
    number = begin = 0
    at = block.find(_MARK)
    while at >= 0:
        number += block.count(b"\n", begin, at)
        if number >= stop:
            break
        if number >= first and found[-1:] != [number]:
            found.append(number)
        begin, at = at, block.find(_MARK, at + 1)
    return found


def _newest_first(held: list[tuple[Row, int, int]]) -> bool:
    steps = Counter(
        (later > earlier) - (later < earlier) for (_, earlier, _), (_, later, _) in pairwise(held)
    )
    return steps[-1] > steps[1]


def _row(message: str) -> Row | None:
    try:
        return row_of(message) or client_words.row_of(message)
    except ValueError:  # a number of more digits than Python takes
        return None
