"""Writes a run folder as a real one looks: three members, six partitions, three faults.

Member 1 is killed and comes back; member 2 is frozen past its session and wakes up as a zombie;
the coordinator's link is slow for a while. Everything that the report shows occurs at least once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history.derived import TABLES, VERDICTS
from harness.history.schema import HISTORY

Row = Mapping[str, Any]

STEADY: Final = datetime(2026, 11, 20, 10, 0, 12, 345_678, tzinfo=UTC)
TOPIC: Final = "orders"
GROUP: Final = "g-orders"
MEMBERS: Final = ("member-1", "member-2", "member-3")
END_S: Final = 58.0
# (generation, trigger, member, reason, started, joined, synced, completed, who is in it)
GENERATIONS: Final = (
    (1, "join", "member-1", "Adding new member", -9.8, -6.79, -6.77, -6.75, (1,)),
    (2, "join", "member-2", "Adding new member", -6.2, -4.7, -4.66, -4.6, (1, 2, 3)),
    (3, "expiry", "member-1", "removing member on heartbeat expiration", 13.42, 15.3, 15.36, 15.41,
     (2, 3)),
    (4, "join", "member-1", "Adding new member", 22.8, 24.6, 24.64, 24.71, (1, 2, 3)),
    (5, "expiry", "member-2", "removing member on heartbeat expiration", 36.1, 37.9, 37.93, 37.97,
     (1, 3)),
    (6, "rejoin", "member-2", "Adding new member", 41.2, 42.9, 42.95, 43.02, (1, 2, 3)),
)  # fmt: skip
KILLED_S: Final = 8.31
FROZEN_S: Final = 30.08
THAWED_S: Final = 40.6


def at(seconds: float) -> datetime:
    """Return the time so many seconds after steady state."""
    return STEADY + timedelta(microseconds=round(seconds * 1e6))


def write_run(run_dir: Path, **changes: Iterable[Row] | None) -> Path:
    """Write a complete run; `changes` replaces whole files ("verdicts", "faults", ...) by rows.

    A file that is changed to null is not written at all.
    """
    rows: dict[str, Iterable[Row] | None] = {**_history(), **_tables(), "verdicts": verdicts()}
    rows |= changes
    for name, schema in {**HISTORY, **TABLES, "verdicts": VERDICTS}.items():
        folder = "history/" if name in HISTORY else "tables/" if name in TABLES else ""
        given = rows.get(name, ())
        if given is not None:
            write_table(run_dir / f"{folder}{name}.parquet", schema, given)
    write_manifest(run_dir)
    logs = run_dir / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "broker-2.requests.log").write_text("{}\n" * 900)
    return run_dir


def write_table(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> None:
    """Write rows as the harness does; columns that a row does not name are null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def write_manifest(run_dir: Path, **changes: object) -> None:
    """Write the manifest, with some of its keys changed."""
    run_dir.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest() | changes, indent=2)
    (run_dir / "manifest.json").write_text(text, encoding="utf-8")


def manifest() -> dict[str, object]:
    """Return the manifest of a complete run."""
    bounds = (-24.0, -11.0, 0.0, 5.0, 45.0, 52.0, END_S, 61.0)
    names = ("start cluster", "start fleet", "steady", "faults", "recover", "drain", "stop")
    return {
        "schema_version": 1,
        "run": "2026-11-20T09-59-48Z-7f3a",
        "experiment": "consumer-freeze",
        "claim": "A member that stays silent for its session timeout loses its partitions, "
        "and no acknowledged record is lost with it.",
        "status": "complete",
        "status_reason": "",
        "seed": 421_337,
        "started_at": "2026-11-20T09:59:48.345678Z",
        "ended_at": "2026-11-20T10:01:13.345678Z",
        "group": GROUP,
        "topic": TOPIC,
        "versions": {
            "harness": "0.1.0",
            "kafka": "4.3.1",
            "librdkafka": "2.16.0",
            "confluent-kafka": "2.16.1",
            "toxiproxy": "2.12.0",
            "java": "25.0.2",
            "spark": "4.3.0",
            "python": "3.11.9",
        },
        "host": {"cores": 2, "memory_mb": 7_972, "platform": "Linux-6.1-x86_64"},
        "declared": {
            "claim": "…",
            "cluster": {"brokers": 3, "controllers": 1, "kafka_version": "4.3.1", "settings": {}},
            "load": {"partitions": 6, "replication": 3, "records_per_s": 300, "acks": "all"},
            "group": {
                "members": 3,
                "client": "librdkafka",
                "protocol": "eager",
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 2_000,
                "max_poll_interval_ms": 60_000,
                "commit": "sync",
            },
        },
        "phases": [
            {"name": n, "from": at(a).isoformat(), "to": at(b).isoformat()}
            for n, a, b in zip(names, bounds[:-1], bounds[1:], strict=True)
        ],
        "effective": {
            "broker": {"group.initial.rebalance.delay.ms": "3000"},
            "consumer": {"session.timeout.ms": 6000, "enable.auto.commit": False},
        },
    }


