"""What goes on in a cluster by hand: brokers, partitions, and every group on it.

A thread looks about once a second, over the listeners that no fault touches, so that the cluster is
seen while a fault is injected or healed. What it saw is one value, replaced as a whole.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from harness.base.errors import HarnessError
from harness.cluster import groups as asking
from harness.cluster import ping, wire
from harness.cluster.groups import MemberSeen
from harness.cluster.plan import Plan

EVERY_S: Final = 1.0
_ASK_S: Final = 0.5
_INTERNAL: Final = "__"  # begins the names of Kafka's own topics
# What a broker that is just starting or ending may do to a question.
_UNANSWERED: Final = (OSError, ValueError)


@dataclass(frozen=True)
class GroupSeen:
    """A group as it was seen last.

    `kind` is as of `Described`. `coordinator` is null while no broker that answers is it, and the
    rest is what was so before. `lag` is how many records are not committed, of the partitions in
    which something was; null where nothing was yet.
    """

    name: str
    coordinator: int | None
    state: str
    members: tuple[MemberSeen, ...] = ()
    lag: int | None = None
    kind: str = ""


@dataclass(frozen=True)
class Seen:
    """All that one look has seen. Rows of partitions are those of `wire.metadata`."""

    brokers: dict[int, bool] = field(default_factory=dict)
    partitions: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, GroupSeen] = field(default_factory=dict)

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has; those of Kafka's own are left out."""
        found: dict[str, int] = {}
        for topic, _ in self.partitions:
            if not topic.startswith(_INTERNAL):
                found[topic] = found.get(topic, 0) + 1
        return found

    def thin(self) -> int:
        return sum(len(row["isr"]) < row["replicas"] for row in self.partitions.values())


def look(plan: Plan, before: Seen) -> Seen:
    """Look at everything once. What nobody tells stays as it was before."""
    brokers = {
        node.id: ping.ask(node.port, timeout_s=_ASK_S).outcome == "answered"
        for node in plan.brokers
    }
    ports = {node.id: node.port for node in plan.brokers if brokers[node.id]}
    known = [found for port in ports.values() if (found := _metadata(port)) is not None]
    partitions = before.partitions
    if known:
        best = max(known, key=lambda each: each.epochs)
        partitions = {(row["topic"], row["partition"]): row for row in best.partitions}
    groups = {group.name: group for group in _groups(ports, partitions)}
    for name, group in before.groups.items():
        # Of one whose coordinator is gone nobody tells; one that nobody has any more is gone.
        if name not in groups and len(ports) < len(plan.brokers):
            groups[name] = replace(group, coordinator=None)
    return Seen(brokers, partitions, dict(sorted(groups.items())))


def _metadata(port: int) -> wire.Metadata | None:
    with suppress(*_UNANSWERED):
        return wire.metadata(port, None, _ASK_S)
    return None


def _groups(ports: dict[int, int], partitions: dict[tuple[str, int], Any]) -> Iterator[GroupSeen]:
    ends: wire.Places | None = None
    for broker, port in ports.items():
        names: list[str] = []
        with suppress(*_UNANSWERED):
            names = asking.listed(port, _ASK_S)
        for name in names:
            with suppress(*_UNANSWERED):
                found = asking.described(port, name, _ASK_S)
                if found is None:  # it has just gone to another broker
                    continue
                committed = _committed(port, name)
                if committed and ends is None:
                    ends = _ends(ports, partitions)
                lag = _lag(committed, ends or {})
                yield GroupSeen(name, broker, found.state, found.members, lag, found.kind)


def _committed(port: int, group: str) -> wire.Places:
    found = wire.committed(port, group, None, _ASK_S)
    return {place: offset for place, offset in found.items() if offset >= 0}


def _ends(ports: dict[int, int], partitions: dict[tuple[str, int], Any]) -> wire.Places:
    led: dict[int, dict[str, list[int]]] = {}
    for (topic, number), row in partitions.items():
        if row["leader"] in ports and not topic.startswith(_INTERNAL):
            led.setdefault(row["leader"], {}).setdefault(topic, []).append(number)
    found: wire.Places = {}
    for broker, wanted in led.items():
        with suppress(*_UNANSWERED):
            found |= wire.ends(ports[broker], wanted, _ASK_S)
    return found


def _lag(committed: wire.Places, ends: wire.Places) -> int | None:
    behind = [max(0, ends[place] - at) for place, at in committed.items() if place in ends]
    return sum(behind) if behind else None


class Watch:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._looking = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._problem: Exception | None = None
        self.seen = Seen()

    def start(self) -> None:
        self._thread.start()

    def look(self) -> Seen:
        """Look now. Raises HarnessError if the thread that looks has ended."""
        with self._looking:
            self.seen = look(self._plan, self.seen)
        self.check()
        return self.seen

    def check(self) -> None:
        """Raise HarnessError if the thread that looks has ended: what is shown would be old."""
        if self._problem is not None:
            raise HarnessError(f"the watch ended: {self._problem}") from self._problem

    def _look_on(self) -> None:
        try:
            while not self._stop.is_set():
                begun = time.monotonic()
                with self._looking:
                    self.seen = look(self._plan, self.seen)
                self._stop.wait(max(0.1, EVERY_S - (time.monotonic() - begun)))
        except Exception as problem:  # noqa: BLE001 (handed to the thread that serves)
            self._problem = problem

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
