"""What is on record of an app's processes: rows of `members` and `effects`, and whose requests are.

All of it is made from the journal that the harness keeps of them, from the brokers' request logs
and from what the producer sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from consumers.journal import JournalContent
from harness.history import shown
from harness.history.schema import HISTORY
from harness.history.whose import BY_CLIENT_ID, BY_LANE, SHARED, Started, lane_of, whose

Row = dict[str, Any]
Rows = dict[str, list[Row]]
JOURNAL: Final = "programs.journal"
_COOPERATIVE: Final = "cooperative-sticky"
_SESSION: Final = "group.consumer.session.timeout.ms"


def add_rows(
    journal: JournalContent,
    rows: Rows,
    shown_otherwise: Iterable[Row] = (),
    writes: Iterable[Row] = (),
) -> None:
    """Add the members and their effects, and name in each request and fetch whose it was.

    `shown_otherwise` are the frames of the journals of the sink and of the output topic, and
    `writes` are the members' own, from the brokers' request logs.
    """
    about = next((frame for frame in journal.frames if frame["kind"] == "app"), {})
    members = _members(journal.frames, about)
    started = [Started(each["member"], each["lane"], each["started_at"]) for each in members]
    for row in (*rows["requests"], *rows["fetches"]):
        name = _whose(row, started)
        if "api" in row:
            row["program"] = name
        else:
            row["member"] = name
    requests = sorted(rows["requests"], key=row_at)
    _describe(members, [row for row in requests if row["group"] in (None, about.get("group"))])
    rows["members"] += members
    rows["client_events"] += _dropped(journal.frames)
    writes = [{**row, "member": _whose(row, started)} for row in writes]
    frames = [*journal.frames, *shown_otherwise]
    frames += shown.written(frames, writes)
    rows["effects"] += shown.effects(frames, rows["sends"], str(about.get("topic")))


def _dropped(frames: Iterable[Row]) -> list[Row]:
    """Signals that told a process to end, and that the kernel did not deliver."""
    return [
        {
            **dict.fromkeys(HISTORY["client_events"].names),
            "member": frame["program"],
            "event": "signal_dropped",
            "event_at": frame["at"],
            "observed_at": frame["at"],
            "detail": frame["what"],
        }
        for frame in frames
        if frame["kind"] == "program_told" and frame.get("dropped") and frame["what"] != "SIGKILL"
    ]


def _members(frames: Sequence[Row], about: Row) -> list[Row]:
    found: dict[str, Row] = {}
    for frame in frames:
        row = found.get(frame.get("program", ""))
        if frame["kind"] == "program_started":
            found[frame["program"]] = {
                **dict.fromkeys(HISTORY["members"].names),
                "member": frame["program"],
                "role": "consumer",
                "client": "app",
                "group": about.get("group"),
                "lane": frame["lane"],
                "pid": frame["pid"],
                "instance_id": frame["instance_id"],
                "started_at": frame.get("started_at", frame["at"]),
                "journal_frames": 0,
                "journal_torn": False,
            }
        elif row is None:
            continue
        elif frame["kind"] == "program_told" and row["ended_at"] is None:
            if frame["what"] != "SIGKILL":
                row["told_at"] = row["told_at"] or frame["at"]
            row["end"] = "killed" if frame["what"] == "SIGKILL" else "closed"
        elif frame["kind"] == "program_ended":
            row["ended_at"], row["exit_code"] = frame["ended_at"], frame["exit_code"]
            row["end"] = row["end"] or "failed"
    for row in found.values():
        if row["ended_at"] is None:
            row["end"] = None
    return list(found.values())


def _whose(row: Row, started: Iterable[Started]) -> str | None:
    """The process that sent a request, a fetch or a write."""
    listener = row.pop("listener", None) if "bytes" in row else row.get("listener")
    return whose(lane_of(listener), row["client_id"], row_at(row), started)


def row_at(row: Mapping[str, Any]) -> int:
    """When a request arrived, in epoch microseconds."""
    return int(row["arrived_at"])


def _describe(members: Sequence[Row], requests: Iterable[Row]) -> None:
    """What the brokers know of each process: its library, its timers, its protocol."""
    by_name = {member["member"]: member for member in members}
    for request in requests:
        member = by_name.get(request.get("program") or "")
        if member is None:
            continue
        if request.get("client_software") not in (None, "unknown"):
            member["client_version"] = " ".join(
                filter(None, (request["client_software"], request["client_software_version"]))
            )
        if request["api"] == "JOIN_GROUP" and request.get("session_timeout_ms"):
            member["session_timeout_ms"] = request["session_timeout_ms"]
            member["max_poll_interval_ms"] = request.get("rebalance_timeout_ms")
        if request.get("protocol_name"):
            member["assignor"] = request["protocol_name"]
        member["protocol"] = protocol_of([request]) or member["protocol"]


def protocol_of(requests: Iterable[Mapping[str, Any]]) -> str | None:
    """Which rebalance protocol requests speak; null where they do not show it."""
    found = None
    for request in requests:
        if request["api"] == "CONSUMER_GROUP_HEARTBEAT":
            return "consumer"
        if request.get("protocol_name"):
            found = "cooperative" if request["protocol_name"] == _COOPERATIVE else "eager"
    return found


def observed(run_dir: Path, broker_settings: Mapping[str, str]) -> Row:
    """What an app turned out to be, for the manifest: library, protocol, session timeout.

    Members of the classic protocol tell their session timeout; in KIP-848 the brokers have it.
    """
    members = pq.read_table(run_dir / "history" / "members.parquet").to_pylist()
    own = [member for member in members if member["client"] == "app"]
    sessions = [each["session_timeout_ms"] for each in own if each["session_timeout_ms"]]
    protocols = [each["protocol"] for each in own if each["protocol"]]
    if "consumer" in protocols and _SESSION in broker_settings:
        sessions.append(int(broker_settings[_SESSION]))
    return {
        "clients": sorted({each["client_version"] for each in own if each["client_version"]}),
        "protocol": protocols[-1] if protocols else None,
        "assignors": sorted({each["assignor"] for each in own if each["assignor"]}),
        "session_timeout_ms": max(sessions, default=None),
        "told_apart_by": BY_CLIENT_ID if any(each["lane"] == SHARED for each in own) else BY_LANE,
        "shown": shown.told(run_dir),
    }
