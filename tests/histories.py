"""Hand-written histories: rows with defaults, times in milliseconds from a common start.

A history is a value: `judged(history, engine, "R01")` gives the verdict row of one rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from harness.check.judge import Asked, Outcome, examine, verdict_of
from harness.experiment import APP, Fault
from harness.history import store as files
from harness.history.schema import HISTORY
from harness.rules import RULES
from harness.run.faults import KINDS
from harness.tables.base import Tables
from harness.tables.engines.contract import Engine, Frame
from harness.tables.many_runs import Many, One
from harness.tables.source import Run, Sources, run_of
from tests.in_memory import tables_of_run

T0 = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
GROUP, TOPIC = "orders", "t"


def at(ms: float) -> datetime:
    """The moment so many milliseconds after the start."""
    return T0 + timedelta(milliseconds=ms)


def parts(*partitions: int) -> list[dict[str, Any]]:
    """Partitions of the topic, as requests and callbacks name them."""
    return [{"topic": TOPIC, "partition": partition} for partition in partitions]


def member_id(member: str, life: int = 1) -> str:
    """The id that the coordinator gave a process the first (second, …) time it joined."""
    return f"{member}-00000000-0000-4000-8000-{life:012d}"


@dataclass
class History:
    """Rows of every history file; methods add some and return self."""

    group: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    load: dict[str, Any] = field(default_factory=dict)
    faults: int = 0
    at_random: bool = False  # which of them come is drawn
    end_ms: float = 60_000
    limits: dict[str, float] = field(default_factory=dict)
    steady_ms: float = 0  # from when on the group was well
    way_shown: dict[str, str] = field(default_factory=dict)  # of an app, as its manifest has it
    changed: list[dict[str, Any]] = field(default_factory=list)  # what its manifest has otherwise
    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {name: [] for name in HISTORY}
    )

    def add(self, table: str, **row: Any) -> Self:
        self.rows[table].append(row)
        return self

    # What was written, otherwise.
    def change(self, table: str, *numbers: int | str, **fields: Any) -> Self:
        """Give other fields to these rows of a table; "*" are all."""
        rows = self.rows[table]
        for row in rows if numbers == ("*",) else [rows[int(number)] for number in numbers]:
            row.update(fields)
        return self

    def drop(self, table: str, *numbers: int) -> Self:
        """Take these rows away."""
        rows = self.rows[table]
        gone = {range(len(rows))[number] for number in numbers}
        self.rows[table] = [row for number, row in enumerate(rows) if number not in gone]
        return self

    def clear(self, table: str) -> Self:
        """Take all rows away."""
        self.rows[table] = []
        return self

    def in_manifest(self, **changes: Any) -> Self:
        """Have the manifest say otherwise: a JSON merge patch (RFC 7396)."""
        self.changed.append(changes)
        return self

    # The processes.
    def member(self, member: str, **row: Any) -> Self:
        defaults = {
            "role": "consumer",
            "client": "librdkafka",
            "group": GROUP,
            "lane": "members",
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 2_000,
            "max_poll_interval_ms": 60_000,
            "commit": "sync",
            "started_at": at(0),
            "ended_at": at(self.end_ms),
            "end": "closed",
            "journal_frames": 10,
            "journal_torn": False,
        }
        return self.add("members", member=member, **{**defaults, **row})

    # The coordinator's view.
    def request(self, api: str, member: str, ms: float, **row: Any) -> Self:
        life = row.pop("life", 1)
        moment = at(ms)
        defaults = {
            "broker": 1,
            "client_id": member,
            "member_id": member_id(member, life),
            "group": GROUP,
            "generation": 1,
            "error_code": 0,
            "arrived_at": moment,
            "processed_at": moment,
            "answered_at": moment,
            "evidence": f"broker-1-requests.log:{len(self.rows['requests']) + 1}",
        }
        return self.add("requests", api=api, **{**defaults, **row})

    def heartbeats(self, member: str, *times: float, **row: Any) -> Self:
        for ms in times:
            self.request("HEARTBEAT", member, ms, **row)
        return self

    def join(self, member: str, ms: float, generation: int = 1, **row: Any) -> Self:
        row.setdefault("session_timeout_ms", 6_000)
        return self.request("JOIN_GROUP", member, ms, generation=generation, **row)

    def sync(
        self,
        member: str,
        ms: float,
        generation: int = 1,
        gives: Sequence[tuple[str, int]] = (),
        **row: Any,
    ) -> Self:
        given = [
            {"member_id": member_id(name), "topic": TOPIC, "partition": partition}
            for name, partition in gives
        ]
        row = {"generation": generation, "assignments": given, **row}
        return self.request("SYNC_GROUP", member, ms, **row)

    def commit_request(
        self, member: str, ms: float, partition: int, committed: int, error: int = 0, **row: Any
    ) -> Self:
        position = {
            "topic": TOPIC, "partition": partition, "committed": committed, "error_code": error,
        }  # fmt: skip
        row = {"positions": [position], "error_code": error, **row}
        return self.request("OFFSET_COMMIT", member, ms, **row)

    def says(self, event: str, ms: float, member: str | None = None, **row: Any) -> Self:
        """A line of the coordinator's log."""
        life = row.pop("life", 1)
        row = {
            "broker": 1,
            "group": GROUP,
            "evidence": f"broker-1.log:{len(self.rows['coordinator_events'])}",
            **row,
        }
        named = None if member is None else member_id(member, life)
        return self.add("coordinator_events", event=event, at=at(ms), member_id=named, **row)

    def rebalance(
        self, ms: float, generation: int, members: int, reason: str = "because", **row: Any
    ) -> Self:
        """A rebalance of 10 ms that the leader, member-1, ends 5 ms later."""
        self.says("rebalance_started", ms, generation=generation - 1, reason=reason, **row)
        self.says("stabilized", ms + 10, generation=generation, members=members, **row)
        return self.says("assignment_received", ms + 15, "member-1", generation=generation, **row)

    # The members' view.
    def event(
        self, member: str, event: str, ms: float, partitions: Sequence[int] = (), **row: Any
    ) -> Self:
        """A callback or another event that a consumer recorded."""
        life = row.pop("life", 1)
        named = parts(*partitions)
        defaults = {
            "event_at": at(ms),
            "observed_at": at(ms),
            "member_id": member_id(member, life),
            "generation": 1,
            "partitions": named,
        }
        return self.add("client_events", member=member, event=event, **{**defaults, **row})

    def delivered(
        self,
        member: str,
        partition: int,
        first: int,
        last: int,
        ms: float,
        processed_ms: float | None = -1,
        **row: Any,
    ) -> Self:
        """A range of a poll; processed 1 ms later unless said otherwise (null: never)."""
        life = row.pop("life", 1)
        done = ms + 1 if processed_ms == -1 else processed_ms
        defaults = {
            "poll": len(self.rows["deliveries"]) + 1,
            "topic": TOPIC,
            "count": last - first + 1,
            "member_id": member_id(member, life),
            "generation": 1,
            "polled_at": at(ms),
            "processed_at": None if done is None else at(done),
        }
        return self.add(
            "deliveries", member=member, partition=partition, first_offset=first, last_offset=last,
            **{**defaults, **row},
        )  # fmt: skip

    def fetched(self, member: str, ms: float, offset: int, size: int = 50_000, **row: Any) -> Self:
        """A Java client's line about an answer to its fetch of t-0; `high`: where that ends."""
        high = f"highWatermark={row['high']}, " if row else ""
        data = f"partitionIndex=0, errorCode=0, {high}records=MemoryRecords(size={size}, buffer=)"
        said = f"offset {offset} for partition t-0 returned fetch data PartitionData({data})"
        return self.event(member, "fetched", ms, detail=f"Fetch READ_COMMITTED at {said}")

    def asked_commit(
        self,
        member: str,
        ms: float,
        partition: int,
        committed: int,
        error: int | None = 0,
        **row: Any,
    ) -> Self:
        """A commit as its consumer knows it."""
        life = row.pop("life", 1)
        defaults = {
            "how": "sync",
            "topic": TOPIC,
            "member_id": member_id(member, life),
            "generation": 1,
            "asked_at": at(ms),
            "answered_at": None if error is None else at(ms + 2),
        }
        return self.add(
            "commits", member=member, partition=partition, committed=committed, error_code=error,
            **{**defaults, **row},
        )  # fmt: skip

    def waited_for_commit(self, member: str, from_ms: float, to_ms: float | None) -> Self:
        """Its application waits for the answer to a commit of two partitions, or for ever."""
        for partition in (0, 1):
            answered_at = None if to_ms is None else at(to_ms)
            self.asked_commit(member, from_ms, partition, 5, answered_at=answered_at)
        return self

    def acknowledged(self, partition: int, first: int, last: int, **row: Any) -> Self:
        defaults = {
            "topic": TOPIC,
            "outcome": "acknowledged",
            "first_number": first,
            "last_number": last,
            "count": last - first + 1,
            "first_sent_at": at(0),
            "last_answered_at": at(1),
        }
        return self.add(
            "sends", partition=partition, first_offset=first, last_offset=last,
            **{**defaults, **row},
        )  # fmt: skip

    # What was done, and who watched.
    def fault(
        self,
        kind: str,
        resolved: str,
        ms: float,
        healed_ms: float | None = None,
        took_effect: bool | None = True,
        injecting_ms: float | None = None,
        **row: Any,
    ) -> Self:
        """A fault through all its phases, which took effect at `ms`."""
        self.faults += 1
        name = f"{self.faults}-{kind}"
        declared = json.loads(row.pop("parameters", "{}"))
        effects = KINDS[kind].effects_of(Fault(kind=kind, target="", how=declared.get("how")))
        row["parameters"] = json.dumps({**declared, "effects": asdict(effects)})
        injecting_ms = ms - 1 if injecting_ms is None else injecting_ms
        planned_ms = min(0.0, injecting_ms)
        phases = [("planned", planned_ms), ("injecting", injecting_ms), ("injected", ms)]
        if healed_ms is not None:
            phases += [("healing", healed_ms - 1), ("healed", healed_ms)]
        for phase, when in phases:
            effect = took_effect if phase == "injected" else None
            self.add(
                "faults", fault=name, kind=kind, target=resolved, resolved=resolved, phase=phase,
                at=at(when), took_effect=effect, evidence="seen by the test", **row,
            )  # fmt: skip
        return self

    def broker_seen(self, ms: float, broker: int, *, alive: bool) -> Self:
        return self.add("topology", at=at(ms), what="broker", broker=broker, alive=alive)

    # What an app did, as brokers and the harness saw it.
    def fetch(
        self, member: str, partition: int | None, first: int | None, ms: float,
        upto: int | None = None, **row: Any,
    ) -> Self:  # fmt: skip
        """A fetch from an offset on, answered with the records below `upto`; null: with none."""
        defaults = {
            "broker": 1,
            "topic": TOPIC,
            "bytes": 0 if upto is None else 100,
            "end_offset": first if upto is None else upto,
            "error_code": 0,
            "arrived_at": at(ms),
            "answered_at": at(ms + 1),
            "evidence": f"broker-1-requests.log:f{len(self.rows['fetches']) + 1}",
        }
        return self.add(
            "fetches", member=member, partition=partition, fetch_offset=first,
            **{**defaults, **row},
        )  # fmt: skip

    def given_position(self, member: str, partition: int, committed: int, ms: float) -> Self:
        """A coordinator tells a member where its group is."""
        position = {
            "topic": TOPIC, "partition": partition, "committed": committed, "error_code": 0,
        }  # fmt: skip
        return self.request("OFFSET_FETCH", member, ms, positions=[position])

    def shows(
        self, member: str, partition: int, first: int, last: int, ms: float, by: str = "stdout"
    ) -> Self:
        """What it showed of records that it had processed."""
        return self.add(
            "effects", member=member, shown_by=by, topic=TOPIC, partition=partition,
            first_offset=first, last_offset=last, count=last - first + 1, at=at(ms),
        )  # fmt: skip

    def holds(self, member: str, *partitions: int, ms: float = 10, generation: int = 1) -> Self:
        """It joins, and is given these partitions."""
        given = parts(*partitions)
        self.says("member_added", ms - 2, member).join(member, ms - 1, generation)
        return self.sync(member, ms, generation, assigned=given)

    def end_offset(self, partition: int, end_offset: int, ms: float = 50_000) -> Self:
        """Where the partition ends, as the observer is told.

        And where it ended a second before, and another topic's partition of this number.
        """
        ends = [(TOPIC, ms - 1_000, end_offset - 1)] if end_offset > 0 else []
        ends += [("payments", ms, end_offset + 10_000), (TOPIC, ms, end_offset)]
        for topic, told_ms, offset in ends:
            self.add(
                "topology", at=at(told_ms), what="end_offset", topic=topic, partition=partition,
                end_offset=offset,
            )  # fmt: skip
        return self

    def tick(self, ms: float, late_ms: float = 0.2) -> Self:
        return self.add("host", at=at(ms), late_ms=late_ms)

    def waited(self, process: str, from_ms: float, to_ms: float, waited_ms: float) -> Self:
        """A process waited for a processor."""
        row = {"from_at": at(from_ms), "at": at(to_ms), "waited_ms": waited_ms}
        return self.add("waits", process=process, **row)

    # As a run.
    def manifest(self, **changes: Any) -> dict[str, Any]:
        """The manifest of a complete run with this history; `changes` replace top-level fields."""
        group = {
            "members": 3,
            "client": "librdkafka",
            "protocol": "eager",
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 2_000,
            "max_poll_interval_ms": 60_000,
            "commit": "sync",
            "auto_commit_interval_ms": 5_000,
            "batch_records": 100,
            **self.group,
        }
        declared = {
            "claim": "claims nothing",
            "group": group,
            "cluster": self.cluster,
            "load": {"partitions": 6, "records_per_s": 300, **self.load},
            "faults": [{}] * self.faults,
            **({"at_random": True} if self.at_random else {}),
            "rules": [],
            **({"app": _app(self.limits)} if group["client"] == APP else {"limits": self.limits}),
        }
        content = {
            "schema_version": 1,
            "run": "20261121T120000Z-1",
            "experiment": "by-hand",
            "claim": "claims nothing",
            "status": "complete",
            "status_reason": "",
            "seed": 1,
            "started_at": _text(0),
            "ended_at": _text(self.end_ms),
            "group": GROUP,
            "topic": TOPIC,
            "declared": declared,
            "phases": [
                {"name": "steady", "from": _text(self.steady_ms), "to": _text(self.end_ms - 3_000)},
                {"name": "drain", "from": _text(self.end_ms - 3_000), "to": _text(self.end_ms - 1)},
                {"name": "stop", "from": _text(self.end_ms - 1), "to": _text(self.end_ms)},
            ],
            **({"observed": {"shown": self.way_shown}} if self.way_shown else {}),
            **changes,
        }
        for patch in self.changed:
            content = merged(content, patch)
        return content

    def arrow(self, table: str) -> pa.Table:
        return pa.Table.from_pylist(self.rows[table], schema=HISTORY[table])

    def write(self, run_dir: Path, rules: Sequence[dict[str, str]] = (), **changes: Any) -> Path:
        """Write it as `run` would: a manifest and the history files."""
        import json

        content = self.manifest(**changes)
        content["declared"]["rules"] = list(rules)
        run_dir.mkdir(parents=True, exist_ok=True)
        (run_dir / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
        for name, schema in HISTORY.items():
            path = run_dir / "history" / f"{name}.parquet"
            files.write(path, [self.arrow(name)], schema)
        return run_dir


def merged(content: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Changed by a JSON merge patch (RFC 7396): null removes, and tables are merged."""
    found = {**content}
    for name, each in patch.items():
        before = found.pop(name, None)
        if isinstance(each, dict):
            found[name] = merged(before if isinstance(before, dict) else {}, each)
        elif each is not None:
            found[name] = each
    return found


def _text(ms: float) -> str:
    return at(ms).isoformat().replace("+00:00", "Z")


def _app(limits: dict[str, float]) -> dict[str, Any]:
    promised = {"standstill_s": None, "repeats": None, "lost": None, "drained_s": None, **limits}
    return {"name": "orders", "stop": {"signal": "SIGTERM", "grace_s": 30.0}, "limits": promised}


def an_app(*members: str, protocol: str = "eager") -> History:
    """Processes of a program of somebody else's, which run from the start to the end."""
    history = History(group={"client": APP, "protocol": protocol})
    for member in members:
        history.member(
            member, client=APP, lane=member, commit=None, ended_at=at(history.end_ms + 100),
            exit_code=0,
        )  # fmt: skip
    return history


def beat(history: History, member: str, ms: float, epoch: int, now: int, *given: int) -> None:
    """A heartbeat of KIP-848 from one epoch, answered with another and these partitions."""
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", member, ms, generation=epoch, member_epoch=now,
        assigned=parts(*given),
    )  # fmt: skip


def in_another_group(
    history: History, event: str, ms: float, group: str = "payments", **row: Any
) -> None:
    """A line of the coordinator's log that is about another group, and has no evidence."""
    history.add("coordinator_events", event=event, at=at(ms), group=group, broker=1, **row)


def at_work() -> History:
    """member-1 read what the producer sent."""
    history = History().member("member-1").acknowledged(0, 0, 9)
    return history.delivered("member-1", 0, 0, 9, 100)


def java() -> History:
    """One Java member in generation 1, coordinated by broker-1."""
    history = History(group={"client": "java"}).member("member-1", client="java")
    history.request("FIND_COORDINATOR", "member-1", 0, detail='{"coordinator": 1}')
    history.says("member_added", 1, "member-1").join("member-1", 5)
    return history.rebalance(1, 1, 1).heartbeats("member-1", 2_000, 4_000)


def answered(history: History, ms: float, position: int, **row: Any) -> History:
    """A coordinator answers member-2 with a position of t-0."""
    told = {"topic": TOPIC, "partition": 0, "committed": position, "error_code": 0}
    return history.request("OFFSET_FETCH", "member-2", ms, positions=[told], **row)


def tables_of(history: History, engine: Engine) -> Tables:
    """Its tables, each derived when a query names it; nothing is written."""
    return _tables(history, engine, Sources(frames=_Frames(history, engine)))


def _tables(history: History, engine: Engine, sources: Sources) -> Tables:
    return tables_of_run(engine, run_of(history.manifest()), sources)


class _Frames(dict[str, Frame]):
    """Every history file, handed to the engine when it is first asked for: most rules need few."""

    def __init__(self, history: History, engine: Engine) -> None:
        super().__init__()
        self._history, self._engine = history, engine

    def __contains__(self, name: object) -> bool:
        return name in HISTORY

    def __missing__(self, name: str) -> Frame:
        self[name] = self._engine.rows(self._history.arrow(name))
        return self[name]


def judged(history: History, engine: Engine, rule: str) -> dict[str, Any]:
    """The verdict row of one rule, with its examined rows under "rows"."""
    sources = Sources(frames=_Frames(history, engine))
    tables = _tables(history, engine, sources)
    try:
        verdict = judged_as(tables, rule)
        assert not sources.unreadable, f"{rule}: {sources.unreadable}"
    finally:
        tables.close()
    return verdict


def many_of(histories: Sequence[tuple[Run, History]], engine: Engine) -> Many:
    """The histories of these runs as one dataset."""
    runs = [run for run, _ in histories]
    return Many(engine, runs, lambda name, number: histories[number][1].arrow(name))


def judged_as(tables: Tables | One, rule: str) -> dict[str, Any]:
    """The same, of a run's tables.

    A query that fails is raised here. In a recorded run it makes the verdict UNKNOWN, which is also
    what a history gives in which there is nothing to examine.
    """
    outcome: Outcome = examine(tables, [rule])
    if outcome.unknown:
        tables.answer(RULES[rule].examine).toArrow()  # with the whole message, if it fails again
        raise AssertionError(f"{rule}: {outcome.unknown}")
    return {**verdict_of(Asked(rule), outcome, tables), "rows": outcome.rows.get(rule, [])}


def after(moment: datetime | None) -> float | None:
    """Milliseconds from the start to this moment."""
    return None if moment is None else (moment - T0) / timedelta(milliseconds=1)
