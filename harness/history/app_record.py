"""What is on record of an app's processes: rows of `members` and `effects`, and whose requests are.

All of it is made from the journal that the harness keeps of them, from the brokers' request logs
and from what the producer sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from consumers.journal import JournalContent, of_kinds
from harness.history import shown, store
from harness.history.schema import HISTORY
from harness.history.whose import BY_CLIENT_ID, BY_LANE, SHARED, Processes, Started, lane_of

Row = dict[str, Any]
Frame = Mapping[str, Any]
JOURNAL: Final = "programs.journal"
_LIFE: Final = ("program_started", "program_told", "program_ended")
# Assignors that let members work on with what they keep; "stream" is that of Kafka Streams.
_COOPERATIVE: Final = frozenset({"cooperative-sticky", "stream"})
_SESSION: Final = "group.consumer.session.timeout.ms"


class AppRecord:
    """The processes of an app, by their journal: each request is named as it is read.

    A day has millions of requests, so none of them is kept here.
    """

    def __init__(self, journal: JournalContent) -> None:
        self._frames = journal.frames
        self._about = next(of_kinds(self._frames, "app"), {})
        self._members = _members(of_kinds(self._frames, *_LIFE), self._about)
        self._processes = Processes(
            Started(each["member"], each["lane"], each["started_at"]) for each in self._members
        )
        self._by_name = {member["member"]: member for member in self._members}
        # By process and column, the last value, and when that arrived and was processed.
        self._latest: dict[tuple[str, str], tuple[tuple[int, int], Any]] = {}
        self._writes: list[shown.Write] = []
        self.sent = shown.Sent()

    def name(self, table: str, row: Row) -> None:
        """Name in a row of `requests` or `fetches` whose it was, and keep a write."""
        listener = row.get("listener") if table == "requests" else row.pop("listener", None)
        at = int(row["arrived_at"])
        name = self._processes.whose(lane_of(listener), row["client_id"], at)
        if table == "writes":
            self._writes.append((row["topic"], row["partition"], row["base_offset"], name))
        elif table == "fetches":
            row["member"] = name
        else:
            row["program"] = name
            if name is not None and row["group"] in (None, self._about.get("group")):
                self._describe(name, row)

    def add_rows(self, kept: store.Kept, others: Sequence[JournalContent] = ()) -> None:
        """Add the members and their effects, once all requests are named.

        `others` are the journals of the sink and of the output topic.
        """
        for (name, column), (_, value) in self._latest.items():
            self._by_name[name][column] = value
        kept["members"].extend(self._members)
        kept["client_events"].extend(_dropped(of_kinds(self._frames, "program_told")))
        frames = list(of_kinds(self._frames, "shown"))
        for each in others:
            frames += of_kinds(each.frames, "shown")
            frames += shown.written(each.frames, self._writes)
        kept["effects"].extend(shown.effects(frames, self.sent, str(self._about.get("topic"))))

    def _describe(self, name: str, request: Row) -> None:
        """Keep what the brokers know of a process: its library, its timers, its protocol.

        What arrived last counts, whichever broker's log is read first.
        """
        said: Row = {}
        if request.get("client_software") not in (None, "unknown"):
            about = filter(None, (request["client_software"], request["client_software_version"]))
            said["client_version"] = " ".join(about)
        if request["api"] == "JOIN_GROUP" and request.get("session_timeout_ms"):
            said["session_timeout_ms"] = request["session_timeout_ms"]
            said["max_poll_interval_ms"] = request.get("rebalance_timeout_ms")
        if assignor := request.get("protocol_name"):
            said["assignor"] = assignor
            said["protocol"] = "cooperative" if assignor in _COOPERATIVE else "eager"
        if request["api"] == "CONSUMER_GROUP_HEARTBEAT":
            said["protocol"] = "consumer"
        when = int(request["arrived_at"]), int(request["processed_at"])
        for column, value in said.items():
            before = self._latest.get((name, column))
            if before is None or before[0] <= when:
                self._latest[name, column] = when, value


def _dropped(frames: Iterable[Frame]) -> list[Row]:
    """Signals that ask a process to end, and that the kernel did not deliver."""
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
        if frame.get("dropped") and frame["what"] != "SIGKILL"
    ]


def _members(frames: Iterable[Frame], about: Frame) -> list[Row]:
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
        "shown": shown.summary(run_dir),
    }
