"""Journals and client logs to rows of the history, with exactly the columns of its schema.

Times stay epoch microseconds (int): pyarrow casts int64 to `timestamp[us, UTC]` as it is. Rows are
made from what is there: a journal cut off by SIGKILL gives every delivery with `processed_at` null
where the work was not done, and every commit never answered with a null answer.

A client library's threads log to standard error with their own time stamps, so its log has when an
event really was, where callbacks wait for the next poll. librdkafka's lines look like this:

    %4|1763718000.123|SESSTMOUT|member-1#consumer-1| [thrd:main]: Consumer group session timed out …
    %4|1763718000.123|MAXPOLL|member-1#consumer-1| [thrd:main]: Application maximum poll interval …

The Java client's, by `java_log4j2.xml`, have its coordinator and its heartbeats as well:

    2026-11-21T13:59:06.480004 INFO ConsumerCoordinator [Consumer clientId=member-1, …] Group coo…
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final, NamedTuple

from consumers.config import ConsumerConfig, ProducerConfig
from consumers.journal import JournalContent, of_kinds
from consumers.ranges import Runs
from harness.base.stamps import parse_stamp

Frame = Mapping[str, Any]
Row = dict[str, Any]
Rows = dict[str, Iterable[Row]]

# Kinds of frame that are an event of the same name.
_REBALANCES = ("assigned", "revoked", "lost")
_STALLS = ("stall_started", "stall_ended", "callback_stall_started", "callback_stall_ended")
_EVENTS = (*_REBALANCES, *_STALLS, "error", "fatal", "dropped", "closing", "closed")

# Columns of `members` that are a consumer's settings, null for the producer.
_SETTINGS = (
    *("group", "protocol", "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms"),
    *("commit", "auto_commit_interval_ms", "batch_records", "process_us", "assignor"),
    *("instance_id", "settings", "sabotage"),
)
_DELIVERED = ("topic", "partition", "first_offset", "last_offset", "count")
_SENT = ("first_number", "last_number", "first_offset", "last_offset", "first_sent_at")
_UNANSWERED = dict.fromkeys(("first_offset", "last_offset", "last_answered_at", "error"))
_LINE: Final = re.compile(
    r"^%\d\|(?P<at>\d+\.\d+)\|(?P<what>SESSTMOUT|MAXPOLL)\|[^|]*\| (?P<text>.*)"
)
# Each with what finds its duration, the sum of its numbers in milliseconds.
_KINDS: Final = {
    "SESSTMOUT": (
        "session_timed_out",
        re.compile(r"after (\d+) ms without a successful response"),
    ),
    "MAXPOLL": (
        "max_poll_exceeded",
        re.compile(r"Application maximum poll interval \((\d+)ms\) exceeded by (\d+)ms"),
    ),
}


class ClientLogEvent(NamedTuple):
    """One event. `duration_ms`: the silence, or for max_poll_exceeded the time without a poll."""

    # session_timed_out | max_poll_exceeded; of the Java client also coordinator_lost |
    # coordinator_asked | coordinator_found | heartbeat_sent | heartbeat_failed | fetched
    event: str
    at_us: int
    duration_ms: float | None
    text: str


def consumer_rows(
    journal: JournalContent, log: Sequence[ClientLogEvent], config: ConsumerConfig
) -> Rows:
    """Rows of `members` (one), `client_events`, `deliveries` and `commits` of one consumer.

    What grows with a run is read as it is asked for, from a journal that may have millions of
    frames: a delivery once its work was done, those without that at the end, commits likewise. In
    `members`, `end` is "closed" or "failed" by what the journal says, else null: only the
    harness knows whether it killed the process.
    """
    frames = journal.frames
    member = _member_row(journal, config)
    member |= {name: getattr(config, name) for name in ("client", *_SETTINGS)}
    member["settings"] = json.dumps(config.settings)
    events = [*_journal_events(frames), *_logged_events(frames, log)]
    events.sort(key=lambda row: row["observed_at"])  # stable: the order of a log is kept
    return {
        "members": [member],
        "client_events": [{"member": config.member, **row} for row in events],
        "deliveries": ({"member": config.member, **row} for row in _deliveries(frames)),
        "commits": ({"member": config.member, **row} for row in _commits(frames, config.commit)),
    }


def producer_rows(journal: JournalContent, config: ProducerConfig) -> Rows:
    """Rows of `members` (one) and `sends` of the producer.

    What a producer that did not close had sent without an answer is unanswered as well; its last
    burst counts as sent whole, for its journal cannot tell how much of it was.
    """
    member = _member_row(journal, config) | dict.fromkeys(_SETTINGS)
    return {"members": [member], "sends": _sends(journal.frames, config.topic)}


def _member_row(journal: JournalContent, config: ConsumerConfig | ProducerConfig) -> Row:
    frames = journal.frames
    started = _first(frames, "started")
    versions = started["versions"] if started else {}
    header = _first(frames, "header")
    ended = _first(frames, "closed", "fatal")
    ends = {"closed": "closed", "fatal": "failed"}
    return {
        "member": config.member,
        "role": config.role,
        "client": "librdkafka",
        "client_version": " ".join(f"{name} {version}" for name, version in versions.items())
        or None,
        "lane": config.lane,
        "pid": header["pid"] if header else None,
        "started_at": header["at"] if header else None,
        "told_at": None,  # of programs without a journal
        "ended_at": ended["at"] if ended else None,
        "end": ends[ended["kind"]] if ended else None,
        "exit_code": None,
        "journal_frames": len(frames),
        "journal_torn": journal.torn,
    }


# Client events


def _event(name: str, at: int, known: Frame, **more: Any) -> Row:
    """Of what the member was `known` as, by its last rebalance: an empty frame if there is none."""
    about = {column: known.get(column) for column in ("member_id", "generation")}
    about |= dict.fromkeys(("partitions", "duration_ms", "detail"))
    return {"event": name, "event_at": at, "observed_at": at, **about, **more}


def _journal_events(frames: Iterable[Frame]) -> list[Row]:
    rows = []
    known: Frame = {}
    for frame in of_kinds(frames, *_EVENTS):
        if frame["kind"] in _REBALANCES:
            known = frame
        rows.append(_event(frame["kind"], frame["at"], known) | _of_kind(frame))
    return rows


def _of_kind(frame: Frame) -> Row:
    """The columns that differ from kind to kind of event."""
    kind = frame["kind"]
    if kind in _REBALANCES:
        return {
            "partitions": [{"topic": topic, "partition": n} for topic, n in frame["partitions"]]
        }
    if kind == "stall_started":
        # The stall is what the group sees of it: it begins when the last poll returned.
        return {"event_at": frame["polled_at"], "duration_ms": float(frame["duration_ms"])}
    if kind in _STALLS:
        return {"duration_ms": float(frame["duration_ms"])}
    if kind in ("error", "fatal"):
        named = f"{frame['name']} ({frame['code']}): " if "name" in frame else ""
        detail = f"{frame.get('where', 'process')}: {named}{frame['text']}"
        return {"event": "error", "detail": detail}
    if kind == "dropped":
        # Not a delivery: the application left these records to the partition's next owner.
        dropped = ", ".join(
            f"{topic}-{part} {first}..{last}" for topic, part, first, last, _ in frame["ranges"]
        )
        detail = f"poll {frame['poll']} returned records of partitions just given up: {dropped}"
        return {"event": "error", "detail": detail}
    return {"detail": frame.get("why")}


def _logged_events(frames: Sequence[Frame], log: Iterable[ClientLogEvent]) -> list[Row]:
    rows = []
    rebalances = list(of_kinds(frames, *_REBALANCES))
    # Each frame's time, or an earlier one after it if the clock was set back: in this order the
    # last frame not after a moment is found without a look at each.
    no_later = list(accumulate((frame["at"] for frame in reversed(rebalances)), min))[::-1]
    for event, at_us, duration_ms, text in log:
        number = bisect_right(no_later, at_us) - 1
        known: Frame = rebalances[number] if number >= 0 else {}
        # Observed when the library wrote it down: no poll was needed for that.
        rows.append(_event(event, at_us, known, duration_ms=duration_ms, detail=text))
    return rows


# Deliveries and commits


def _deliveries(frames: Iterable[Frame]) -> Iterator[Row]:
    waiting: dict[int, list[Row]] = {}  # poll to its rows, until the work on them is done
    for frame in of_kinds(frames, "delivered", "processed"):
        if frame["kind"] == "delivered":
            yield from waiting.pop(frame["poll"], ())  # no poll has the number of another
            about = {name: frame[name] for name in ("poll", "member_id", "generation", "polled_at")}
            waiting[frame["poll"]] = [
                {**about, **dict(zip(_DELIVERED, found, strict=True)), "processed_at": None}
                for found in frame["ranges"]
            ]
        else:
            for row in waiting.pop(frame["poll"], []):
                yield {**row, "processed_at": frame["at"]}
    for rows in waiting.values():
        yield from rows


def _commits(frames: Iterable[Frame], policy: str) -> Iterator[Row]:
    open_rows: dict[int, dict[tuple[str, int], Row]] = {}
    for frame in of_kinds(frames, "commit_asked", "commit_answered"):
        if frame["kind"] == "commit_asked":
            yield from open_rows.pop(frame["id"], {}).values()
            open_rows[frame["id"]] = {
                (topic, partition): _asked(frame, topic, partition, committed)
                for topic, partition, committed in frame["offsets"]
            }
        elif frame["id"] is None:
            # The library asked by itself, so only the answer's time is known.
            for *place, code, name in frame["results"]:
                answer = {"answered_at": frame["at"], "error_code": code, "error": name}
                yield _asked({**frame, "how": policy}, *place) | {"asked_at": None} | answer
        else:
            asked = open_rows.pop(frame["id"], {})
            for topic, partition, _committed, code, name in frame["results"]:
                if (row := asked.get((topic, partition))) is not None:
                    row |= {"answered_at": frame["at"], "error_code": code, "error": name}
            yield from asked.values()
    for left in open_rows.values():
        yield from left.values()


def _asked(frame: Frame, topic: str, partition: int, committed: int) -> Row:
    return {
        **{name: frame[name] for name in ("how", "member_id", "generation")},
        "topic": topic,
        "partition": partition,
        "committed": committed,
        "asked_at": frame["at"],
        **dict.fromkeys(("answered_at", "error_code", "error")),
    }


# The producer


def _sends(frames: Iterable[Frame], topic: str) -> Iterator[Row]:
    answered = Runs()
    sent: Sequence[int] | None = None
    named = []
    closed = False
    for frame in frames:
        match frame["kind"]:
            case "acknowledged" | "failed":
                row = _send(frame, topic)
                yield row
                answered.add(row["partition"], row["first_number"], row["last_number"])
            case "sending":
                sent = frame["sent"]
            case "unanswered":
                named.append((frame["partition"], frame["first_number"], frame["last_number"]))
            case "closed":
                closed = True
    if sent is None:
        return
    # A producer that closed says itself what is unanswered: its last burst may have been cut short.
    derived = (
        (partition, first, last)
        for partition, count in enumerate(sent)
        for first, last in answered.gaps(partition, count)
    )
    missing = list(named if closed else derived)
    sent_at = _sent_at(frames, [(partition, first) for partition, first, _ in missing])
    for partition, first, last in missing:
        about = {"partition": partition, "first_sent_at": sent_at[partition, first]}
        numbers = {"first_number": first, "last_number": last}
        yield _send({"kind": "unanswered", **about, **numbers, **_UNANSWERED}, topic)


def _send(frame: Frame, topic: str) -> Row:
    return {
        "topic": topic,
        "partition": frame["partition"],
        "outcome": frame["kind"],
        "count": frame["last_number"] - frame["first_number"] + 1,
        **{name: frame[name] for name in (*_SENT, "last_answered_at", "error")},
    }


def _sent_at(
    frames: Iterable[Frame], records: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """When each of these records, by partition and number, was sent first; in one reading."""
    waiting: dict[int, list[int]] = {}
    for partition, number in sorted(records, reverse=True):
        waiting.setdefault(partition, []).append(number)  # the smallest last
    found: dict[tuple[int, int], int] = {}
    for frame in of_kinds(frames, "sending") if waiting else ():
        for partition, numbers in list(waiting.items()):
            # A topic may have grown since, so an earlier frame may have fewer partitions.
            sent = sum(frame["sent"][partition : partition + 1])
            while numbers and sent > numbers[-1]:
                found[partition, numbers.pop()] = frame["at"]
            if not numbers:
                del waiting[partition]
        if not waiting:
            break
    return found


def _first(frames: Iterable[Frame], *kinds: str) -> Frame | None:
    return next(of_kinds(frames, *kinds), None)


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
    """The events in `lines`, in order. A session timed out and a coordinator given up are two."""
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
    """The events in `lines`, in order; `duration_ms` is None where the words have changed."""
    events = []
    for found in filter(None, map(_LINE.match, lines)):
        event, pattern = _KINDS[found["what"]]
        text = found["text"].strip()
        took = pattern.search(text)
        duration_ms = float(sum(map(int, took.groups()))) if took else None
        at_us = int(Decimal(found["at"]) * 1_000_000)
        events.append(ClientLogEvent(event, at_us, duration_ms, text))
    return events
