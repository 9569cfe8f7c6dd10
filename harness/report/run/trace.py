"""`trace.json`: a run as a trace that Perfetto and Chrome (chrome://tracing) open.

The format is Chrome's "Trace Event Format", as a JSON object: times are microseconds, here since
the run's first moment on record. Every track is a thread of a made-up process: faults, the group,
partitions by who held them and by when they stopped, each member, each broker.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from harness.report.load import load_manifest
from harness.report.parts.stops import PARTS
from harness.report.run.axis import stack
from harness.report.text import sql

NAME: Final = "trace.json"
# Of deliveries, reads, commits and requests together: a viewer has its trouble with more than this.
MOST_ROWS: Final = 100_000
_DETAILED: Final = ("deliveries", "reads", "commits", "requests")
_NOT_SHOWN: Final = frozenset({"from_us", "to_us", "process", "track", "name"})

Row = Mapping[str, Any]


@dataclass
class _Trace:
    """Events as they are gathered; a process or a track has its number from its first event."""

    events: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, process: str, track: str, row: Row) -> None:
        """A time that lasts until `to_us`, or a moment."""
        shown = {key: _plain(row[key]) for key in row if key not in _NOT_SHOWN}
        lasts = "to_us" in row
        more = {"dur": max(0, row["to_us"] - row["from_us"])} if lasts else {"s": "t"}
        self.events.append(
            {
                "ph": "X" if lasts else "i",
                "name": str(row["name"]),
                "cat": process,
                "pid": self._number(process),
                "tid": self._number(process, track),
                "ts": row["from_us"],
                **more,
                "args": {key: value for key, value in shown.items() if value is not None},
            }
        )

    def _number(self, *names: str) -> int:
        """That of a process, or of a track of one."""
        if names not in self._numbers:
            number = 1 + sum(len(each) == len(names) for each in self._numbers)
            pid, tid = (self._number(names[0]), number) if names[1:] else (number, 0)
            about = {"ph": "M", "pid": pid, "tid": tid}
            what = "thread" if names[1:] else "process"
            for name, value in (("name", names[-1]), ("sort_index", number)):
                self.events.append({**about, "name": f"{what}_{name}", "args": {name: value}})
            self._numbers[names] = number
        return self._numbers[names]


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def trace(run_dir: Path) -> str:
    """The text of a run's `trace.json`. Raises NoData where a file cannot be read."""
    trace = _Trace()
    with sql.opened([run_dir]) as database:
        there = set(sql.tables_in(database))
        counts = (f"SELECT count(*) FROM {name}" for name in _DETAILED if name in there)
        rows = sum(int(sql.ask(database, query)[1][0][0]) for query in counts)
        detailed = rows <= MOST_ROWS
        for name in _QUERIES:
            if name in there and (detailed or name not in _DETAILED):
                _gather(trace, database, name)
    timed = [event for event in trace.events if "ts" in event]
    zero = min((event["ts"] for event in timed), default=0)
    for event in timed:
        event["ts"] -= zero
    manifest = load_manifest(run_dir)
    about = {"run": manifest.run, "experiment": manifest.experiment, "began_at_us": zero}
    if not detailed:
        about["left_out"] = f"{', '.join(_DETAILED)}: {rows:,} rows, more than {MOST_ROWS:,}"
    whole = {"traceEvents": trace.events, "displayTimeUnit": "ms", "otherData": about}
    return json.dumps(whole, separators=(",", ":")) + "\n"


def _gather(trace: _Trace, database: duckdb.DuckDBPyConnection, name: str) -> None:
    """Add what a table gives to the tracks of its processes; what overlaps is side by side.

    A trace can nest what overlaps, and then says that one is part of the other. That is so of a
    standstill and its parts.
    """
    columns, rows = sql.ask(database, _QUERIES[name])
    tracks: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in (dict(zip(columns, values, strict=True)) for values in rows):
        if row["from_us"] is not None and row.get("to_us", 0) is not None:
            tracks.setdefault((row["process"], row["track"]), []).append(row)
    for (process, track), found in tracks.items():
        places = [0] * len(found)
        if "to_us" in columns and name != "stops":
            found.sort(key=lambda row: (row["from_us"], row["to_us"]))
            places = stack([(r["from_us"], max(r["to_us"], r["from_us"] + 1)) for r in found])
        for place, row in zip(places, found, strict=True):
            trace.add(process, f"{track} ({place + 1})" if place else track, row)
            for part in _parts(row) if name == "stops" else ():
                trace.add(process, track, part)


