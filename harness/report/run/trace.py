"""`trace.json`: a run as a trace that Perfetto and Chrome (chrome://tracing) open.

The format is Chrome's "Trace Event Format", as a JSON object: times are microseconds, here since
the run's first moment on record. Every track is a thread of a made-up process: faults, the group,
partitions by who held them and by when they stopped, each member, each broker.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from harness.report.load import load_manifest
from harness.report.run.axis import stack
from harness.report.text import sql

NAME: Final = "trace.json"
# Of deliveries, reads, commits and requests together: a viewer has its trouble with more than this.
MOST_ROWS: Final = 100_000
_DETAILED: Final = ("deliveries", "reads", "commits", "requests")
# Parts of a standstill in the order in which they come, as columns of `stops`.
_PARTS: Final = ("idle", "commit", "detection", "notice", "revoke", "join", "sync", "first_fetch")
_NOT_SHOWN: Final = frozenset({"from_us", "to_us", "process", "track", "name"})

Row = Mapping[str, Any]


@dataclass
class _Trace:
    """Events as they are gathered; a process or a track has its number from its first event."""

    events: list[dict[str, Any]] = field(default_factory=list)
    _processes: dict[str, int] = field(default_factory=dict)
    _tracks: dict[tuple[str, str], int] = field(default_factory=dict)

    def slices(self, process: str, rows: Iterable[Row]) -> None:
        """Times from `from_us` to `to_us`, by `track`; those that overlap are side by side.

        A trace can nest what overlaps, and then says that one is part of the other.
        """
        by_track: dict[str, list[Row]] = {}
        for row in rows:
            if row["from_us"] is not None and row["to_us"] is not None:
                by_track.setdefault(row["track"], []).append(row)
        for track, found in by_track.items():
            found.sort(key=lambda row: (row["from_us"], row["to_us"]))
            spans = [(row["from_us"], max(row["to_us"], row["from_us"] + 1)) for row in found]
            for place, row in zip(stack(spans), found, strict=True):
                name = track if place == 0 else f"{track} ({place + 1})"
                self.slice(process, name, row)

    def stops(self, process: str, rows: Iterable[Row]) -> None:
        """Standstills, each with its parts below it, one after the other."""
        for row in rows:
            self.slice(process, row["track"], row)
            at_us = row["from_us"]
            for part in _PARTS:
                until_us = min(at_us + round((row[f"{part}_ms"] or 0) * 1_000), row["to_us"])
                if until_us > at_us:
                    of_part = {"name": part.replace("_", " "), "from_us": at_us, "to_us": until_us}
                    self.slice(process, row["track"], of_part)
                at_us = until_us

    def slice(self, process: str, track: str, row: Row) -> None:
        took_us = max(0, row["to_us"] - row["from_us"])
        self._add("X", process, track, row, dur=took_us)

    def moments(self, process: str, rows: Iterable[Row]) -> None:
        for row in rows:
            if row["from_us"] is not None:
                self._add("i", process, row["track"], row, s="t")

    def _add(self, kind: str, process: str, track: str, row: Row, **more: Any) -> None:
        shown = {key: _plain(row[key]) for key in row if key not in _NOT_SHOWN}
        self.events.append(
            {
                "ph": kind,
                "name": str(row["name"]),
                "cat": process,
                "pid": self._process(process),
                "tid": self._track(process, track),
                "ts": row["from_us"],
                **more,
                "args": {key: value for key, value in shown.items() if value is not None},
            }
        )

    def _process(self, name: str) -> int:
        if name not in self._processes:
            number = self._processes[name] = len(self._processes) + 1
            self._name("process", number, 0, name)
        return self._processes[name]

    def _track(self, process: str, name: str) -> int:
        key = (process, name)
        if key not in self._tracks:
            number = self._tracks[key] = len(self._tracks) + 1
            self._name("thread", self._process(process), number, name)
        return self._tracks[key]

    def _name(self, what: str, pid: int, tid: int, name: str) -> None:
        about = {"ph": "M", "pid": pid, "tid": tid}
        order = pid if what == "process" else tid
        self.events.append({**about, "name": f"{what}_name", "args": {"name": name}})
        self.events.append({**about, "name": f"{what}_sort_index", "args": {"sort_index": order}})


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def trace(run_dir: Path) -> str:
    """The text of a run's `trace.json`. Raises NoData where a file cannot be read."""
    with sql.opened([run_dir]) as database:
        return json.dumps(trace_of(database, run_dir), separators=(",", ":")) + "\n"


def trace_of(database: duckdb.DuckDBPyConnection, run_dir: Path) -> dict[str, Any]:
    there = set(sql.tables_in(database))
    counts = (f"SELECT count(*) FROM {name}" for name in _DETAILED if name in there)
    rows = sum(int(sql.ask(database, query)[1][0][0]) for query in counts)
    detailed = rows <= MOST_ROWS
    trace = _Trace()
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
    return {"traceEvents": trace.events, "displayTimeUnit": "ms", "otherData": about}


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    columns, rows = sql.ask(database, query)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _gather(trace: _Trace, database: duckdb.DuckDBPyConnection, name: str) -> None:
    """Add what a table gives to the tracks of its processes, in the order of its rows."""
    by_process: dict[str, list[Row]] = {}
    for row in _rows(database, _QUERIES[name]):
        by_process.setdefault(row["process"], []).append(row)
    for process, rows in by_process.items():
        if name == "stops":
            trace.stops(process, rows)
        elif "to_us" in rows[0]:
            trace.slices(process, rows)
        else:
            trace.moments(process, rows)


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
               new_member, generation, redelivered, {", ".join(f"{part}_ms" for part in _PARTS)}
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
