"""What a long run leaves behind before anything is collected: journals, brokers' logs, a manifest.

No broker runs and no time passes: a group is played by the timers that it declares, and what its
processes would have written is written, journals by their own writer under a clock that is set.
Every rule that such a run exercises holds of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from consumers.config import ConsumerConfig, ProducerConfig
from consumers.journal import Journal
from harness.bench import long_lines as lines
from harness.bench.long_plan import (
    BATCH,
    BROKERS,
    COORDINATOR,
    HEARTBEAT_US,
    KILLED_US,
    SECOND_US,
    SESSION_US,
    START_US,
    STARTED_US,
    LongPlan,
    manifest_of,
)
from harness.bench.long_watch import Clock, Watch, write_faults, write_producer
from harness.cluster.plan import GROUP, TOPIC
from harness.history import manifest, seals

_MS: Final = 1_000
_READABLE_US: Final = 60 * _MS  # after it was produced: linger.ms is 50
_POLL_US: Final = 200 * _MS  # for which a poll waits until it has a whole batch
_COMMIT_US: Final = 2_500
_DRAINED_US: Final = 4 * SECOND_US  # from the producer's end
_TIMEOUTS: Final = {"sessionTimeoutMs": SESSION_US // _MS, "rebalanceTimeoutMs": 30_000}
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "300", "offsets.topic.num.partitions": "5"}
_TOPIC_ID: Final = "kEysbtSTTluur5JZN1e8eQ"


@dataclass
class _Member:
    """One consumer's process, and where it is in its work."""

    name: str
    slot: int  # whose lane it has
    journal: Journal
    clock: Clock
    id: str = ""
    owned: list[int] = field(default_factory=list)
    free_us: int = 0  # when it polls next
    beats_us: int = 0  # when its next heartbeat is due
    seen_us: int = 0  # when the coordinator last heard of it
    polls: int = 0
    commits: int = 0
    correlation: int = 2

    @property
    def listener(self) -> str:
        """Through which its requests come to a broker."""
        return f"LANE_MEMBER_{self.slot + 1}"


def write_long_run(run_dir: Path, plan: LongPlan) -> Path:
    """Write the folder of such a run, sealed. Returns it. Raises FileExistsError."""
    for part in ("journals", "logs", "history"):
        (run_dir / part).mkdir(parents=True)
    with ExitStack() as opened:
        group = _Group(plan, run_dir, opened)
        ended_us, killed = group.play()
    write_producer(run_dir / "journals", plan, _producer(plan, run_dir))
    write_faults(run_dir / "journals", group.faults, ended_us)
    content = manifest_of(plan, run_dir.name, ended_us, killed, _SETTINGS)
    manifest.write(run_dir, {**content, seals.FIELD: seals.made(run_dir)})
    return run_dir


def _producer(plan: LongPlan, run_dir: Path) -> ProducerConfig:
    return ProducerConfig(
        member="producer-1",
        bootstrap="127.0.0.1:38281",
        topic=TOPIC,
        journal=str(run_dir / "journals" / "producer-1.journal"),
        partitions=plan.partitions,
        records_per_s=plan.records_per_s,
        record_bytes=100,
        acks="all",
        idempotence=True,
        rounds=plan.partitions,
        run=run_dir.name,
        lane="producers",
    )


