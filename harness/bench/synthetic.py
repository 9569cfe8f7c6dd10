"""A made-up history of any size, for benchmarks, for tests, and to train Spark's AOT cache.

Three members read six partitions. Every so often one of them falls silent for a session, is
evicted with one batch uncommitted, and comes back under a new member id; so each such round has
two rebalances, and one redelivered batch per partition that it held. Every rule holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from harness.history import store
from harness.history.schema import HISTORY

MEMBERS: Final = 3
PARTITIONS: Final = 6
BATCH: Final = 200  # records of one delivered range
RECORDS_PER_S: Final = 6_000
_RECORDS_PER_ROUND: Final = 500_000
_LEAST_S: Final = 80
SESSION_MS: Final = 6_000
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUP: Final = "synthetic"
TOPIC: Final = "t"
_ALL: Final = range(MEMBERS)
_RETURNS_MS: Final = 4_000  # from its eviction until the evicted member is back
_ASKS_MS: Final = 35  # from a rebalance until members ask for their positions
_NOTHING: Final = -1  # what a coordinator answers where nothing is committed
_UNKNOWN_MEMBER_ID: Final = 25
_CLIENT: Final = {
    "client": "librdkafka",
    "session_timeout_ms": SESSION_MS,
    "heartbeat_interval_ms": 2_000,
    "max_poll_interval_ms": 60_000,
    "commit": "sync",
    "batch_records": BATCH * PARTITIONS,  # a poll may have one of each
}
_RULES: Final = (
    "R01", "R02", "R12", "R14", "R19", "R20a", "R20b", "R21", "R21-stop", "R33", "X14", "X32a",
    "X32b", "X32c", "X32d",
)  # fmt: skip

Row = dict[str, Any]


def write_synthetic(run_dir: Path, records: int) -> Path:
    """Write a whole run (manifest and history) in which about so many records are delivered."""
    story = _Story(*_plan(records))
    tables: dict[str, list[pa.Table]] = {name: [] for name in HISTORY}
    for number in range(story.rounds + 1):
        if number < story.rounds:
            story.round(number)
        else:
            story.end()
        for name, rows in story.rows.items():
            tables[name].append(pa.Table.from_pylist(rows, schema=HISTORY[name]))
            rows.clear()
    for name, schema in HISTORY.items():
        whole = pa.concat_tables(tables[name])
        store.write(run_dir / "history" / f"{name}.parquet", [whole], schema)
    text = json.dumps(_manifest(story.end_ms), indent=2)
    (run_dir / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return run_dir


def _plan(records: int) -> tuple[int, int, int]:
    """Rounds, their length in milliseconds, and batches of each partition in each round."""
    duration_s = max(_LEAST_S, records // RECORDS_PER_S)
    rounds = max(3, min(records // _RECORDS_PER_ROUND, duration_s // 20))
    batches = max(4, records // (rounds * PARTITIONS * BATCH))
    return rounds, duration_s * 1_000 // rounds, batches


def moment(ms: float) -> datetime:
    """The time so many milliseconds after the start."""
    return START + timedelta(milliseconds=ms)


def _manifest(end_ms: float) -> Row:
    names = ("start cluster", "start fleet", "steady", "drain", "stop")
    marks = [
        moment(ms).isoformat().replace("+00:00", "Z")
        for ms in (-2_000, -1_000, 0, end_ms - 200, end_ms, end_ms + 200)
    ]
    claim = "Nothing of this happened."
    group = {"members": MEMBERS, "protocol": "eager", "auto_commit_interval_ms": 5_000, **_CLIENT}
    late = "the evicted member does not know it until it is back"
    return {
        "schema_version": 1,
        "run": f"{START:%Y%m%dT%H%M%S}Z-1",
        "experiment": "synthetic",
        "claim": claim,
        "status": "complete",
        "status_reason": "",
        "seed": 0,
        "started_at": marks[0],
        "ended_at": marks[-1],
        "group": GROUP,
        "topic": TOPIC,
        "versions": {},
        "host": {},
        "declared": {
            "claim": claim,
            "group": group,
            "load": {"partitions": PARTITIONS, "records_per_s": RECORDS_PER_S},
            "faults": [],
            "rules": [
                *({"rule": rule, "verdict": "HOLDS", "because": ""} for rule in _RULES),
                {"rule": "R21-delivery", "verdict": "VIOLATED", "because": late},
            ],
        },
        "phases": [
            {"name": name, "from": begin, "to": end}
            for name, begin, end in zip(names, marks, marks[1:], strict=False)
        ],
        "effective": {"brokers": {"broker-1": {"group.initial.rebalance.delay.ms": "0"}}},
    }


def _member(number: int) -> str:
    return f"member-{number + 1}"


def _owners(members: Sequence[int]) -> list[int]:
    """As Kafka's range assignor does it: each member gets partitions that lie together."""
    each, more = divmod(PARTITIONS, len(members))
    return [member for place, member in enumerate(members) for _ in range(each + (place < more))]


