"""A made-up history of any size, for benchmarks, for tests, and to train Spark's AOT cache.

Three members read six partitions. Every so often one of them falls silent for a session, is
evicted with one batch uncommitted, and comes back under a new member id; so each such round has
two rebalances, and one redelivered batch per partition that it held. Every rule holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from harness.bench.synthetic_plan import (
    BATCH,
    GROUP,
    MEMBERS,
    NOTHING,
    PARTITIONS,
    SESSION_MS,
    START,
    TOPIC,
    Floats,
    SyntheticPlan,
    manifest_of,
    moment,
    plan_of,
    positions,
    sends,
)
from harness.history import store
from harness.history.schema import HISTORY

_RETURNS_MS: Final = 4_000  # from its eviction until the evicted member is back
_ASKS_MS: Final = 35  # from a rebalance until members ask for their positions
Ints = np.ndarray[Any, np.dtype[np.int64]]


def write_synthetic(run_dir: Path, records: int) -> Path:
    """Write a whole run (manifest and history) in which about so many records are delivered."""
    plan = plan_of(records)
    tables = _Builder(plan).build()
    for name, schema in HISTORY.items():
        store.write(run_dir / "history" / f"{name}.parquet", [tables[name]], schema)
    text = json.dumps(manifest_of(plan), indent=2)
    (run_dir / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return run_dir


def _stamps(ms: Floats) -> pa.Array[Any]:
    start_us = int(START.timestamp() * 1e6)
    return pa.array(start_us + np.round(ms * 1e3).astype(np.int64), pa.timestamp("us", tz="UTC"))


def _member(number: int) -> str:
    return f"member-{number + 1}"


@dataclass
class _Builder:
    """Rows of few are dicts; columns of many are arrays."""

    plan: SyntheticPlan
    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {name: [] for name in HISTORY}
    )
    bulk: dict[str, list[pa.Table]] = field(default_factory=lambda: {name: [] for name in HISTORY})
    lives: list[int] = field(default_factory=lambda: [1] * MEMBERS)
    generation: int = 0
    leader: int = 0

    def build(self) -> dict[str, pa.Table]:
        for number in range(self.plan.rounds):
            self._round(number)
        self._end()
        self._clients()
        return {
            name: pa.concat_tables(
                [*self.bulk[name], pa.Table.from_pylist(self.rows[name], schema=schema)]
            )
            for name, schema in HISTORY.items()
        }

    def _id(self, member: int) -> str:
        return f"{_member(member)}-00000000-0000-4000-8000-{self.lives[member]:012d}"

    def _round(self, number: int) -> None:
        start = number * self.plan.round_ms
        silent = self._silent(number)
        if number == 0:
            for member in range(MEMBERS):
                self._joins(start + member, member)
            self._rebalance(start + 5, range(MEMBERS), "Adding new member " + self._id(0), ())
            owners = later = self._owners(range(MEMBERS))
        else:
            others = [member for member in range(MEMBERS) if member != silent]
            self._says("evicted", start + 1, member_id=self._id(silent))
            reason = f"removing member {self._id(silent)} on heartbeat expiration."
            before = self._owners(range(MEMBERS))
            self._rebalance(start + 2, others, reason, before)
            owners = self._owners(others)
            back = start + _RETURNS_MS
            held = [p for p in range(PARTITIONS) if before[p] == silent]
            refused = {"generation": self.generation - 1, "error_code": 25}  # UNKNOWN_MEMBER_ID
            self._asks("HEARTBEAT", back - 51, silent, **refused)
            self._client_event("lost", back - 50, silent, held, generation=self.generation - 1)
            self.lives[silent] += 1
            self._joins(back, silent)
            reason = f"Adding new member {self._id(silent)} with group instance id null"
            self._rebalance(back + 2, range(MEMBERS), reason, owners)
            later = self._owners(range(MEMBERS))
        self._work(number, owners, later)

    def _silent(self, number: int) -> int:
        return number % MEMBERS

    def _owners(self, members: Sequence[int]) -> list[int]:
        """As Kafka's range assignor does it: each member gets partitions that lie together."""
        each, more = divmod(PARTITIONS, len(members))
        return [
            member
            for place, member in enumerate(sorted(members))
            for _ in range(each + (place < more))
        ]

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
        self,
        event: str,
        ms: float,
        member: int,
        partitions: Sequence[int],
        generation: int | None = None,
    ) -> None:
        self.rows["client_events"].append(
            {
                "member": _member(member),
                "event": event,
                "event_at": moment(ms),
                "observed_at": moment(ms),
                "member_id": self._id(member),
                "generation": self.generation if generation is None else generation,
                "partitions": [{"topic": TOPIC, "partition": p} for p in partitions],
            }
        )

    def _rebalance(
        self, ms: float, members: Sequence[int], reason: str, before: Sequence[int]
    ) -> None:
        """Start to end in 30 ms; who owned partitions `before` and is still there gives them up."""
        self._says("rebalance_started", ms, generation=self.generation, reason=reason)
        for member in sorted(set(before) & set(members)):
            mine_before = [p for p, owner in enumerate(before) if owner == member]
            self._client_event("revoked", ms + 4, member, mine_before)
        self.generation += 1
        self._says("stabilized", ms + 10, generation=self.generation, members=len(members))
        if self.leader not in members:
            self.leader = members[0]
        leader = self._id(self.leader)
        self._says("assignment_received", ms + 12, generation=self.generation, member_id=leader)
        owners = self._owners(members)
        for member in members:
            common = {
                "broker": 1,
                "client_id": _member(member),
                "member_id": self._id(member),
                "group": GROUP,
                "generation": self.generation,
                "error_code": 0,
                "evidence": "requests:1",
            }
            given_to = [p for p, owner in enumerate(owners) if owner == member]
            mine = [{"topic": TOPIC, "partition": p} for p in given_to]
            given = [
                {"member_id": self._id(owners[p]), "topic": TOPIC, "partition": p}
                for p in range(PARTITIONS)
            ]
            self.rows["requests"] += [
                {
                    **common,
                    "api": "JOIN_GROUP",
                    "arrived_at": moment(ms + 6),
                    "processed_at": moment(ms + 10),
                    "answered_at": moment(ms + 10),
                    "session_timeout_ms": SESSION_MS,
                    "leader": leader,
                    "protocol_name": "range",
                },
                {
                    **common,
                    "api": "SYNC_GROUP",
                    "arrived_at": moment(ms + 11),
                    "processed_at": moment(ms + 20),
                    "answered_at": moment(ms + 20),
                    "assignments": given if member == self.leader else [],
                    "assigned": mine,
                },
            ]
            self._client_event("assigned", ms + 25, member, given_to)

    def _work(self, number: int, owners: Sequence[int], later: Sequence[int]) -> None:
        """Deliveries, commits and heartbeats of one round."""
        start, end = number * self.plan.round_ms, (number + 1) * self.plan.round_ms
        last_round = number == self.plan.rounds - 1
        next_silent = None if last_round else self._silent(number + 1)
        changed = start + _RETURNS_MS + 100
        found: list[int] = []
        later_found: list[int] = []
        for partition in range(PARTITIONS):
            cut = later[partition] == next_silent
            stop = end - SESSION_MS - 50 if cut else end - 200
            times = self.plan.polls_ms(start + 60.0, changed if number else None, stop)
            times = times + partition * 0.1
            repeats = number > 0 and self._owners(range(MEMBERS))[partition] == self._silent(number)
            index = np.arange(self.plan.batches) + number * self.plan.batches
            polls = 2 * (index + 1)
            if repeats:
                index = np.concatenate([[index[0] - 1], index])
                times = np.concatenate([[start + 50.0 + partition * 0.1], times])
                polls = np.concatenate([[polls[0] - 1], polls])
            who = np.where(times < changed, owners[partition], later[partition])
            self._deliver(partition, index, polls, times, who, committed=not cut)
            found.append(int(index[0]) * BATCH)
            later_found.append(int(index[times >= changed][0]) * BATCH)
        self._asks_for_positions(start + _ASKS_MS, owners, found)
        if number > 0:
            self._asks_for_positions(start + _RETURNS_MS + _ASKS_MS, later, later_found)
        for member in range(MEMBERS):
            away = number > 0 and member == self._silent(number)
            begin = start + (_RETURNS_MS + 60 if away else 60)
            until = end - SESSION_MS + 1 if member == next_silent else end
            self._heartbeat(member, np.arange(until - 1, begin, -2_000.0)[::-1])

    def _asks_for_positions(self, ms: float, owners: Sequence[int], found: Sequence[int]) -> None:
        """Each member asks where to read on; where nothing is committed, for the log's start."""
        for member in sorted(set(owners)):
            mine = [p for p in range(PARTITIONS) if owners[p] == member]
            anew = [p for p in mine if found[p] == 0]
            self._asks("OFFSET_FETCH", ms, member, positions=positions(mine, found, NOTHING))
            if anew:
                start = positions(anew, found, 0)
                detail = json.dumps({"timestamp": -2})  # -2 asks for the start of a log
                self._asks("LIST_OFFSETS", ms + 1, member, positions=start, detail=detail)

    def _deliver(
        self,
        partition: int,
        index: Ints,
        polls: Ints,
        times: Floats,
        who: Ints,
        *,
        committed: bool,
    ) -> None:
        count = len(index)
        names, ids = self._names(who)
        topic = pa.repeat(pa.scalar(TOPIC), count)
        number = pa.repeat(pa.scalar(partition, pa.int32()), count)
        generation = self._generations(times)
        first = index * BATCH
        self._bulk(
            "deliveries",
            member=names,
            poll=pa.array(polls),
            topic=topic,
            partition=number,
            first_offset=pa.array(first),
            last_offset=pa.array(first + BATCH - 1),
            count=pa.repeat(pa.scalar(BATCH, pa.int64()), count),
            member_id=ids,
            generation=generation,
            polled_at=_stamps(times),
            processed_at=_stamps(times + 2),
        )
        kept = count if committed else count - 1
        position = pa.array(first[:kept] + BATCH)
        zeros = pa.repeat(pa.scalar(0, pa.int32()), kept)
        self._bulk(
            "commits",
            member=names[:kept],
            how=pa.repeat(pa.scalar("sync"), kept),
            topic=topic[:kept],
            partition=number[:kept],
            committed=position,
            member_id=ids[:kept],
            generation=generation[:kept],
            asked_at=_stamps(times[:kept] + 2.1),
            answered_at=_stamps(times[:kept] + 4.1),
            error_code=zeros,
        )
        parts = pa.StructArray.from_arrays(
            [topic[:kept], number[:kept], position, zeros],
            fields=list(HISTORY["requests"].field("positions").type.value_type),
        )
        self._request(
            "OFFSET_COMMIT",
            names[:kept],
            ids[:kept],
            times[:kept] + 2.5,
            positions=pa.ListArray.from_arrays(pa.array(np.arange(kept + 1), pa.int32()), parts),
        )

    def _heartbeat(self, member: int, times: Floats) -> None:
        names, ids = self._names(np.full(len(times), member))
        self._request("HEARTBEAT", names, ids, times)

    def _generations(self, times: Floats) -> pa.Array[Any]:
        """Of the group at these times of this round: the evicted member comes back in its midst."""
        number = int(times[0] // self.plan.round_ms) if len(times) else 0
        back = number * self.plan.round_ms + _RETURNS_MS + 12
        before = (times < back) & (number > 0)
        return pa.array(np.where(before, self.generation - 1, self.generation), pa.int32())

    def _names(self, who: Ints) -> tuple[pa.Array[Any], pa.Array[Any]]:
        numbers = pa.array(who, pa.int32())
        names = pa.array([_member(member) for member in range(MEMBERS)]).take(numbers)
        return names, pa.array([self._id(member) for member in range(MEMBERS)]).take(numbers)

    def _request(
        self,
        api: str,
        names: pa.Array[Any],
        ids: pa.Array[Any],
        times: Floats,
        **more: pa.Array[Any],
    ) -> None:
        count = len(times)
        self._bulk(
            "requests",
            broker=pa.repeat(pa.scalar(1, pa.int32()), count),
            api=pa.repeat(pa.scalar(api), count),
            client_id=names,
            member_id=ids,
            group=pa.repeat(pa.scalar(GROUP), count),
            generation=self._generations(times),
            error_code=pa.repeat(pa.scalar(0, pa.int32()), count),
            arrived_at=_stamps(times),
            processed_at=_stamps(times + 0.4),
            answered_at=_stamps(times + 0.5),
            **more,
        )

    def _bulk(self, table: str, **columns: pa.Array[Any]) -> None:
        schema = HISTORY[table]
        count = len(next(iter(columns.values())))
        arrays = [
            columns.get(name, pa.nulls(count, schema.field(name).type)) for name in schema.names
        ]
        self.bulk[table].append(pa.Table.from_arrays(arrays, schema=schema))

    def _end(self) -> None:
        """All members close, one by one."""
        owners = self._owners(range(MEMBERS))
        for member in range(MEMBERS):
            ms = self.plan.end_ms + member * 10
            self._client_event("closing", ms, member, [])
            self._client_event(
                "revoked", ms + 1, member, [p for p in range(PARTITIONS) if owners[p] == member]
            )
            self._asks("LEAVE_GROUP", ms + 1.5, member)
            self._says("left", ms + 2, member_id=self._id(member))
            self._client_event("closed", ms + 5, member, [])
        self._says(
            "rebalance_started",
            self.plan.end_ms + 3,
            generation=self.generation,
            reason="LeaveGroup",
        )
        self._says("emptied", self.plan.end_ms + 23, generation=self.generation + 1)

    def _clients(self) -> None:
        ended = moment(self.plan.end_ms + 100)
        for member in range(MEMBERS):
            self.rows["members"].append(
                {
                    "member": _member(member),
                    "role": "consumer",
                    "client": "librdkafka",
                    "group": GROUP,
                    "lane": "members",
                    "session_timeout_ms": SESSION_MS,
                    "heartbeat_interval_ms": 2_000,
                    "max_poll_interval_ms": 60_000,
                    "commit": "sync",
                    "batch_records": BATCH * PARTITIONS,  # a poll may have one of each
                    "started_at": moment(-1_000),
                    "ended_at": ended,
                    "end": "closed",
                    "journal_frames": self.plan.batches,
                    "journal_torn": False,
                }
            )
        last = self.plan.rounds * self.plan.batches * BATCH - 1
        for partition in range(PARTITIONS):
            self.rows["sends"] += list(sends(partition, last, self.plan.end_ms))
            self.rows["topology"].append(
                {
                    "at": moment(self.plan.end_ms - 100),
                    "what": "end_offset",
                    "topic": TOPIC,
                    "partition": partition,
                    "end_offset": last + 1,
                }
            )
        ticks = np.arange(0.0, self.plan.end_ms, 100.0)
        late = pa.array(np.full(len(ticks), 0.3))
        self._bulk("host", at=_stamps(ticks), late_ms=late)
