"""The observer: a process that no fault touches, watching the cluster and the machine.

It looks over the direct listeners only, so that it goes on seeing while the members' links are cut,
and it writes a row where something changed. Its main thread does nothing but tick: how late a tick
runs is how long this machine kept everybody waiting, and the judge trusts no timing past that.

    python -m harness.observer CONFIG.json      (ends when its standard input is closed)
"""

import json
import logging
import select
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from consumers.journal import Journal
from harness import probe

TICK_S: Final = 0.01
TICKS_PER_ROW: Final = 10
LOOK_EVERY_S: Final = 0.2
_ASK_S: Final = 0.5

_quiet = logging.getLogger("observer-admin")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


@dataclass
class Watch:
    """What the observer looks at, and what it last saw (key to row, so that only changes are kept)."""

    journal: Journal
    group: str
    topics: list[str]
    broker_ports: dict[int, int]
    admin: AdminClient
    seen: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    drain: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    writing: threading.Lock = field(default_factory=threading.Lock)  # two threads, one journal

    def write(self, kind: str, **row: Any) -> None:  # noqa: ANN401 (JSON)
        """Write one frame."""
        with self.writing:
            self.journal.write(kind, **row)

    def note(self, what: str, key: tuple[Any, ...], **row: Any) -> None:  # noqa: ANN401 (JSON)
        """Write a row if it differs from the last one with the same key."""
        if self.seen.get((what, *key)) != row:
            self.seen[(what, *key)] = row
            self.write(what, **row)

    def look(self) -> None:
        """One look at everything."""
        for broker, port in self.broker_ports.items():
            answer = probe.ask(port, timeout_s=_ASK_S)
            self.note(
                "broker",
                (broker,),
                broker=broker,
                alive=answer.outcome == "answered",
                detail=answer.outcome,
            )
        self._look_at_partitions()
        self._look_at_group()
        if self.drain.is_set():
            self._look_at_ends()

    def _look_at_partitions(self) -> None:
        try:
            metadata = self.admin.list_topics(timeout=1)
        except KafkaException as error:
            self.note("unreachable", ("metadata",), detail=str(error.args[0]))
            return
        for topic in self.topics:
            if topic not in metadata.topics:
                continue
            for number, partition in metadata.topics[topic].partitions.items():
                self.note(
                    "partition",
                    (topic, number),
                    topic=topic,
                    partition=number,
                    leader=partition.leader,
                    isr=sorted(partition.isrs),
                )

    def _look_at_group(self) -> None:
        try:
            future = self.admin.describe_consumer_groups([self.group], request_timeout=1)
            group = future[self.group].result(timeout=2)
        except (KafkaException, TimeoutError) as error:
            self.note("unreachable", ("group",), group=self.group, detail=type(error).__name__)
            return
        self.seen.pop(("unreachable", "group"), None)
        self.note(
            "group",
            (self.group,),
            group=self.group,
            state=group.state.name,
            coordinator=group.coordinator.id if group.coordinator else None,
            members=len(group.members),
        )

    def _look_at_ends(self) -> None:
        wanted = {
            TopicPartition(topic, number): OffsetSpec.latest()
            for what, topic, number in [key for key in self.seen if key[0] == "partition"]
            if not topic.startswith("__")
        }
        try:
            futures = self.admin.list_offsets(wanted, request_timeout=2)
            for partition, future in futures.items():
                self.note(
                    "end_offset",
                    (partition.topic, partition.partition),
                    topic=partition.topic,
                    partition=partition.partition,
                    end_offset=future.result(timeout=3).offset,
                )
        except (KafkaException, TimeoutError) as error:
            self.note("unreachable", ("end offsets",), detail=type(error).__name__)


def tick(watch: Watch) -> None:
    """Tick until standard input is closed; a line "drain" asks for end offsets from now on."""
    latest_ms = 0.0
    count = 0
    due = time.monotonic() + TICK_S
    while not watch.stop.is_set():
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))
        if ready:
            line = sys.stdin.readline()
            if not line:
                watch.stop.set()
            elif line.strip() == "drain":
                watch.drain.set()
            continue
        now = time.monotonic()
        latest_ms = max(latest_ms, (now - due) * 1_000)
        due = max(due + TICK_S, now)
        count += 1
        if count == TICKS_PER_ROW:
            watch.write("tick", late_ms=round(latest_ms, 3))
            latest_ms, count = 0.0, 0


def main(config_path: Path) -> None:
    """Watch until standard input is closed."""
    config = json.loads(config_path.read_text())
    journal = Journal(Path(config["journal"]), member="observer")
    watch = Watch(
        journal=journal,
        group=config["group"],
        topics=[config["topic"], "__consumer_offsets"],
        broker_ports={int(broker): port for broker, port in config["broker_ports"].items()},
        admin=AdminClient(
            {
                "bootstrap.servers": config["direct"],
                "client.id": "observer",
                "reconnect.backoff.ms": 50,
                "reconnect.backoff.max.ms": 250,
                "socket.timeout.ms": 2_000,
                "log_level": 0,
            },
            logger=_quiet,
        ),
    )

    def look_on() -> None:
        while not watch.stop.wait(LOOK_EVERY_S):
            watch.look()

    looking = threading.Thread(target=look_on, daemon=True)
    looking.start()
    tick(watch)
    looking.join(timeout=5)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