def _parts(stop: Row) -> Iterator[Row]:
    """What a standstill was made of, one after the other."""
    at_us = stop["from_us"]
    for kind in PARTS[:-1]:  # the last is what is not on record
        until_us = min(at_us + round((stop[kind.column] or 0) * 1_000), stop["to_us"])
        if until_us > at_us:
            yield {"name": kind.name, "from_us": at_us, "to_us": until_us}
        at_us = until_us


# What is shown of each table; rows without an end are moments.
_QUERIES: Final = {
    "faults": """
        SELECT 'faults' AS process, fault AS name, fault AS track, max(resolved) AS hit,
               max(evidence) FILTER (WHERE phase <> 'healed') AS evidence,
               epoch_us(min("at") FILTER (WHERE phase = 'injecting')) AS from_us,
               epoch_us(coalesce(max("at") FILTER (WHERE phase = 'healed'),
                                 max("at") FILTER (WHERE phase IN ('injected', 'failed')))) AS to_us
        FROM faults GROUP BY fault ORDER BY min("at") FILTER (WHERE phase = 'injecting')
    """,
    "rebalances": """
        SELECT 'group' AS process, 'rebalances of ' || "group" AS track,
               'generation ' || generation || ' (' || trigger || ')' AS name,
               epoch_us(started_at) AS from_us,
               epoch_us(coalesce(completed_at, synced_at, joined_at, started_at)) AS to_us,
               trigger_member, reason, members_before, members_after, partitions_moved,
               longest_standstill_ms, evidence
        FROM rebalances ORDER BY started_at
    """,
    "coordinator_events": """
        SELECT 'group' AS process, 'coordinator, broker-' || broker AS track, event AS name,
               epoch_us("at") AS from_us, "group", generation, member_id, text, evidence
        FROM coordinator_events ORDER BY "at"
    """,
    "ownership": """
        SELECT 'partitions: held by' AS process, topic || '-' || partition AS track,
               topic, partition, member AS name, epoch_us(from_at) AS from_us,
               epoch_us(coalesce(to_at, (SELECT max(to_at) FROM ownership))) AS to_us,
               generation, ended_by
        FROM ownership ORDER BY topic, partition, from_at
    """,
    "stops": f"""
        SELECT 'partitions: stopped' AS process, topic || '-' || partition AS track,
               topic, partition, 'stopped: ' || coalesce(cause, 'no cause') AS name,
               epoch_us(from_at) AS from_us, epoch_us(to_at) AS to_us, subject, old_member,
               new_member, generation, redelivered, {", ".join(kind.column for kind in PARTS[:-1])}
        FROM stops WHERE stopped AND from_at IS NOT NULL AND to_at IS NOT NULL
        ORDER BY topic, partition, from_at
    """,
    "deliveries": """
        SELECT coalesce(member, 'no member') AS process, member, 'batches' AS track,
               sum("count") || ' records' AS name,
               epoch_us(min(polled_at)) AS from_us,
               epoch_us(coalesce(max(processed_at), min(polled_at))) AS to_us,
               string_agg(format('{}-{}: {} to {}', topic, partition, first_offset, last_offset),
                          ', ' ORDER BY topic, partition, first_offset) AS offsets
        FROM deliveries GROUP BY member, poll ORDER BY member, from_us
    """,
    "reads": """
        SELECT coalesce(member, 'no member') AS process, member, 'read' AS track,
               "count" || ' records' AS name, epoch_us(polled_at) AS from_us,
               topic, partition, first_offset, last_offset
        FROM reads ORDER BY member, polled_at
    """,
    "client_events": """
        SELECT member AS process, member, 'events' AS track, event AS name,
               epoch_us(event_at) AS from_us, generation, duration_ms, detail
        FROM client_events ORDER BY member, event_at
    """,
    "commits": """
        SELECT coalesce(member, 'no member') AS process, member, 'commits' AS track,
               how || ' commit' AS name,
               epoch_us(coalesce(min(asked_at), min(answered_at))) AS from_us,
               epoch_us(coalesce(max(answered_at), min(asked_at))) AS to_us,
               string_agg(topic || '-' || partition || ': ' || committed, ', '
                          ORDER BY topic, partition) AS positions, max(error) AS error
        FROM commits GROUP BY member, how, coalesce(asked_at, answered_at)
        ORDER BY member, from_us
    """,
    "requests": """
        SELECT 'requests to broker-' || broker AS process, broker,
               coalesce(program, client_id, 'no client') AS track, api AS name,
               epoch_us(arrived_at) AS from_us, epoch_us(answered_at) AS to_us,
               member_id, generation, error_code, evidence
        FROM requests ORDER BY broker, arrived_at
    """,
}
