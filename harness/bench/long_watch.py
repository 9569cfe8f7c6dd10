"""What those write who only watch a made-up long run, and its producer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TextIO

from consumers.config import ProducerConfig
from consumers.journal import Journal
from harness.bench import long_lines as lines
from harness.bench.long_plan import BROKERS, COORDINATOR, SECOND_US, START_US, LongPlan
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment import Fault
from harness.history.effects import OF_OLD_JOURNALS

_MS: Final = 1_000
_LOOK_US: Final = 230 * _MS  # from one look of the observer to its next
_TICK_US: Final = 100 * _MS
_WAITED_US: Final = 5 * SECOND_US
_BURST_US: Final = 20 * _MS
_REPORT_US: Final = 250 * _MS
_ANSWERED_US: Final = 55 * _MS  # from when a record was produced: linger.ms is 50
_EFFECTS: Final = {
    "kill-consumer": OF_OLD_JOURNALS["kill-consumer"]["at once"],
    "start-consumer": OF_OLD_JOURNALS["start-consumer"][""],
}
_TARGETS: Final = {"kill-consumer": "any member", "start-consumer": "new member"}


class Clock:
    """The time of day of a process that does not run: microseconds since the epoch."""

    def __init__(self, us: int) -> None:
        """Stopped at a moment; `us` is set to any other."""
        self.us = us

    def __call__(self) -> int:
        """Nanoseconds, as `time.time_ns` has them."""
        return self.us * 1_000


class Watch:
    """The observer: its journal, and its questions in the brokers' request logs."""

    def __init__(self, plan: LongPlan, run_dir: Path, requests: dict[int, TextIO]) -> None:
        self._plan = plan
        self._requests = requests
        self._clock = Clock(START_US - 2 * SECOND_US)
        self._next_look = self._clock.us
        self._next_tick = self._clock.us
        self._next_wait = self._clock.us
        self._commits: list[tuple[int, dict[int, int]]] = []
        self._seen = dict.fromkeys(range(plan.partitions), -1)
        self._notes: list[tuple[int, str, dict[str, Any]]] = []
        self._looks = 0
        path = run_dir / "journals" / "observer.journal"
        config = {
            "journal": str(path),
            "run": run_dir.name,
            "group": GROUP,
            "topic": TOPIC,
            "credentials": None,
            "broker_ports": {str(broker): 33678 + broker for broker in range(1, BROKERS + 1)},
        }
        path.with_suffix(".json").write_text(json.dumps(config))
        self._journal = Journal(path, "observer", self._clock)
        for broker in range(1, BROKERS + 1):
            self._journal.write("broker", broker=broker, alive=True, detail="answered")
        all_in_sync = list(range(1, BROKERS + 1))
        for topic, count in ((TOPIC, plan.partitions), ("__consumer_offsets", 5)):
            for partition in range(count):
                about = {"leader": COORDINATOR, "isr": all_in_sync, "replicas": BROKERS}
                self._journal.write("partition", topic=topic, partition=partition, **about)

    def committed(self, us: int, positions: dict[int, int]) -> None:
        """A commit took effect."""
        self._commits.append((us, positions))

    def rebalance(self, us: int, joined: int, members: int) -> None:
        """A rebalance began, and all had joined."""
        about = {"group": GROUP, "coordinator": COORDINATOR, "members": members}
        if joined - us > _LOOK_US:
            self._notes.append((us + 50 * _MS, "group", {**about, "state": "PreparingRebalance"}))
        self._notes.append((joined + 150 * _MS, "group", {**about, "state": "Stable"}))

    def look_until(self, us: int) -> list[tuple[int, str]]:
        """All looks and ticks before a moment. Returns the coordinator's lines, and when."""
        asked: list[tuple[int, str]] = []
        self._commits.sort(key=lambda each: each[0])
        done = 0
        while self._next_look < us:
            at = self._next_look
            while done < len(self._commits) and self._commits[done][0] < at + 3 * _MS:
                self._seen |= self._commits[done][1]
                done += 1
            self._looks += 1
            for moment in (at, at + 2 * _MS):
                asked.append((moment, self._line(moment, "FIND_COORDINATOR", lines.looked(), 0)))
            told = lines.positions_of_observer(self._seen)
            asked.append((at + 3 * _MS, self._line(at + 3 * _MS, "OFFSET_FETCH", told, 2)))
            for broker in range(2, BROKERS + 1):
                moment = at + (2 + broker) * _MS
                line = self._line(moment, "FIND_COORDINATOR", lines.looked(), 0)
                self._requests[broker].write(line)
            self._next_look += _LOOK_US
        del self._commits[:done]
        self._tick_until(us)
        return asked

    def _line(self, us: int, api: str, told: tuple[Any, Any], version: int) -> str:
        return lines.request(us, api, "observer", 1, *told, 0.25, "DIRECT", version)

    def _tick_until(self, us: int) -> None:
        self._notes.sort(key=lambda each: each[0])
        while self._next_tick < us:
            while self._notes and self._notes[0][0] <= self._next_tick:
                at, kind, about = self._notes.pop(0)
                self._write(at, kind, **about)
            self._write(
                self._next_tick,
                "tick",
                late_ms=0.1,
                clock_us=self._next_tick - START_US + SECOND_US,
            )
            if self._next_tick >= self._next_wait:
                since = self._next_tick - SECOND_US
                self._write(
                    self._next_tick, "waited", process="toxiproxy", from_us=since, waited_ms=56.395
                )
                self._next_wait += _WAITED_US
            self._next_tick += _TICK_US

    def _write(self, us: int, kind: str, **about: Any) -> None:
        self._clock.us = us
        self._journal.write(kind, **about)

    def end(self, us: int) -> None:
        """The last look, at the ends of all partitions."""
        self._clock.us = us
        sent = self._plan.sent_by(self._plan.end_us)
        for partition in range(self._plan.partitions):
            end = self._plan.of_partition(sent, partition)
            self._journal.write("end_offset", topic=TOPIC, partition=partition, end_offset=end)
        self._journal.end()


