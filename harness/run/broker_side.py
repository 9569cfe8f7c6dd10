"""What members of an app hold and how far they are, while the run goes on, by the brokers alone.

Request logs are followed as they grow. A request's listener is its lane, and each process has a
lane of its own for as long as it lives, or shares one with all.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.base.stamps import parse_stamp
from harness.cluster.plan import GROUP, TOPIC, Plan
from harness.history.broker_log import files_of
from harness.history.request_log import METADATA, OTHER_HEARTBEATS, request_rows
from harness.history.whose import Processes, Started, lane_of
from harness.run.member import Member

Row = dict[str, Any]
_COMPLETED: Final = b"Completed request:"
_LISTENER: Final = re.compile(rb'"listener":"(LANE_MEMBER_\w+)"')
_OF_NO_GROUP: Final = re.compile(rb'"requestApiKeyName":"(FETCH|PRODUCE)"')
_LEAVE: Final = "LEAVE_GROUP"
# Heartbeats of KIP-848 with these epochs leave the group, for good or for now.
_LEAVES: Final = (("CONSUMER_GROUP_HEARTBEAT", -1), ("CONSUMER_GROUP_HEARTBEAT", -2))
_OUT: Final = (22, 25, 82, 110)  # errors that say: you are no member, or not of this generation
_JOIN: Final = "JOIN_GROUP"
# Answers to a first JoinGroup that send its member on: none, and that it is to come with this id.
_LET_ON: Final = (0, 79)
# Groups whose members are not followed here, by the heartbeat of each.
_OTHER_GROUPS: Final = dict(zip(OTHER_HEARTBEATS, ("share", "Streams"), strict=True))
_SESSION: Final = "group.consumer.session.timeout.ms"  # of a group of KIP-848: the brokers have it
_DEFAULT_SESSION_MS: Final = "45000"
_FIRST: Final = 0  # the epoch of a heartbeat that joins
_OF_KIP_848: Final = -1  # its members have epochs of their own, and no generation ends another
_TOPIC_ID: Final = re.compile(r"[\w-]{22}")  # newer calls name a topic by its id; there is one


@dataclass(frozen=True)
class Announced:
    """A member's timers as its coordinator heard them; a null is what the brokers decide."""

    session_ms: int | None
    rebalance_ms: int


