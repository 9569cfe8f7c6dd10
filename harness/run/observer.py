"""The observer: a process that no fault touches, watching the cluster and the machine.

It looks over the direct listeners only, so that it goes on seeing while the members' links are cut,
and it writes a row where something changed. Its main thread does nothing but tick: how late a tick
runs is how long this machine kept everybody waiting, and the judge trusts no timing past that.
Another thread asks the kernel how long the run's other processes waited for a processor.

It is started before the cluster is, and looks from the line "look" on, once there is one to see. It
ticks from the line "tick" on, when it is the run's turn to be measured.

    python -m harness.run.observer CONFIG.json      (ends when its standard input is closed)
"""

import json
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from consumers.journal import Journal
from harness.base.credentials import Credentials
from harness.cluster import links, ping, wire
from harness.experiment import SLACK_MS
from harness.run.waiting import Waits

TICK_S: Final = 0.01
TICKS_PER_ROW: Final = 10
LOOK_EVERY_S: Final = 0.2
_ASK_S: Final = 0.5
_SAMPLE_EVERY_S: Final = 1.0
_SAMPLING: Final = 0.01  # of the time, at most: 318 threads took 3 ms


@dataclass
class Observation:
    """What the observer looks at, and what it last saw (by key: only changes are kept)."""

    journal: Journal
    group: str
    topics: list[str]
    broker_ports: dict[int, int]
    seen: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    drain: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    writing: threading.Lock = field(default_factory=threading.Lock)  # two threads, one journal

    def write(self, kind: str, **row: Any) -> None:
        with self.writing:
            self.journal.write(kind, **row)

    def ticked(self, late_ms: float) -> None:
        """Write how late the ticks since the last row were.

        The other clock is read under the lock: a wait between it and the row's stamp would look as
        if the time of day had been set.
        """
        with self.writing:
            clock_us = round(time.monotonic() * 1e6)
            self.journal.write("tick", late_ms=round(late_ms, 3), clock_us=clock_us)

    def watch_waits(self, waits: Waits) -> None:
        """Note processes that waited longer than the slack for a processor, until the end.

        How often follows from the processor time that it takes: on a busy machine a look lasts, and
        that is when it matters.
        """
        waits.sample()
        sampled_us, pause_s = time.time_ns() // 1_000, _SAMPLE_EVERY_S
        stopped = False
        while not stopped:
            stopped = self.stop.wait(pause_s)
            begun = time.thread_time()
            for process, waited_ms in waits.sample().items():
                if waited_ms > SLACK_MS:
                    waited_ms = round(waited_ms, 3)
                    self.write("waited", process=process, from_us=sampled_us, waited_ms=waited_ms)
            sampled_us = time.time_ns() // 1_000
            pause_s = max(_SAMPLE_EVERY_S, (time.thread_time() - begun) / _SAMPLING)

    def note(self, what: str, key: tuple[Any, ...], **row: Any) -> None:
        if self.seen.get((what, *key)) != row:
            self.seen[(what, *key)] = row
            self.write(what, **row)

    def look(self) -> None:
        answering = []
        for broker, port in self.broker_ports.items():
            answer = ping.ask(port, timeout_s=_ASK_S)
            alive = answer.outcome == "answered"
            answering += [broker] if alive else []
            self.note("broker", (broker,), broker=broker, alive=alive, detail=answer.outcome)
        # A broker that is not there makes the next question fail, and the next look goes on.
        with self._noted("look"):
            self._look_at_cluster(answering)
        if self.drain.is_set():
            with self._noted("ends"):
                self._look_at_ends()
        for broker in answering:
            with self._noted(f"positions of broker-{broker}"):
                self._look_at_committed(broker)

    @contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        """Put a question without an answer on record, a time-out each time, and go on."""
        try:
            yield
            self.seen.pop(("unreachable", what), None)  # the next time is another one
        except OSError as error:
            if isinstance(error, TimeoutError):
                self.seen.pop(("unreachable", what), None)
            self.note("unreachable", (what,), detail=f"{what}: {error}")

    def _look_at_cluster(self, answering: list[int]) -> None:
        """Partitions and the group, by the broker that knows most.

        One that is cut off from its peers answers too, with what was so before.
        """
        known = {}
        for broker in answering:
            with self._noted(f"broker-{broker}"):
                known[broker] = wire.metadata(self.broker_ports[broker], self.topics, _ASK_S)
        if known:
            best = max(known, key=lambda broker: known[broker].epochs)
            for row in known[best].partitions:
                self.note("partition", (row["topic"], row["partition"]), **row)
            self._look_at_group(self.broker_ports[best])

    def _look_at_group(self, port: int) -> None:
        coordinator = wire.find_coordinator(port, self.group, _ASK_S)
        seen = {"state": "", "coordinator": None, "members": 0}
        if coordinator in self.broker_ports:
            port, kinds = self.broker_ports[coordinator], (wire.CONSUMER,)
            if (answer := wire.describe(port, self.group, _ASK_S, kinds)) is None:
                return
            found = answer[1]
            seen = {"state": found["groupState"], "coordinator": coordinator}
            seen |= {"members": len(found["members"])}
        self.note("group", (), group=self.group, **seen)

    def _look_at_committed(self, broker: int) -> None:
        """Ask a broker that takes itself for the coordinator what is committed; its log keeps it.

        One that its peers have replaced may not know yet, and give its clients old positions.
        """
        port = self.broker_ports[broker]
        if wire.find_coordinator(port, self.group, _ASK_S) == broker:
            topic = self.topics[0]
            numbers = [key[2] for key in self.seen if key[0] == "partition" and key[1] == topic]
            wire.committed(port, self.group, {topic: numbers}, _ASK_S)

    def _look_at_ends(self) -> None:
        """One request to each leader: of hundreds of partitions, one each took seconds."""
        led: dict[tuple[str, int], list[int]] = {}
        for (what, *_), row in self.seen.items():
            if what == "partition" and not row["topic"].startswith("__") and row["leader"] >= 0:
                led.setdefault((row["topic"], row["leader"]), []).append(row["partition"])
        for (topic, leader), numbers in led.items():
            ends = wire.ends(self.broker_ports[leader], {topic: numbers}, _ASK_S)
            for (_, number), end in ends.items():
                self.note(
                    "end_offset", (topic, number), topic=topic, partition=number, end_offset=end
                )