def write_producer(folder: Path, plan: LongPlan, config: ProducerConfig) -> None:
    """The producer's journal: a frame for each burst, and what was acknowledged meanwhile."""
    (folder / "producer-1.json").write_text(json.dumps(asdict(config), indent=2))
    (folder.parent / "logs" / "producer-1.log").touch()
    clock = Clock(START_US)
    journal = Journal(folder / "producer-1.journal", config.member, clock)
    versions = {"confluent-kafka": "2.16.1", "librdkafka": "2.16.0"}
    journal.write("started", versions=versions, config=asdict(config), effective={"acks": "all"})
    numbers = range(plan.partitions)
    acknowledged = [0] * plan.partitions
    report_us = START_US + _REPORT_US

    def report(us: int, sent: int) -> None:
        for partition in numbers:
            first, count = acknowledged[partition], plan.of_partition(sent, partition)
            if count > first:
                journal.write(
                    "acknowledged",
                    partition=partition,
                    first_number=first,
                    last_number=count - 1,
                    first_offset=first,
                    last_offset=count - 1,
                    first_sent_at=us - _REPORT_US - _ANSWERED_US,
                    last_answered_at=us - 1,
                    error_code=0,
                    error=None,
                )
                acknowledged[partition] = count

    for us in range(START_US + _BURST_US, plan.end_us + 1, _BURST_US):
        clock.us = us
        sent = plan.sent_by(us)
        told = ",".join(str(plan.of_partition(sent, partition)) for partition in numbers)
        journal.write_encoded("sending", f'"sent":[{told}]')
        if us >= report_us:
            report(us, plan.sent_by(us - _ANSWERED_US))
            report_us += _REPORT_US
    clock.us = plan.end_us + 2 * _ANSWERED_US
    journal.write("closing", why="ordered")
    report(clock.us, plan.sent_by(plan.end_us))
    journal.end()


def write_faults(folder: Path, faults: Sequence[tuple[int, str, str, str]], us: int) -> None:
    """The nemesis's journal: when a fault was, of which kind, of whom, and what proved it."""
    clock = Clock(START_US)
    journal = Journal(folder / "faults.journal", "nemesis", clock)
    for number, (at, kind, member, evidence) in enumerate(faults, start=1):
        declared = asdict(Fault(kind=kind, target=_TARGETS[kind], at_s=5))
        inject_s = round((at - START_US) / SECOND_US, 3)
        effects = asdict(_EFFECTS[kind])
        about = {
            "fault": f"{number}-{kind}",
            "fault_kind": kind,
            "target": _TARGETS[kind],
            "parameters": json.dumps({**declared, "inject_s": inject_s, "effects": effects}),
        }
        proof = {"at_us": at, "took_effect": True, "evidence": evidence}
        clock.us = at - 2 * _MS
        journal.write("fault", **about, resolved=None, phase="planned")
        clock.us = at - _MS
        journal.write("fault", **about, resolved=member, phase="injecting")
        clock.us = at + (20 if kind == "kill-consumer" else 2_700) * _MS
        journal.write("fault", **about, resolved=member, phase="injected", **proof)
    clock.us = us
    journal.end()
