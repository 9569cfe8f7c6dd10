"""What goes on in a cluster by hand: brokers, partitions, every group on it, and its rebalances.

A thread looks about once a second, over the listeners that no fault touches, so that the cluster is
seen while a fault is injected or healed. What it saw is one value, replaced as a whole. Rebalances
are followed in the coordinators' logs.
"""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from harness.base.errors import HarnessError
from harness.base.stamps import parse_stamp
from harness.base.words import plural
from harness.cluster import ping, wire
from harness.cluster.plan import Plan
from harness.cluster.wire import MemberSeen
from harness.history.broker_log import MARK
from harness.history.foreign.wordings import row_of

EVERY_S: Final = 1.0
_ASK_S: Final = 0.5
_INTERNAL: Final = "__"  # begins the names of Kafka's own topics
# What a broker that is just starting or ending may do to a question.
_UNANSWERED: Final = (OSError, ValueError)
_MARK: Final = MARK.encode()
_LONGEST: Final = 160  # characters of a reason that are shown
_STAMP: Final = 26  # bytes of a line's time
_CAUSE_US: Final = 2_000_000  # so long before an epoch of KIP-848 is what it was begun for
# What the coordinator makes member ids of is shown; what it adds to them means nothing to a person.
_UUID: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
# What is said of nearly every member, and says nothing.
_NOTHING: Final = re.compile(
    r" with group instance id (?:null|None)|"
    r"; client reason: (?:not provided|need to re-join with the given member-id.*)"
)


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
        return Counter(topic for topic, _ in self.partitions if not topic.startswith(_INTERNAL))

    def thin(self) -> int:
        return sum(len(row["isr"]) < row["replicas"] for row in self.partitions.values())


def look(plan: Plan, before: Seen) -> Seen:
    """Look at everything once. What is unknown stays as it was before."""
    brokers = {
        node.id: ping.ask(node.port, timeout_s=_ASK_S).outcome == "answered"
        for node in plan.brokers
    }
    ports = {node.id: node.port for node in plan.brokers if brokers[node.id]}
    known: list[wire.Metadata] = []
    for port in ports.values():
        with suppress(*_UNANSWERED):
            known.append(wire.metadata(port, None, _ASK_S))
    partitions = before.partitions
    if known:
        best = max(known, key=lambda each: each.epochs)
        partitions = {(row["topic"], row["partition"]): row for row in best.partitions}
    groups = {group.name: group for group in _groups(ports, partitions)}
    for name, group in before.groups.items():
        # Of one whose coordinator is gone no answer came; one that no broker has any more is gone.
        if name not in groups and len(ports) < len(plan.brokers):
            groups[name] = replace(group, coordinator=None)
    return Seen(brokers, partitions, dict(sorted(groups.items())))


def _groups(ports: dict[int, int], partitions: dict[tuple[str, int], Any]) -> Iterator[GroupSeen]:
    ends: wire.Places = {}
    for broker, port in ports.items():
        names: list[str] = []
        with suppress(*_UNANSWERED):
            names = wire.listed(port, _ASK_S)
        for name in names:
            with suppress(*_UNANSWERED):
                found = wire.described(port, name, _ASK_S)
                if found is None:  # it has just gone to another broker
                    continue
                places = wire.committed(port, name, None, _ASK_S)
                committed = {place: offset for place, offset in places.items() if offset >= 0}
                if committed and not ends:
                    ends = _ends(ports, partitions)
                behind = [max(0, ends[at] - n) for at, n in committed.items() if at in ends]
                lag = sum(behind) if behind else None
                yield GroupSeen(name, broker, found.state, found.members, lag, found.kind)


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
        self.check()
        with self._looking:
            self.seen = look(self._plan, self.seen)
        return self.seen

    def check(self) -> None:
        """Raise HarnessError if the thread that looks has ended: what is shown would be old."""
        if self._problem is not None:
            raise HarnessError(f"the watch ended: {self._problem}") from self._problem

    def _look_on(self) -> None:
        try:
            while not self._stop.is_set():
                begun = time.monotonic()
                self.look()
                self._stop.wait(max(0.1, EVERY_S - (time.monotonic() - begun)))
        except Exception as problem:  # noqa: BLE001 (handed to the thread that serves)
            self._problem = problem

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)


@dataclass(frozen=True)
class RebalanceSeen:
    """The last rebalance of a group: when it began, in microseconds since the epoch, and why.

    `generation` is the one it led to, null while it goes on; `took_ms` is how long members had to
    wait for it. A group of KIP-848 has an epoch, and no member waits.
    """

    group: str
    began_us: int
    why: str
    generation: int | None = None
    members: int | None = None
    took_ms: float | None = None
    epoch: bool = False

    def __str__(self) -> str:
        if self.epoch:
            return f"{self.group}: epoch {self.generation}, {self.why}"
        if self.generation is None:
            return f"{self.group}: rebalance, {self.why}"
        members = "" if self.members is None else f" of {plural(self.members, 'member')}"
        took = f" after {self.took_ms / 1_000:.1f} s" if self.took_ms is not None else ""
        return f"{self.group}: generation {self.generation}{members}{took}"


@dataclass
class Rebalances:
    logs: list[Path]
    last: dict[str, RebalanceSeen] = field(default_factory=dict)
    _read: dict[Path, int] = field(default_factory=dict)
    _causes: dict[str, tuple[int, str]] = field(default_factory=dict)

    def follow(self) -> list[RebalanceSeen]:
        """Read every log on; what has begun or ended since, in the order of time."""
        lines = [line for log in self.logs for line in self._lines(log)]
        lines.sort(key=lambda line: line[:_STAMP])  # those of one broker stay in their order
        return [found for line in lines for found in self._take(line)]

    def _lines(self, log: Path) -> list[bytes]:
        try:
            with log.open("rb") as file:
                file.seek(self._read.get(log, 0))
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        self._read[log] = self._read.get(log, 0) + whole
        return [line for line in data[:whole].split(b"\n") if _MARK in line]

    def _take(self, line: bytes) -> Iterator[RebalanceSeen]:
        text = line.decode("utf-8", "replace")
        with suppress(ValueError):  # cut off by the end of its broker
            at, row = parse_stamp(text), row_of(text[text.index(MARK) :])
            if row and row.get("group") and (found := self._of(row["group"], at, row)):
                self.last[found.group] = found
                yield found

    def _of(self, group: str, at: int, row: dict[str, Any]) -> RebalanceSeen | None:
        last = self.last.get(group)
        match row["event"]:
            case "rebalance_started":
                return RebalanceSeen(group, at, _short(row["reason"]))
            case "assignment_received" if last is not None and last.generation is None:
                done = {"generation": row["generation"], "members": row["members"]}
                return replace(last, took_ms=(at - last.began_us) / 1_000, **done)
            case "epoch_bumped":
                since, cause = self._causes.pop(group, (0, ""))
                fresh = at - since <= _CAUSE_US
                why = cause if fresh and cause else row.get("reason") or "what it reads changed"
                return RebalanceSeen(group, at, _short(why), row["generation"], epoch=True)
            case _ if reason := row.get("reason"):
                if (who := row.get("member_id") or "") not in reason:
                    reason = f"Member {who} {reason.removeprefix('Member ')}"
                self._causes[group] = (at, reason)
        return None


def _short(reason: str) -> str:
    text = _NOTHING.sub("", _UUID.sub("", reason)).removesuffix(".")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