def await_order(watch: Observation) -> str | None:
    """The next line on standard input ("" once it is closed), or null if the watch has stopped."""
    while not watch.stop.is_set():
        ready, _, _ = select.select([sys.stdin], [], [], LOOK_EVERY_S)
        if ready:
            return sys.stdin.readline().strip()
    return None


def tick(watch: Observation) -> bool:
    """Tick until standard input is closed; a line "drain" asks for end offsets from now on.

    A row has the latest of its ticks, and ends with the first that is later than the slack, so that
    its stamp is the end of that stall. False if something else stopped the watch.
    """
    latest_ms = 0.0
    count = 0
    due = time.monotonic() + TICK_S
    while not watch.stop.is_set():
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))
        if ready:
            line = sys.stdin.readline()
            if not line:
                watch.stop.set()
                return True
            if line.strip() == "drain":
                watch.drain.set()
            continue
        now = time.monotonic()
        late_ms = (now - due) * 1_000
        latest_ms = max(latest_ms, late_ms)
        due = max(due + TICK_S, now)
        count += 1
        if count == TICKS_PER_ROW or late_ms > SLACK_MS:
            watch.ticked(latest_ms)
            latest_ms, count = 0.0, 0
    return False


def main(config_path: Path) -> None:
    """Watch until standard input is closed. Exit code 1 if it could not look any longer."""
    config = json.loads(config_path.read_text())
    proven = Credentials.load(config["credentials"]) if config.get("credentials") else None
    with links.secured(proven):
        _watch(config)


def _watch(config: dict[str, Any]) -> None:
    if sys.stdin.readline().strip() != "look":
        return  # there will be no cluster
    journal = Journal(Path(config["journal"]), member="observer")
    watch = Observation(
        journal=journal,
        group=config["group"],
        topics=[config["topic"], "__consumer_offsets"],
        broker_ports={int(broker): port for broker, port in config["broker_ports"].items()},
    )

    def look_on() -> None:
        try:
            while not watch.stop.is_set():
                watch.look()
                watch.stop.wait(LOOK_EVERY_S)
        finally:
            watch.stop.set()  # one that only ticks is blind

    looking = threading.Thread(target=look_on, daemon=True)
    looking.start()
    waits = Waits(config["run"])
    waiting = threading.Thread(target=watch.watch_waits, args=(waits,), daemon=True)
    waiting.start()
    match await_order(watch):
        case "tick":
            ordered = tick(watch)
        case order:
            ordered = order is not None
            watch.stop.set()
    looking.join(timeout=5)
    waiting.join(timeout=5)
    if not ordered:
        sys.exit("the observer cannot look any longer")
    watch.write("closed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
