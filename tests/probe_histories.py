"""Hand-written histories of what probes asked, in a group of their own, beside the group's log."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.histories import History, at

OWN = "orders-own"
PROBE = "by-hand"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
_UNSAID = ["instanceId", "rackId", "subscribedTopicNames", "subscribedTopicRegex", "serverAssignor"]


def parts(*numbers: int) -> list[dict[str, Any]]:
    return [{"topicId": TOPIC_ID, "partitions": list(numbers)}] if numbers else []


@dataclass
class Probed(History):
    """A history with calls; member ids are plain words here, all of client probe-by-hand."""

    cluster: dict[str, str] = field(default_factory=dict)  # settings of the brokers
    kafka: str = "4.3.1"

    def manifest(self, **changes: Any) -> dict[str, Any]:
        content = super().manifest(**changes)
        content["declared"]["cluster"] = {"settings": self.cluster, "kafka_version": self.kafka}
        return content

    def call(
        self, api: str, ms: float, error: int | None = 0, *, member: str | None = None,
        state: str | None = "Stable", after: str | None = None, lasts_ms: float = 1,
        request: dict[str, Any] | None = None, answer: dict[str, Any] | None = None, **row: Any,
    ) -> Probed:  # fmt: skip
        """One question and its answer `lasts_ms` later; `error` None: it was never answered."""
        defaults = {
            "probe": PROBE,
            "step": f"step {len(self.rows['calls']) + 1}",
            "rule": "X00",
            "group": OWN,
            "broker": 1,
            "member_id": member,
            "state_before": state,
            "state_after": after or state,
            "sent_at": at(ms),
            "answered_at": None if error is None else at(ms + lasts_ms),
            "error_code": error,
            "request": json.dumps(request or {}),
            "answer": None if error is None else json.dumps({"errorCode": error, **(answer or {})}),
        }
        self.add("calls", api=api, **{**defaults, **row})
        return self

    def commits(
        self, ms: float, error: int, *positions: list[Any], version: int = 8, **row: Any
    ) -> Probed:
        """A commit of partitions of t, each with its position, metadata and error (`error`)."""
        rows = [[*each, *["", error][len(each) - 2 :]] for each in positions]
        names = ("partitionIndex", "committedOffset", "committedMetadata")
        asked = [dict(zip(names, each[:3], strict=True)) for each in rows]
        request = {"version": version, "topics": [{"name": "t", "partitions": asked}]}
        parts = [{"partitionIndex": each[0], "errorCode": each[3]} for each in rows]
        answer = {"topics": [{"name": "t", "partitions": parts}]}
        api = row.pop("api", "OFFSET_COMMIT")
        return self.call(api, ms, error, request=request, answer=answer, **row)

    def positions(
        self, ms: float, *found: list[int], by: str = "own", stable: bool = False, **row: Any
    ) -> Probed:
        """An OffsetFetch of partitions of t: each with the position that it is answered."""
        topics = [{"name": "t", "partitionIndexes": [partition for partition, _ in found]}]
        request = {"groups": [{"groupId": by, "topics": topics}], "requireStable": stable}
        names = ("partitionIndex", "committedOffset", "errorCode")
        parts = [dict(zip(names, (*each, 0), strict=True)) for each in found]
        answer = {"groups": [{"topics": [{"name": "t", "partitions": parts}]}]}
        return self.call("OFFSET_FETCH", ms, request=request, answer=answer, **row)

    def joined(
        self, member: str, ms: float, generation: int = 1, *, leader: str = "a",
        session_ms: int = 30_000, rebalance_ms: int = 20_000, metadata: str = "bWV0YQ==",
        **row: Any,
    ) -> Probed:  # fmt: skip
        """An accepted JoinGroup, by default in a group that is being formed."""
        request = {
            "sessionTimeoutMs": session_ms,
            "rebalanceTimeoutMs": rebalance_ms,
            "memberId": member,
            "protocols": [{"name": "range", "metadata": metadata}],
        }
        answer = {
            "memberId": member,
            "generationId": generation,
            "leader": leader,
            "members": [{"memberId": leader}] if member == leader else [],
        }
        row = {"member": member, "state": "PreparingRebalance", "generation": -1, **row}
        return self.call("JOIN_GROUP", ms, request=request, answer=answer, **row)

    def synced(
        self,
        member: str,
        ms: float,
        got: str = "",
        generation: int = 1,
        gives: dict[str, str] | None = None,
        lasts_ms: float = 1,
        **row: Any,
    ) -> Probed:
        """An answered SyncGroup, in the calls and in the request log."""
        given = [{"memberId": name, "assignment": part} for name, part in (gives or {}).items()]
        self.call(
            "SYNC_GROUP", ms, member=member, generation=generation, lasts_ms=lasts_ms,
            state="CompletingRebalance", after="Stable", request={"assignments": given},
            answer={"assignment": got}, **row,
        )  # fmt: skip
        self.request(
            "SYNC_GROUP", "probe-by-hand", ms, group=OWN, member_id=member, generation=generation,
            processed_at=at(ms + lasts_ms),
        )  # fmt: skip
        return self

    def logged(self, event: str, ms: float, member: str | None = None, **row: Any) -> Probed:
        """A line of the coordinator's log about the group."""
        self.add(
            "coordinator_events", event=event, at=at(ms), group=OWN, member_id=member, broker=1,
            evidence="broker-1.server.log:1", **row,
        )  # fmt: skip
        return self

    def formed(self, *members: str, static: tuple[str, ...] = (), **row: Any) -> Probed:
        """A stable group of generation 1 from 2 s on, of which the first member leads.

        An instance id is the member id with a capital.
        """
        self.logged("rebalance_started", 1_000, generation=0, reason="Adding new member")
        for member in members:
            instance = member.upper() if member in static else None
            self.joined(member, 1_000, leader=members[0], instance_id=instance, lasts_ms=900, **row)
        self.logged("stabilized", 1_900, generation=1, members=len(members))
        for member in members:
            gives = {name: f"part of {name}" for name in members} if member == members[0] else None
            self.synced(member, 1_910, f"part of {member}", gives=gives)
        return self


class Asked(Probed):
    """Heartbeats to a group of KIP-848, each 10 ms after the one before."""

    def beat(
        self,
        member: str,
        epoch: int,
        error: int = 0,
        now: int | None = None,
        assigned: list[dict[str, Any]] | None = None,
        expected: str | None = None,
        group: str | None = OWN,
        **fields: Any,
    ) -> Asked:
        body = {
            "version": 1,
            "groupId": group or "",
            "memberId": member,
            "memberEpoch": epoch,
            "rebalanceTimeoutMs": -1,
            **dict.fromkeys([*_UNSAID, "topicPartitions"]),
            **fields,
        }
        now = epoch if now is None else now
        answer: dict[str, Any] = {"memberId": member or "given", "memberEpoch": now}
        answer["assignment"] = None if assigned is None else {"topicPartitions": assigned}
        self.call(
            "CONSUMER_GROUP_HEARTBEAT", 1_000 + 10 * len(self.rows["calls"]), error, request=body,
            answer=answer, group=group, state="Dead", expected=expected,
        )  # fmt: skip
        return self

    def comes(self, member: str, error: int = 0, now: int = 1, **fields: Any) -> Asked:
        whole = {"rebalanceTimeoutMs": 5_000, "subscribedTopicNames": ["t"], "topicPartitions": []}
        assigned = fields.pop("assigned", parts(0, 1))
        return self.beat(member, 0, error, now, assigned, **{**whole, **fields})