@dataclass
class BrokerSide:
    logs: Path
    plan: Plan
    # By a process's name: groups that it joined, and how many requests it sent.
    groups: dict[str, set[str]] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    topics: dict[str, set[str]] = field(default_factory=dict)  # that it asked for by their names
    nameless: set[str] = field(default_factory=set)  # client.ids that name no process
    announced: dict[str, Announced] = field(default_factory=dict)  # by its latest member
    # Of a JoinGroup that was refused last, the error.
    refused: dict[str, int] = field(default_factory=dict)
    # Groups that are no consumer groups and that it is in, by their names the types.
    others: dict[str, dict[str, str]] = field(default_factory=dict)
    # By broker: how many files of its log are read to their ends, and how far the next one is.
    _read: dict[int, tuple[int, int]] = field(default_factory=dict)
    # By process, what each of its member ids got last, with its generation.
    _held: dict[str, dict[str, tuple[int, set[int]]]] = field(default_factory=dict)

    def follow(self, members: Iterable[Member]) -> None:
        every = list(members)
        by_name = {member.name: member for member in every}
        started = Processes(Started(each.name, each.lane, each.started_at) for each in every)
        # Of all brokers in the order of time: they begin with their stamps.
        for line in sorted(line for node in self.plan.brokers for line in self._lines(node.id)):
            if _LISTENER.search(line):
                self._take(by_name, started, line)
        running = [each for each in every if each.running]
        newest = max((member.generation or 0 for member in running), default=0)
        for member in running:
            # Who holds a partition by an older generation has been put out of the group.
            member.assigned = {
                partition
                for generation, partitions in self._held.get(member.name, {}).values()
                if generation in (newest, _OF_KIP_848)
                for partition in partitions
            }

    def session_s(self, name: str) -> float | None:
        """How long a process may be silent before it is evicted; null if none is on record."""
        if (found := self.announced.get(name)) is None:
            return None
        of_brokers = int(self.plan.settings.get(_SESSION, _DEFAULT_SESSION_MS))
        return (found.session_ms or of_brokers) / 1_000

    def held_up_s(self) -> float:
        """How long a join may take: the longest timeout of processes that read our topic."""
        names = [name for name in self.announced if not self.astray(name)]
        rebalances_s = [self.announced[name].rebalance_ms / 1_000 for name in names]
        return max([*rebalances_s, *(self.session_s(name) or 0.0 for name in names)], default=0.0)

    def astray(self, name: str) -> bool:
        """Whether a process asks for topics by name, and not for the one that it is fed."""
        topics = self.topics.get(name, set())
        return bool(topics) and TOPIC not in topics

    def _lines(self, broker: int) -> list[bytes]:
        """What is new in a broker's log, through all files that it was rotated into."""
        done, read = self._read.get(broker, (0, 0))
        files = files_of(self.logs / f"broker-{broker}.requests.log")[done:]
        found = []
        for number, path in enumerate(files, start=1):
            try:
                with path.open("rb") as log:
                    log.seek(read)
                    data = log.read()
            except FileNotFoundError:  # it is just being renamed
                break
            whole = data.rfind(b"\n") + 1
            found.append(data[:whole])
            done, read = (done + 1, 0) if number < len(files) else (done, read + whole)
        self._read[broker] = done, read
        lines = b"".join(found).split(b"\n")
        return [line for line in lines if line and not _OF_NO_GROUP.search(line)]

    def _take(self, by_name: Mapping[str, Member], started: Processes, line: bytes) -> None:
        stamp, _, body = line.partition(_COMPLETED)
        try:
            call, logged_at = json.loads(body), parse_stamp(stamp.decode())
        except ValueError:  # cut off by the end of its broker
            return
        for row in request_rows(call, logged_at, 0, "", {}):
            lane = lane_of(row["listener"])
            name = started.whose(lane, row["client_id"], row["arrived_at"])
            if name is None:
                self.nameless.add(row["client_id"] or "")
            else:
                member = by_name[name]
                asked = call["request"].get("topics") if row["api"] == METADATA else None
                names = {each["name"] for each in asked or () if each.get("name")}
                self.topics.setdefault(member.name, set()).update(names)
                self._note(member, row)

    def _note(self, member: Member, row: Row) -> None:
        self.requests[member.name] = self.requests.get(member.name, 0) + 1
        if row["api"] in _OTHER_GROUPS and not row["error_code"]:
            self.others.setdefault(member.name, {})[row["group"]] = _OTHER_GROUPS[row["api"]]
        if row["api"] in (_JOIN, "CONSUMER_GROUP_HEARTBEAT") and row["group"]:
            self.groups.setdefault(member.name, set()).add(row["group"])
        if row["group"] != GROUP:
            return
        if row["api"] == _JOIN or row.get("rebalance_timeout_ms") is not None:
            self._asked(member, row)
        held = self._held.setdefault(member.name, {})
        member_id, error = row["member_id"] or "", row["error_code"]
        if error == 0 and member_id:
            member.heard_at = time.monotonic()
        if row["api"] in ("OFFSET_COMMIT", "TXN_OFFSET_COMMIT"):
            for each in row["positions"]:
                if not each["error_code"] and self._is_ours(each):
                    member.position[each["partition"]] = each["committed"]
        if error in _OUT or (row["api"], row["generation"]) in _LEAVES or row["api"] == _LEAVE:
            held.pop(member_id, None)
            member.closed = member.closed or not (error or held)
        elif error == 0 and row["api"] == "SYNC_GROUP":
            self._hold(member, member_id, row["generation"], row["assigned"])
            member.generation = row["generation"]
        elif error == 0 and row["api"] == "CONSUMER_GROUP_HEARTBEAT":
            if row["assigned"] is not None or member_id not in held:
                self._hold(member, member_id, _OF_KIP_848, row["assigned"] or ())
            member.generation = row["member_epoch"]

    def _asked(self, member: Member, row: Row) -> None:
        session_ms = row.get("session_timeout_ms")
        # The oldest calls have one time for both.
        rebalance_ms = row["rebalance_timeout_ms"] or session_ms or 0
        self.announced[member.name] = Announced(session_ms, rebalance_ms)
        if row["error_code"] in _LET_ON:
            member.asked_at = member.asked_at or row["arrived_at"]
            self.refused.pop(member.name, None)
        elif row["api"] == _JOIN or row["generation"] == _FIRST:
            self.refused[member.name] = row["error_code"]

    def _hold(
        self, member: Member, member_id: str, generation: int, assigned: Iterable[Mapping[str, Any]]
    ) -> None:
        partitions = {each["partition"] for each in assigned if self._is_ours(each)}
        # A member that had one of them before, and was put out unheard, has it no more.
        for others in self._held.values():
            for _, theirs in others.values():
                theirs -= partitions
        self._held.setdefault(member.name, {})[member_id] = (generation, partitions)
        member.started, member.closed = True, False
        member.ever_assigned = member.ever_assigned or bool(partitions)

    def _is_ours(self, each: Mapping[str, Any]) -> bool:
        topic = each["topic"] or ""
        return topic == TOPIC or _TOPIC_ID.fullmatch(topic) is not None