def _of(member: int, owners: Sequence[int]) -> list[int]:
    return [partition for partition, owner in enumerate(owners) if owner == member]


def _places(partitions: Sequence[int]) -> list[Row]:
    return [{"topic": TOPIC, "partition": partition} for partition in partitions]


def _evenly(first_ms: float, last_ms: float, count: int) -> list[float]:
    step_ms = (last_ms - first_ms) / max(1, count - 1)
    return [first_ms + number * step_ms for number in range(count)]


@dataclass
class _Story:
    """The rows of one round after the other; in each but the first one member falls silent."""

    rounds: int
    round_ms: int
    batches: int  # of one partition in one round
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in HISTORY})
    lives: list[int] = field(default_factory=lambda: [1] * MEMBERS)
    generation: int = 0
    leader: int = 0

    @property
    def end_ms(self) -> int:
        return self.rounds * self.round_ms

    def _id(self, member: int) -> str:
        return f"{_member(member)}-00000000-0000-4000-8000-{self.lives[member]:012d}"

    def round(self, number: int) -> None:
        start, silent, owners = number * self.round_ms, number % MEMBERS, _owners(_ALL)
        if number == 0:
            for member in _ALL:
                self._joins(start + member, member)
            self._rebalance(start + 5, _ALL, "Adding new member " + self._id(0), ())
        else:
            before, others = owners, [member for member in _ALL if member != silent]
            self._says("evicted", start + 1, member_id=self._id(silent))
            reason = f"removing member {self._id(silent)} on heartbeat expiration."
            self._rebalance(start + 2, others, reason, before)
            owners, back = _owners(others), start + _RETURNS_MS
            missed = {"generation": self.generation - 1}
            self._asks("HEARTBEAT", back - 51, silent, error_code=_UNKNOWN_MEMBER_ID, **missed)
            self._client_event("lost", back - 50, silent, _of(silent, before), **missed)
            self.lives[silent] += 1
            self._joins(back, silent)
            reason = f"Adding new member {self._id(silent)} with group instance id null"
            self._rebalance(back + 2, _ALL, reason, owners)
        self._work(number, owners)

    def _asks(self, api: str, ms: float, member: int, **row: Any) -> None:
        """One request of a member, answered within a millisecond."""
        asked = {
            "broker": 1,
            "api": api,
            "client_id": _member(member),
            "member_id": self._id(member),
            "group": GROUP,
            "error_code": 0,
            "arrived_at": moment(ms),
            "processed_at": moment(ms + 0.4),
            "answered_at": moment(ms + 0.5),
            "evidence": "requests:1",
        }
        self.rows["requests"].append({**asked, **row})

    def _says(self, event: str, ms: float, **row: Any) -> None:
        text = {"broker": 1, "at": moment(ms), "event": event, "group": GROUP, "evidence": "log:1"}
        self.rows["coordinator_events"].append({**text, **row})

    def _joins(self, ms: float, member: int) -> None:
        """In two steps (KIP-394), once it has asked for the coordinator."""
        found = json.dumps({"coordinator": 1})
        self._asks("FIND_COORDINATOR", ms - 3, member, member_id=None, detail=found)
        self._says("member_id_given", ms - 1, member_id=self._id(member))
        self._says("member_added", ms, member_id=self._id(member))

    def _client_event(
        self, event: str, ms: float, member: int, partitions: Sequence[int], **row: Any
    ) -> None:
        about: Row = {"member": _member(member), "member_id": self._id(member), "event": event}
        about |= {"event_at": moment(ms), "observed_at": moment(ms), "generation": self.generation}
        self.rows["client_events"].append({**about, "partitions": _places(partitions), **row})

    def _rebalance(
        self, ms: float, members: Sequence[int], reason: str, before: Sequence[int]
    ) -> None:
        """Start to end in 30 ms; who owned partitions `before` and is still there gives them up."""
        self._says("rebalance_started", ms, generation=self.generation, reason=reason)
        for member in sorted(set(before) & set(members)):
            self._client_event("revoked", ms + 4, member, _of(member, before))
        self.generation += 1
        in_it = {"generation": self.generation}
        self._says("stabilized", ms + 10, members=len(members), **in_it)
        if self.leader not in members:
            self.leader = members[0]
        leader = self._id(self.leader)
        self._says("assignment_received", ms + 12, member_id=leader, **in_it)
        owners = _owners(members)
        given = [
            {"member_id": self._id(owner), **place}
            for owner, place in zip(owners, _places(range(PARTITIONS)), strict=True)
        ]
        for member in members:
            mine = _of(member, owners)
            stamps = {"processed_at": moment(ms + 10), "answered_at": moment(ms + 10)}
            joined = {"session_timeout_ms": SESSION_MS, "leader": leader, "protocol_name": "range"}
            self._asks("JOIN_GROUP", ms + 6, member, **in_it, **stamps, **joined)
            stamps = {"processed_at": moment(ms + 20), "answered_at": moment(ms + 20)}
            assigned = {
                "assignments": given if member == self.leader else [],
                "assigned": _places(mine),
            }
            self._asks("SYNC_GROUP", ms + 11, member, **in_it, **stamps, **assigned)
            self._client_event("assigned", ms + 25, member, mine)

    def _work(self, number: int, owners: Sequence[int]) -> None:
        """Deliveries, commits and heartbeats of one round; `owners` are those of its beginning."""
        start, end, later = number * self.round_ms, (number + 1) * self.round_ms, _owners(_ALL)
        next_silent = None if number == self.rounds - 1 else (number + 1) % MEMBERS
        changed = start + _RETURNS_MS + 100
        found: list[int] = []
        later_found: list[int] = []
        for partition in range(PARTITIONS):
            cut = later[partition] == next_silent
            polls = self._polls_ms(number, end - SESSION_MS - 50 if cut else end - 200)
            index = number * self.batches
            times = [(index + place, ms + partition * 0.1) for place, ms in enumerate(polls)]
            if number > 0 and later[partition] == number % MEMBERS:
                times.insert(0, (index - 1, start + 50.0 + partition * 0.1))
            found.append(times[0][0] * BATCH)
            later_found.append(next(batch for batch, ms in times if ms >= changed) * BATCH)
            for batch, ms in times:
                owner = (owners if ms < changed else later)[partition]
                committed = not cut or batch < times[-1][0]
                poll = 2 * (batch + 1) + (batch < index)  # another one of what comes again
                self._deliver(partition, batch, ms, owner, poll, committed=committed)
        self._asks_for_positions(start + _ASKS_MS, owners, found)
        if number > 0:
            self._asks_for_positions(start + _RETURNS_MS + _ASKS_MS, later, later_found)
        for member in _ALL:
            away = number > 0 and member == number % MEMBERS
            begin = start + (_RETURNS_MS + 60 if away else 60)
            ms = end - SESSION_MS if member == next_silent else end - 1
            beats = range(ms, begin, -2_000)
            for ms in reversed(beats):
                self._asks("HEARTBEAT", ms, member, generation=self._generation_at(ms))

    def _polls_ms(self, number: int, last_ms: float) -> list[float]:
        """When a partition's batches of one round are polled.

        A member polls all its partitions at once. So the times are the same for all partitions
        until their owners change, and from then on for those of one owner. The change itself lies
        between two polls.
        """
        first_ms = number * self.round_ms + 60.0
        if number == 0:
            return _evenly(first_ms, last_ms, self.batches)
        changed_ms = number * self.round_ms + _RETURNS_MS + 100
        share = (changed_ms - first_ms) / self.round_ms
        before = min(max(1, round(self.batches * share)), self.batches - 1)
        return [
            *_evenly(first_ms, changed_ms - 150, before),
            *_evenly(changed_ms + 1, last_ms, self.batches - before),
        ]

    def _asks_for_positions(self, ms: float, owners: Sequence[int], found: Sequence[int]) -> None:
        """Each member asks where to read on; where nothing is committed, for the log's start."""

        def positions(partitions: Sequence[int], start: int) -> list[Row]:
            return [
                {**place, "committed": found[place["partition"]] or start, "error_code": 0}
                for place in _places(partitions)
            ]

        for member in sorted(set(owners)):
            mine = _of(member, owners)
            self._asks("OFFSET_FETCH", ms, member, positions=positions(mine, _NOTHING))
            if anew := [partition for partition in mine if found[partition] == 0]:
                detail = json.dumps({"timestamp": -2})  # -2 asks for the start of a log
                start = positions(anew, 0)
                self._asks("LIST_OFFSETS", ms + 1, member, positions=start, detail=detail)

    def _deliver(
        self, partition: int, batch: int, ms: float, owner: int, poll: int, *, committed: bool
    ) -> None:
        """One batch, processed within 2 ms and then committed."""
        generation, position = self._generation_at(ms), (batch + 1) * BATCH
        place: Row = {"topic": TOPIC, "partition": partition}
        by = {"member": _member(owner), "member_id": self._id(owner), "generation": generation}
        self.rows["deliveries"].append(
            {
                **by,
                **place,
                "poll": poll,
                "first_offset": batch * BATCH,
                "last_offset": position - 1,
                "count": BATCH,
                "polled_at": moment(ms),
                "processed_at": moment(ms + 2),
            }
        )
        if not committed:
            return
        place |= {"committed": position, "error_code": 0}
        asked = {"how": "sync", "asked_at": moment(ms + 2.1), "answered_at": moment(ms + 4.1)}
        self.rows["commits"].append({**by, **place, **asked})
        self._asks("OFFSET_COMMIT", ms + 2.5, owner, generation=generation, positions=[place])

    def _generation_at(self, ms: float) -> int:
        """Of the group at a time of this round: the evicted member comes back in its midst."""
        number = int(ms // self.round_ms)
        back = number * self.round_ms + _RETURNS_MS + 12
        return self.generation - 1 if number > 0 and ms < back else self.generation

    def end(self) -> None:
        for member in _ALL:
            ms = self.end_ms + member * 10
            self._client_event("closing", ms, member, [])
            self._client_event("revoked", ms + 1, member, _of(member, _owners(_ALL)))
            self._asks("LEAVE_GROUP", ms + 1.5, member)
            self._says("left", ms + 2, member_id=self._id(member))
            self._client_event("closed", ms + 5, member, [])
        leaving = {"generation": self.generation, "reason": "LeaveGroup"}
        self._says("rebalance_started", self.end_ms + 3, **leaving)
        self._says("emptied", self.end_ms + 23, generation=self.generation + 1)
        self._clients()

    def _clients(self) -> None:
        of_all = {
            **_CLIENT,
            "role": "consumer",
            "group": GROUP,
            "lane": "members",
            "started_at": moment(-1_000),
            "ended_at": moment(self.end_ms + 100),
            "end": "closed",
            "journal_frames": self.batches,
            "journal_torn": False,
        }
        self.rows["members"] += [{"member": _member(member), **of_all} for member in _ALL]
        end = self.rounds * self.batches * BATCH
        for place in _places(range(PARTITIONS)):
            self.rows["sends"] += [self._sent(place, first, end) for first in range(0, end, 50_000)]
            seen = {"at": moment(self.end_ms - 100), "what": "end_offset", "end_offset": end}
            self.rows["topology"].append({**place, **seen})
        ticks = range(0, self.end_ms, 100)
        self.rows["host"] += [{"at": moment(ms), "late_ms": 0.3} for ms in ticks]

    def _sent(self, place: Row, first: int, end: int) -> Row:
        """Records of a partition from an offset on, 50,000 at most, all acknowledged."""
        last = min(end, first + 50_000) - 1
        return {
            **place,
            "outcome": "acknowledged",
            "first_number": first,
            "last_number": last,
            "first_offset": first,
            "last_offset": last,
            "count": last - first + 1,
            "first_sent_at": moment(0),
            "last_answered_at": moment(self.end_ms),
        }