def verdict(rule: str, verdict: str = "HOLDS", expected: str = "HOLDS", **more: Any) -> Row:
    """Return one row of verdicts.parquet."""
    return {
        "rule": rule,
        "source": "KIP-62, Public Interfaces",
        "statement": f"The statement of {rule}.",
        "protocol": "eager",
        "client": "librdkafka",
        "expected": expected,
        "verdict": verdict,
        "examined": 12,
        "violations": 0,
        "unknowns": 0,
        "reason": "every row is inside the bound",
        "evidence": "tables/judgements.parquet",
    } | more


def measured(low: float, middle: float, high: float, unit: str = "ms") -> dict[str, Any]:
    """Return the columns of a measurement."""
    values = dict(zip(("min", "p50", "p99", "max"), (low, middle, high, high), strict=True))
    return {**{f"measured_{name}": value for name, value in values.items()}, "unit": unit}


def verdicts() -> list[Row]:
    """Return verdicts of every kind, in an order that the report must change."""
    late, none = measured(6_000.4, 6_000.9, 6_001.3), measured(0, 0, 0, "records")
    return [
        verdict("eviction_not_early", bound_low=6_000.0, **late),
        verdict("eviction_in_time", bound_low=6_000.0, bound_high=6_250.0, **late),
        verdict("heartbeat_cadence", bound_low=1_900.0, **measured(1_996.0, 2_000.1, 2_014.0)),
        verdict(
            "session_expiry_keeps_assignment",
            *("VIOLATED", "VIOLATED"),
            violations=1,
            reason="member-2 lost its assignment 41 ms after it woke up",
            because="librdkafka drops the assignment itself; only the Java client keeps it",
            **measured(41.0, 41.0, 41.0),
        ),
        verdict("no_lost_records", examined=17_406, bound_high=0.0, **none),
        verdict(
            "one_owner",
            "VIOLATED",
            violations=2,
            unknowns=1,
            bound_high=0.0,
            reason="member-2 held orders-2 for 2.76 s after <script>alert(1)</script> it was lost",
            **measured(0.0, 0.0, 2_760.0),
        ),
        verdict(
            "join_bounded_by_largest_poll_interval",
            "UNKNOWN",
            examined=0,
            reason="no rebalance had to wait for a member, so nothing was exercised",
            evidence=None,
        ),
        verdict("redelivery_bounded_by_commit", bound_high=0.0, **none),
    ]


def member_id(member: str) -> str:
    """Return the id that the coordinator gave a member."""
    return f"{member}-3f0c1d2e-{member[-1] * 4}"


def owners() -> list[tuple[int, str, float, float | None, int, str | None, float | None]]:
    """Return (partition, member, from, to, generation, ended by, removed) of the sample run."""
    found: list[tuple[int, str, float, float | None, int, str | None, float | None]] = []
    for n, (generation, *_, completed, inside) in enumerate(GENERATIONS):
        following = GENERATIONS[n + 1] if n + 1 < len(GENERATIONS) else None
        for partition in range(6):
            member = f"member-{inside[partition * len(inside) // 6]}"
            to = following[4] + 0.4 * int(member[-1]) if following else None
            ended_by, removed = ("revoked" if following else None), None
            if generation == 2 and member == "member-1":
                to, ended_by = KILLED_S, "killed"
            if generation == 4 and member == "member-2":
                to, ended_by, removed = THAWED_S + 0.041, "lost", 36.1
            found.append((partition, member, completed, to, generation, ended_by, removed))
    return found


def stop(partition: int, ms: float, detection_ms: float, **changes: Any) -> Row:
    """A partition of member-1 that went to member-2 when it was killed."""
    row = {
        "group": GROUP,
        "episode": 2,
        "generation": 3,
        "rounds": 1,
        "protocol": "eager",
        "trigger": "expiry",
        "cause": "kill-consumer",
        "subject": "member-1",
        "topic": TOPIC,
        "partition": partition,
        "old_member": "member-1",
        "new_member": "member-2",
        "waited_for": "member-3",
        "from_at": at(8.3),
        "to_at": at(8.3 + ms / 1e3),
        "ms": ms,
        "usual_ms": 210.0,
        "stopped": True,
        "idle_ms": 0.0,
        "detection_ms": detection_ms,
        "join_ms": ms - detection_ms,
        "redelivered": 4,
    }
    return row | changes


