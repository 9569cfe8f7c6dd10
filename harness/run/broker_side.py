"""What members of an app hold and how far they are, while the run goes on, by the brokers alone.

The brokers' request logs are followed as they grow. A request's listener is the lane that it came
through, and each process has a lane of its own.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.cluster.plan import Plan, listener_name
from harness.history.request_log import request_rows
from harness.run.member import Member

Row = dict[str, Any]
_COMPLETED: Final = b"Completed request:"
_FETCH: Final = b'"requestApiKeyName":"FETCH"'
_LEAVE: Final = "LEAVE_GROUP"
# Heartbeats of KIP-848 with these epochs leave the group, for good or for now.
_LEAVES: Final = (("CONSUMER_GROUP_HEARTBEAT", -1), ("CONSUMER_GROUP_HEARTBEAT", -2))
_OUT: Final = (22, 25, 82, 110)  # errors that say: you are no member, or not of this generation
_OF_KIP_848: Final = -1  # its members have epochs of their own, and no generation ends another
_TOPIC_ID: Final = re.compile(r"[\w-]{22}")  # newer commits name a topic by its id; there is one


@dataclass
class BrokerSide:
    """Follows the request logs of a run's brokers."""

    logs: Path
    plan: Plan
    group: str
    topic: str
    # By lane: groups that were joined through it, and how many requests came.
    groups: dict[str, set[str]] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    _read: dict[int, int] = field(default_factory=dict)
    # By lane, what each member id got last, with its generation.
    _held: dict[str, dict[str, tuple[int, set[int]]]] = field(default_factory=dict)

    def follow(self, members: Iterable[Member]) -> None:
        """Read every log on, and tell the members' state."""
        by_lane = {member.lane: member for member in members if member.running}
        lanes = {listener_name(lane).encode(): lane for lane in by_lane}
        for node in self.plan.brokers:
            for line in self._lines(node.id):
                for name, lane in lanes.items():
                    if b'"listener":"' + name + b'"' in line:
                        self._take(by_lane[lane], line)
                        break
        newest = max((member.generation or 0 for member in by_lane.values()), default=0)
        for lane, member in by_lane.items():
            held = self._held.get(lane, {})
            # Who holds a partition by an older generation has been put out of the group.
            member.assigned = {
                partition
                for generation, partitions in held.values()
                if generation in (newest, _OF_KIP_848)
                for partition in partitions
            }

    def forget(self, lane: str) -> None:
        """Another process comes through this lane from now on."""
        self._held.pop(lane, None)

    def _lines(self, broker: int) -> list[bytes]:
        path = self.logs / f"broker-{broker}.requests.log"
        try:
            with path.open("rb") as log:
                log.seek(self._read.get(broker, 0))
                data = log.read()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        self._read[broker] = self._read.get(broker, 0) + whole
        return [line for line in data[:whole].split(b"\n") if _FETCH not in line]

    def _take(self, member: Member, line: bytes) -> None:
        _, found, body = line.partition(_COMPLETED)
        if not found:
            return
        try:
            call = json.loads(body)
        except ValueError:  # cut off by the end of its broker
            return
        for row in request_rows(call, 0, 0, "", {}):
            self._note(member, row)

    def _note(self, member: Member, row: Row) -> None:
        lane = member.lane
        self.requests[lane] = self.requests.get(lane, 0) + 1
        if row["api"] in ("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT") and row["group"]:
            self.groups.setdefault(lane, set()).add(row["group"])
        if row["group"] != self.group:
            return
        held = self._held.setdefault(lane, {})
        member_id, error = row["member_id"] or "", row["error_code"]
        if error in _OUT or (row["api"], row["generation"]) in _LEAVES or row["api"] == _LEAVE:
            held.pop(member_id, None)
            member.closed = member.closed or not error
        elif error == 0 and row["api"] == "SYNC_GROUP":
            self._hold(member, member_id, row["generation"], row["assigned"])
            member.generation = row["generation"]
        elif error == 0 and row["api"] == "CONSUMER_GROUP_HEARTBEAT":
            if row["assigned"] is not None or member_id not in held:
                self._hold(member, member_id, _OF_KIP_848, row["assigned"] or ())
            member.generation = row["member_epoch"]
        elif error == 0 and row["api"] in ("OFFSET_COMMIT", "TXN_OFFSET_COMMIT"):
            for each in row["positions"]:
                if each["topic"] == self.topic or _TOPIC_ID.fullmatch(each["topic"] or ""):
                    member.position[each["partition"]] = each["committed"]

    def _hold(
        self, member: Member, member_id: str, generation: int, assigned: Iterable[Mapping[str, Any]]
    ) -> None:
        self._held.setdefault(member.lane, {})[member_id] = (
            generation,
            {each["partition"] for each in assigned},
        )
        member.started, member.closed = True, False
        member.ever_assigned = member.ever_assigned or bool(assigned)
