"""Reading the logs of all brokers of a run, each with what is known of its being whole."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from harness.history import manifest, request_log, seals, store
from harness.history.broker_log import Reading, Row, files_of
from harness.history.coordinator_log import read_coordinator_events
from harness.history.schema import HISTORY

REQUESTS: Final = "requests"
SERVER: Final = "server"
BATCH: Final = 5_000  # rows
EVENTS: Final = "coordinator_events"
_NAME: Final = re.compile(rf"broker-(\d+)\.({REQUESTS}|{SERVER})\.log")
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")  # of a topic
# The tables that grow with a run, and by what each is in order.
ORDER: Final = {"requests": "processed_at", "fetches": "answered_at", EVENTS: "at"}


@dataclass(frozen=True)
class About:
    """What a run should have on record, by its manifest and by what its observer looked at."""

    group: str | None = None
    topic: str | None = None
    brokers: tuple[int, ...] = ()
    app: bool = False
    writes: bool = False  # an app shows its work in a topic
    transactions: bool = False

    @classmethod
    def of(cls, run_dir: Path) -> "About":
        """By the run's folder; nothing where there is neither."""
        observer = seals.json_of(run_dir / "journals" / "observer.json")
        declared = seals.json_of(run_dir / manifest.FILE_NAME).get("declared") or {}
        app, group = declared.get("app") or {}, declared.get("group") or {}
        declared_brokers = range(1, 1 + (declared.get("cluster") or {}).get("brokers", 0))
        looked_at = sorted(int(number) for number in observer.get("broker_ports") or ())
        return cls(
            group=observer.get("group"),
            topic=observer.get("topic"),
            brokers=tuple(looked_at or declared_brokers),
            app=bool(app),
            writes=bool((app.get("effects") or {}).get("output_topic")),
            transactions=group.get("commit") == "transaction",
        )


def collect(
    folder: Path,
    about: About,
    sealed: Mapping[str, Any],
    rows: store.Kept,
    name: Callable[[str, Row], None] | None = None,
) -> None:
    """Add the rows of `requests`, `fetches`, `coordinator_events` and `logs`.

    `about` says whose logs should be there, and `sealed` are the seals of the run's files. `name`
    is called with the table and the row of each request, fetch and write, to say whose it was.
    So many rows of a log at a time are held otherwise than `rows` holds them.
    """
    found = {
        (int(match[1]), match[2]): path
        for path in sorted(folder.glob("broker-*.log"))
        if (match := _NAME.fullmatch(path.name))
    }
    wanted = {(broker, log) for broker in about.brokers for log in (REQUESTS, SERVER)}
    topics: dict[str, str] = {}
    for path in sorted(folder.glob("controller-*.server.log*")):
        topics |= request_log.read_topic_ids(path)
    said: dict[int, list[str]] = {}  # by broker, whose requests are read before its events
    nameless = about.topic not in (None, *topics.values())
    for broker, log in sorted(wanted | found.keys()):
        path = found.get((broker, log), folder / f"broker-{broker}.{log}.log")
        files = files_of(path)
        reading = Reading(lines=0 if files else None)
        each_file: Iterable[Iterable[tuple[str, Row]]]
        if log == REQUESTS:
            said[broker] = reading.said
            each_file = (
                request_log.read_log(each, broker, topics, group=about.group, reading=reading)
                for each in files
            )
        else:
            of_client = said.get(broker, ())
            each_file = (
                zip(repeat(EVENTS), read_coordinator_events(each, broker, reading, of_client))
                for each in files
            )
        read = chain.from_iterable(each_file)
        while batch := list(islice(read, BATCH)):
            tabled: defaultdict[str, list[Row]] = defaultdict(list)
            for table, row in batch:
                tabled[table].append(row)
            for table, found_rows in tabled.items():
                kept = table in ORDER  # a write is no row of the history
                sound = _sound(found_rows, HISTORY[table], reading) if kept else found_rows
                if name is not None and table != EVENTS:
                    for row in sound:
                        name(table, row)
                if kept:
                    rows[table].extend(sound)
                if kept and nameless and table != EVENTS:
                    _count_nameless(found_rows, reading)
        other = _changed(path, files, sealed)
        rows["logs"].extend([{"broker": broker, "log": log, "changed": other, **vars(reading)}])


def _changed(log: Path, files: Sequence[Path], sealed: Mapping[str, Any]) -> bool | None:
    """Whether a file of a log is not the one that was sealed; null where none of them was."""
    there = {f"logs/{path.name}" for path in files}
    known = {name for name in sealed if name == f"logs/{log.name}" or name in there}
    known |= {name for name in sealed if name.startswith(f"logs/{log.name}.")}
    added = bool(known) and not there <= known
    return added or seals.changed(log.parent.parent, sealed, *sorted(known))


def _count_nameless(rows: Iterable[Row], reading: Reading) -> None:
    """Count the rows that tell of a topic by an id whose name no controller has logged."""
    for row in rows:
        lists = (row.get(column) or () for column in ("positions", "assigned", "owned"))
        named = {row.get("topic"), *(each.get("topic") for found in lists for each in found)}
        if any(_ID.fullmatch(name or "") for name in named):
            reading.missed(row["evidence"], "names a topic by an id that no controller's log has")


def _sound(rows: list[Row], schema: pa.Schema, reading: Reading) -> list[Row]:
    """The rows that fit the table; damage may have made a number too large, or a text, of another.

    Looked at one by one only where they do not fit all together.
    """
    try:
        store.table_of(rows, schema)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        if len(rows) > 1:
            return [row for each in rows for row in _sound([each], schema, reading)]
        reading.missed(str(rows[0].get("evidence")), str(error).splitlines()[0])
        return []
    return rows