def _tables() -> dict[str, list[Row]]:
    return {
        "rebalances": [_rebalance(n) for n in range(len(GENERATIONS))],
        "stops": [stop(0, 7_100, 5_900), stop(1, 1_900, 700)],
        "ownership": [
            {
                "topic": TOPIC,
                "partition": partition,
                "member": member,
                "member_id": member_id(member),
                "generation": generation,
                "from_at": at(start),
                "to_at": None if end is None else at(end),
                "ended_by": ended_by,
                "removed_at": None if removed is None else at(removed),
            }
            for partition, member, start, end, generation, ended_by, removed in owners()
        ],
        "redeliveries": _redeliveries(),
        "evictions": [_eviction("member-1", 13.42, 7.4191), _eviction("member-2", 36.1, 30.0987)],
        "heartbeats": _heartbeats(),
    }


def _rebalance(n: int) -> Row:
    generation, trigger, member, reason, started, joined, synced, completed, inside = GENERATIONS[n]
    times = {"started": started, "joined": joined, "synced": synced, "completed": completed}
    return {
        "group": GROUP,
        "generation": generation,
        "trigger": trigger,
        "trigger_member": member,
        "trigger_member_id": member_id(member),
        "reason": f"{reason} {member_id(member)}",
        "protocol": "eager",
        "members_before": len(GENERATIONS[n - 1][8]) if n else 0,
        "members_after": len(inside),
        "leader": f"member-{inside[0]}",
        **{f"{name}_at": at(seconds) for name, seconds in times.items()},
        "duration_ms": (completed - started) * 1e3,
        "partitions_moved": 4 if n else 6,
        "partitions_kept": 2 if n else 0,
        "partitions_revoked": 6 if n else 0,
    }


def _redeliveries() -> list[Row]:
    ranges = (
        (2, 1_402, 61, (2, 3), True),
        (3, 1_398, 100, (2, 3), True),
        (0, 371, 12, (1, 2), False),
    )
    return [
        {
            "topic": TOPIC,
            "partition": partition,
            "first_offset": first,
            "last_offset": first + count - 1,
            "count": count,
            "first_member": f"member-{one}",
            "first_polled_at": at(29.9),
            "member": f"member-{other}",
            "polled_at": at(38.2),
            "committed": first if explained else first + count,
            "explained": explained,
        }
        for partition, first, count, (one, other), explained in ranges
    ]


def _eviction(member: str, evicted: float, seen: float) -> Row:
    return {
        "group": GROUP,
        "member": member,
        "member_id": member_id(member),
        "evicted_at": at(evicted),
        "last_seen_at": at(seen),
        "silence_ms": (evicted - seen) * 1e3,
    }


def _heartbeats() -> list[Row]:
    silent = {"member-1": (KILLED_S, 24.7), "member-2": (FROZEN_S, 43.0), "member-3": (99.0, 99.0)}
    windows = [(started, joined) for *_, started, joined, _, _, _ in GENERATIONS]
    beats = [("member-2", THAWED_S + 0.04, 25)]
    for offset, member in enumerate(MEMBERS):
        for beat in range(32):
            seconds = -4.5 + 0.4 * offset + 2.0 * beat
            if seconds < END_S and not silent[member][0] <= seconds <= silent[member][1]:
                rebalancing = any(a <= seconds <= b for a, b in windows)
                beats.append((member, seconds, 27 if rebalancing else 0))
    return [
        {
            "group": GROUP,
            "member": member,
            "member_id": member_id(member),
            "at": at(seconds),
            "gap_ms": 2_000.4,
            "error_code": error_code,
            "steady": error_code == 0,
        }
        for member, seconds, error_code in beats
    ]


def _history() -> dict[str, list[Row]]:
    seen = {"what": "group", "group": GROUP, "coordinator": 2}
    sent = {"topic": TOPIC, "outcome": "acknowledged", "first_offset": 0, "last_offset": 2_900}
    return {
        "deliveries": _deliveries(),
        "sends": [{**sent, "partition": partition, "count": 2_901} for partition in range(6)],
        "faults": faults(),
        "topology": [{**seen, "at": at(-12)}, {**seen, "at": at(-4)}],
        "client_events": _client_events(),
        "coordinator_events": _coordinator_events(),
        "requests": _requests(),
    }