class _Group:
    """The group, its coordinator, and all that they write."""

    def __init__(self, plan: LongPlan, run_dir: Path, opened: ExitStack) -> None:
        self._plan = plan
        self._run_dir = run_dir
        self._requests: dict[int, TextIO] = {}
        self._server: dict[int, TextIO] = {}
        for broker in range(1, BROKERS + 1):
            for kept, log in ((self._requests, "requests"), (self._server, "server")):
                path = run_dir / "logs" / f"broker-{broker}.{log}.log"
                kept[broker] = opened.enter_context(path.open("w", encoding="utf-8"))
            self._server[broker].write(lines.started(START_US - 2 * SECOND_US, broker))
        controller = f"{lines.stamp(START_US - SECOND_US)} INFO ReplicationControlManager "
        controller += f"[QuorumController id=101] Replayed TopicRecord for topic {TOPIC} with "
        controller += f"topic ID {_TOPIC_ID}.\n"
        (run_dir / "logs" / "controller-101.server.log").write_text(controller)
        self._asked: list[tuple[int, str]] = []  # lines of the coordinator's request log
        self._said: list[tuple[int, str]] = []  # lines of its server log
        self._watch = Watch(plan, run_dir, self._requests)
        self._members: dict[int, _Member] = {}  # by slot
        self._next = [0] * plan.partitions  # to read
        self._committed = [-1] * plan.partitions
        self._generation = 0
        self._leader = ""
        self._started = 0
        self.faults: list[tuple[int, str, str, str]] = []  # when, kind, which member, evidence

    def play(self) -> tuple[int, list[str]]:
        """From the first member to the last: when that had left, and who was killed."""
        plan, killed = self._plan, []
        new = [self._start(START_US - SECOND_US, slot) for slot in range(plan.members)]
        self._rebalance(START_US - SECOND_US // 2, new, f"Adding new member {new[0].id}")
        for number in range(plan.rounds):
            begun = START_US + number * plan.round_s * SECOND_US
            killed.append(self._crash(begun + KILLED_US, number % plan.members))
            member = self._start(begun + STARTED_US, number % plan.members)
            reason = f"Adding new member {member.id} with group instance id null"
            counts = f"the coordinator counts {plan.members} members, {plan.members - 1} before"
            self.faults.append((begun + STARTED_US, "start-consumer", member.name, counts))
            self._rebalance(begun + STARTED_US + 400 * _MS, [member], reason)
            self._flush(begun + plan.round_s * SECOND_US)
        drained = plan.end_us + _DRAINED_US
        for member in self._members.values():
            self._until(member, drained)
        ended = self._leave(drained)
        self._flush(ended, everything=True)
        self._watch.end(ended)
        return ended, killed

    # Members come and go

    def _start(self, us: int, slot: int) -> _Member:
        self._started += 1
        name, clock = f"member-{self._started}", Clock(us)
        path = self._run_dir / "journals" / f"{name}.journal"
        config = ConsumerConfig(
            member=name,
            bootstrap="127.0.0.1:42505",
            topic=TOPIC,
            journal=str(path),
            role="consumer",
            run=self._run_dir.name,
            group=GROUP,
            client="librdkafka",
            protocol="eager",
            session_timeout_ms=SESSION_US // _MS,
            heartbeat_interval_ms=HEARTBEAT_US // _MS,
            max_poll_interval_ms=30_000,
            commit="sync",
            auto_commit_interval_ms=5_000,
            batch_records=BATCH,
            process_us=self._plan.process_us,
            fetch_wait_max_ms=100,
            lane=f"member-{slot + 1}",
        )
        path.with_suffix(".json").write_text(json.dumps(asdict(config), indent=2))
        (self._run_dir / "logs" / f"{name}.log").touch()
        member = _Member(name, slot, Journal(path, name, clock), clock)
        versions = {"confluent-kafka": "2.16.1", "librdkafka": "2.16.0"}
        effective = {"client.id": name, "group.id": GROUP, "enable.auto.commit": False}
        member.journal.write(
            "started", versions=versions, config=asdict(config), effective=effective
        )
        member.id = f"{name}-00000000-0000-4000-8000-{self._started:012x}"
        self._members[slot] = member
        return member

    def _crash(self, us: int, slot: int) -> str:
        """Kill a member, and evict it one session after its last sign of life."""
        victim = self._members[slot]
        self._until(victim, us, dies=True)
        victim.journal.close()
        del self._members[slot]
        self.faults.append((us, "kill-consumer", victim.name, "pid 14577 is gone"))
        gone = victim.seen_us + SESSION_US + _MS
        self._say(
            gone, f"Member {victim.id} in group {GROUP} has failed, removing it from the group."
        )
        self._rebalance(gone + 300, [], f"removing member {victim.id} on heartbeat expiration.")
        return victim.name

    def _leave(self, us: int) -> int:
        """All close, one after the other. Returns when the last had."""
        for number, member in enumerate(list(self._members.values())):
            at = us + number * 200 * _MS
            member.clock.us = at
            member.journal.write("closing", why="ordered")
            self._tell(member, at + 100, "revoked")
            asked, answer = lines.leave(member.id)
            self._ask(member, at + 1_500, "LEAVE_GROUP", asked, answer, 1.0)
            text = f"[Group {GROUP}] Member {member.id} has left group through explicit "
            self._say(at + 1_000, f"{text}`LeaveGroup` request; client reason: not provided")
            if number == 0:
                reason = f"explicit `LeaveGroup` request for ({member.id}) members."
                self._prepare(at + 1_100, reason)
            if number == len(self._members) - 1:
                said = f"Group {GROUP} with generation {self._generation + 1} is now empty."
                self._say(at + 1_200, said)
            member.clock.us = at + 3_000
            member.journal.end()
        return at + SECOND_US

    # A rebalance

    def _prepare(self, us: int, reason: str) -> None:
        text = f"Preparing to rebalance group {GROUP} in state PreparingRebalance with old "
        self._say(us, f"{text}generation {self._generation} (reason: {reason}).")

    def _rebalance(self, us: int, new: Sequence[_Member], reason: str) -> None:
        """From its cause to when all have their partitions, and `new` members theirs."""
        arrived: dict[int, int] = {}
        state = "PreparingRebalance" if self._generation == 0 else "Stable"
        for number, member in enumerate(new):
            arrived[member.slot] = self._ask_to_join(member, us - 20 * _MS + number * _MS, state)
        self._prepare(us, reason)
        for member in self._members.values():
            if member.slot in arrived:
                continue
            self._until(member, us)
            heard = member.beats_us
            asked, answer = lines.heartbeat(member.id, self._generation, 27)
            self._work(member, heard)
            self._ask(member, heard, "HEARTBEAT", asked, answer, 0.2)
            left = max(member.free_us, heard) + 500
            self._tell(member, left, "revoked")
            arrived[member.slot] = left + 300
        joined = max(*arrived.values(), us + 300 * _MS if self._generation == 0 else us) + _MS
        self._watch.rebalance(us, joined, len(self._members))
        self._generation += 1
        ids = [member.id for member in self._members.values()]
        if self._leader not in ids:
            self._leader = ids[0]
        count = len(ids)
        stable = f"Stabilized group {GROUP} generation {self._generation} with {count} members."
        self._say(joined, stable)
        text = f"Assignment received from leader {self._leader} for group {GROUP} for generation "
        text += f"{self._generation}. The group has {count} members, 0 of which are static."
        self._say(joined + 2_200, text)
        self._assign(joined, arrived, ids)

    def _ask_to_join(self, member: _Member, us: int, state: str) -> int:
        """Its first requests. Returns when the one arrived that it waits for an answer to."""
        self._ask(member, us, "FIND_COORDINATOR", *lines.find(), 0.3)
        asked, answer = lines.join("", member.id, -1, "", (), _TIMEOUTS)
        self._ask(member, us + 10 * _MS, "JOIN_GROUP", asked, answer, 0.6)
        text = f"Dynamic member with unknown member id joins group {GROUP} in {state} state. "
        text += f"Created a new member id {member.id} and requesting the member to rejoin with "
        self._say(us + 10 * _MS - 200, f"{text}this id.")
        text = f"Pending dynamic member with id {member.id} joins group {GROUP} in {state} state. "
        self._say(us + 19 * _MS, f"{text}Adding to the group now.")
        return us + 18 * _MS

    def _assign(self, joined: int, arrived: dict[int, int], ids: list[str]) -> None:
        """The partitions go round by the range assignor, once all have joined."""
        members = sorted(self._members.values(), key=lambda member: member.id)
        each, more = divmod(self._plan.partitions, len(members))
        first = 0
        for place, member in enumerate(members):
            member.owned = list(range(first, first := first + each + (place < more)))
        given = {member.id: member.owned for member in members}
        self._next = [max(0, position) for position in self._committed]
        for number, member in enumerate(self._members.values()):
            leads = member.id == self._leader
            asked, answer = lines.join(
                member.id,
                member.id,
                self._generation,
                self._leader,
                ids if leads else (),
                _TIMEOUTS,
            )
            logged = joined + 300 + 100 * number
            total_ms = (logged - arrived[member.slot]) / _MS
            self._ask(member, logged, "JOIN_GROUP", asked, answer, total_ms)
            asked, answer = lines.sync(
                member.id, self._generation, given if leads else {}, member.owned
            )
            logged = joined + 4_000 + 100 * number
            self._ask(member, logged, "SYNC_GROUP", asked, answer, 2.2 if leads else 3.0)
            self._tell(member, joined + 5_000, "assigned")
            positions = {partition: self._committed[partition] for partition in member.owned}
            asked, answer = lines.positions_of_member(positions)
            self._ask(member, joined + 7_000, "OFFSET_FETCH", asked, answer, 0.3)
            if -1 in positions.values():
                asked, answer = lines.beginnings(positions)
                self._ask(member, joined + 8_000, "LIST_OFFSETS", asked, answer, 0.5)
            member.free_us = joined + 10_000
            member.beats_us = joined + HEARTBEAT_US - member.slot * 200 * _MS
            member.seen_us = joined + 4_000

    # Work

    def _until(self, member: _Member, us: int, *, dies: bool = False) -> None:
        """Heartbeats and polls that are due before a moment, at which it may be killed."""
        while member.beats_us < us:
            asked, answer = lines.heartbeat(member.id, self._generation, 0)
            self._ask(member, member.beats_us, "HEARTBEAT", asked, answer, 0.2)
            member.seen_us = max(member.seen_us, member.beats_us - 100)
            member.beats_us += HEARTBEAT_US
        self._work(member, us, dies=dies)

    def _work(self, member: _Member, us: int, *, dies: bool = False) -> None:
        while (polled := self._polled_at(member)) < us:
            member.free_us = polled
            ranges = self._take(member, polled)
            member.polls += 1
            if not ranges:
                continue
            records = sum(count for *_, count in ranges)
            told = ",".join(f'["{TOPIC}",{p},{first},{last},{n}]' for p, first, last, n in ranges)
            identity = f'"member_id":"{member.id}","generation":{self._generation}'
            poll = f'"poll":{member.polls}'
            self._write(
                member,
                polled + 30,
                "delivered",
                f'{poll},"ranges":[{told}],{identity},"polled_at":{polled}',
            )
            done = polled + 60 + records * self._plan.process_us
            if dies and done + 4 * _MS > us:
                return
            self._write(member, done, "processed", poll)
            positions = {p: last + 1 for p, _, last, _ in sorted(ranges)}
            self._commit(member, done + 100, positions, identity)
            member.free_us = done + 3_200

    def _polled_at(self, member: _Member) -> int:
        """When the next poll returns: with a whole batch, or with what there is after a while."""
        us = member.free_us
        missing = BATCH - sum(self._ready(partition, us) for partition in member.owned)
        if missing <= 0:
            return us + 300
        each_us = SECOND_US * self._plan.partitions / self._plan.records_per_s / len(member.owned)
        return us + min(_POLL_US, 300 + int(missing * each_us))

    def _ready(self, partition: int, us: int) -> int:
        sent = self._plan.sent_by(us - _READABLE_US)
        return self._plan.of_partition(sent, partition) - self._next[partition]

    def _take(self, member: _Member, us: int) -> list[tuple[int, int, int, int]]:
        """What one poll takes: partition, first and last offset, and how many."""
        found, left = [], BATCH
        turn = member.polls % len(member.owned)
        for partition in (*member.owned[turn:], *member.owned[:turn]):
            count = min(left, self._ready(partition, us))
            if count > 0:
                first = self._next[partition]
                self._next[partition] += count
                found.append((partition, first, first + count - 1, count))
                left -= count
        return found

    def _commit(self, member: _Member, us: int, positions: dict[int, int], identity: str) -> None:
        member.commits += 1
        number = f'"id":{member.commits}'
        offsets = ",".join(f'["{TOPIC}",{p},{at}]' for p, at in positions.items())
        asked = f'{number},"how":"sync","offsets":[{offsets}],{identity},"in_group":true'
        self._write(member, us, "commit_asked", asked)
        logged = us + 200 + _COMMIT_US
        self._ask(
            member,
            logged,
            "OFFSET_COMMIT",
            *lines.commit(member.id, self._generation, positions),
            _COMMIT_US / _MS,
        )
        self._watch.committed(logged - 100, positions)
        for partition, position in positions.items():
            self._committed[partition] = position
        member.seen_us = max(member.seen_us, logged - 100)
        results = ",".join(f'["{TOPIC}",{p},{at},0,null]' for p, at in positions.items())
        self._write(
            member, logged + 200, "commit_answered", f'{number},"results":[{results}],{identity}'
        )

    # Writing

    def _write(self, member: _Member, us: int, kind: str, encoded: str) -> None:
        member.clock.us = us
        member.journal.write_encoded(kind, encoded)

    def _tell(self, member: _Member, us: int, kind: str) -> None:
        partitions = ",".join(f'["{TOPIC}",{partition}]' for partition in member.owned)
        identity = f'"member_id":"{member.id}","generation":{self._generation}'
        self._write(member, us, kind, f'"partitions":[{partitions}],{identity}')

    def _ask(
        self,
        member: _Member,
        us: int,
        api: str,
        asked: dict[str, Any],
        answer: dict[str, Any],
        total_ms: float,
    ) -> None:
        member.correlation += 1
        line = lines.request(
            us, api, member.name, member.correlation, asked, answer, total_ms, member.listener
        )
        self._asked.append((us, line))

    def _say(self, us: int, text: str) -> None:
        self._said.append((us, lines.coordinator(us, text)))

    def _flush(self, us: int, *, everything: bool = False) -> None:
        """Write what was logged before a moment, in its order, and what the observer saw."""
        if not everything:
            for member in self._members.values():
                self._until(member, us)
        self._asked += self._watch.look_until(us)
        for kept, file in (
            (self._asked, self._requests[COORDINATOR]),
            (self._said, self._server[COORDINATOR]),
        ):
            kept.sort()
            before = [line for at, line in kept if everything or at < us]
            file.writelines(before)
            del kept[: len(before)]