def _deliveries() -> list[Row]:
    """Every 0.5 s each owner that is awake processes what has come, half of it at most."""
    rows: list[Row] = []
    for partition in range(6):
        first = 0
        mine = [owner for owner in owners() if owner[0] == partition]
        for tick in range(-14, round(END_S * 2)):
            seconds = tick / 2
            holders = [o for o in mine if o[2] <= seconds < (o[3] or END_S)]
            awake = [o for o in holders if not (o[1] == "member-2" and 30 <= seconds < THAWED_S)]
            count = min(round(50 * (seconds + 7)) - first, 100)
            if not awake or count <= 0:
                continue
            row = {
                "member": awake[-1][1],
                "poll": 1 + first // 100,
                "topic": TOPIC,
                "partition": partition,
                "first_offset": first,
                "last_offset": first + count - 1,
                "count": count,
                "polled_at": at(seconds),
                "processed_at": at(seconds + count / 1000),
            }
            rows.append(row)
            first += count
    return rows


def faults() -> list[Row]:
    """Return the fault journal: a kill healed by a restart, a freeze, and a slow link."""

    def journal(fault: str, target: str, resolved: str, evidence: str, *times: float) -> list[Row]:
        kind = fault.partition("-")[2]
        phases = ("planned", "injecting", "injected", "healing", "healed")
        return [
            {
                "fault": fault,
                "kind": kind,
                "target": target,
                "resolved": None if phase == "planned" else resolved,
                "phase": phase,
                "at": at(seconds),
                "took_effect": True if phase == "injected" else None,
                "evidence": evidence if phase == "injected" else None,
                "parameters": json.dumps(
                    {"lasts_s": times[-1] - times[2], "effects": {"killed": "kill" in kind}}
                ),
            }
            for phase, seconds in zip(phases, times, strict=True)
        ]

    return [
        *journal(
            "1-kill-consumer", "member 1", "member-1",
            "the process table shows pid 4711 gone, ended by signal 9",
            0.1, 8.3, KILLED_S, 21.9, 22.4,
        ),
        *journal(
            "2-freeze-consumer", "any member", "member-2",
            "the kernel shows pid 4712 in state T; its processor time stood still for 10.5 s",
            0.1, 30.0, FROZEN_S, 40.5, THAWED_S,
        ),
        *journal(
            "3-latency", "coordinator", "broker-2",
            "a connect through the proxy took 203 ms, before that 1 ms",
            0.1, 31.9, 32.0, 35.0, 35.02,
        ),
    ]  # fmt: skip


def _client_events() -> list[Row]:
    rows: list[Row] = []

    def add(member: str, event: str, seconds: float, generation: int, mine: Sequence[int]) -> None:
        partitions = [{"topic": TOPIC, "partition": partition} for partition in mine]
        row = {"member": member, "event": event, "generation": generation, "partitions": partitions}
        times = {"event_at": at(seconds), "observed_at": at(seconds)}
        rows.append({**row, **times, "member_id": member_id(member)})

    for n, (generation, *_, completed, inside) in enumerate(GENERATIONS):
        for number in inside:
            member = f"member-{number}"
            mine = [p for p in range(6) if f"member-{inside[p * len(inside) // 6]}" == member]
            add(member, "assigned", completed, generation, mine)
            silenced = (generation, number) in ((2, 1), (4, 2))  # killed; frozen, later lost
            if n + 1 < len(GENERATIONS) and not silenced:
                add(member, "revoked", GENERATIONS[n + 1][4] + 0.4 * number, generation, mine)
    add("member-2", "session_timed_out", THAWED_S + 0.02, 4, [])
    add("member-2", "lost", THAWED_S + 0.041, 4, [2, 3])
    return rows


def _coordinator_events() -> list[Row]:
    rows: list[Row] = []

    def add(seconds: float, event: str, generation: int, **more: Any) -> None:
        row = {"broker": 2, "at": at(seconds), "event": event, "group": GROUP}
        rows.append(row | {"generation": generation} | more)

    for generation, trigger, member, reason, started, joined, synced, _, inside in GENERATIONS:
        if trigger == "expiry":
            add(started - 0.001, "evicted", generation - 1, member_id=member_id(member))
        add(started, "rebalance_started", generation - 1, reason=reason)
        add(joined, "stabilized", generation, members=len(inside))
        leader = member_id(f"member-{inside[0]}")
        add(synced, "assignment_received", generation, member_id=leader)
    return rows


def _requests() -> list[Row]:
    return [
        {
            "broker": 2,
            "api": api,
            "client_id": f"member-{number}",
            "member_id": member_id(f"member-{number}"),
            "group": GROUP,
            "generation": generation,
            "error_code": 0,
            "arrived_at": at(seconds - 0.4),
            "processed_at": at(seconds),
            "answered_at": at(seconds + 0.001),
        }
        for generation, *_, joined, synced, _, inside in GENERATIONS
        for number in inside
        for api, seconds in (("JOIN_GROUP", joined), ("SYNC_GROUP", synced + 0.002 * number))
    ]
