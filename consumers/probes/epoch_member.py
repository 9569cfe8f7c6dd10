"""A member of a KIP-848 group that does what a script says, and nothing by itself."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from consumers.probes.classic_member import commit_topics
from consumers.probes.script import Body, Script, until
from harness.base.errors import ClusterError

# The first versions that know KIP-848, and name topics by name in commits.
_HEARTBEAT_VERSION: Final = 1
_COMMIT_VERSION: Final = 9
_LEAVE: Final = -1
_GOODBYE: Final = -2  # of a static member
BROKEN: Final = "orders-("  # an expression with a parenthesis that nothing closes


@dataclass
class EpochMember:
    """One scripted member; every question that it asks is recorded for `rule`, without one none is.

    `given` is what it was given last, and `had` the last epoch in which it was a member. A group
    whose state matters has to be named with `epochs=True`.
    """

    script: Script
    group: str
    rule: str | None
    instance_id: str | None = None
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    had: int = 0
    given: list[Body] = field(default_factory=list)

    def join(self, step: str, **fields: Any) -> int | None:
        """A whole join, but for the fields that are named; as `beat`."""
        topics = [self.script.config.topic]
        body = {"rebalanceTimeoutMs": 30_000, "subscribedTopicNames": topics, "topicPartitions": []}
        return self.beat(step, 0, **{**body, **fields})

    def leave(self, step: str) -> int | None:
        return self.beat(step, _LEAVE)

    def goodbye(self, step: str) -> int | None:
        return self.beat(step, _GOODBYE)

    def beat(
        self, step: str, epoch: int | None = None, version: int = _HEARTBEAT_VERSION, **fields: Any
    ) -> int | None:
        """One heartbeat, by default with its epoch alone; the error code, None without answer."""
        body = {
            "groupId": self.group,
            "memberId": self.member_id,
            "memberEpoch": self.epoch if epoch is None else epoch,
            "instanceId": self.instance_id,
            "rackId": None,
            "rebalanceTimeoutMs": -1,
            "subscribedTopicNames": None,
            "subscribedTopicRegex": None,
            "serverAssignor": None,
            "topicPartitions": None,
            **fields,
        }
        expected = {"regex": "broken"} if body["subscribedTopicRegex"] == BROKEN else None
        answer = self._ask(step, "CONSUMER_GROUP_HEARTBEAT", version, body, expected)
        if answer is None:
            return None
        if not answer["errorCode"]:
            self.member_id = answer["memberId"] or self.member_id
            self.epoch = max(0, answer["memberEpoch"])
            self.had = self.epoch or self.had
            if answer["assignment"] is not None:
                self.given = answer["assignment"]["topicPartitions"]
        return int(answer["errorCode"])

    def accepted(self, step: str, **fields: Any) -> "EpochMember":
        """A heartbeat, or a join of one that is no member yet. Raises ClusterError if refused."""
        if error := (self.beat if self.epoch else self.join)(step, **fields):
            raise ClusterError(f"a heartbeat to {self.group} was refused: error {error}")
        return self

    def acknowledge(self, step: str = "acknowledge", **fields: Any) -> "EpochMember":
        """A heartbeat that owns what it was given. Raises ClusterError if refused."""
        return self.accepted(step, topicPartitions=self.given, **fields)

    def moves_on(self, step: str, topics: list[str]) -> None:
        """Subscribe to something else, and heartbeat until that has raised its epoch."""
        before = self.epoch
        self.beat(step, subscribedTopicNames=topics)

        def moved() -> bool:
            if self.epoch == before:
                self.beat(f"{step}: until the epoch is raised", topicPartitions=self.given)
            return self.epoch > before

        until(f"a later epoch after {step}", moved)

    def until_stable(self, step: str) -> None:
        """Acknowledge what it is given until the group is stable. Raises WaitTimeout."""
        until(
            f"group {self.group} stable",
            lambda: self.acknowledge(step).given and self.script.state(self.group) == "Stable",
        )

    def partitions(self) -> set[int]:
        """Numbers of the partitions that it was given last."""
        return {number for topic in self.given for number in topic["partitions"]}

    def commit(
        self,
        step: str,
        positions: Mapping[str, int],
        *,
        epoch: int | None = None,
        expected: Body | None = None,
    ) -> None:
        body = {
            "groupId": self.group,
            "generationIdOrMemberEpoch": self.epoch if epoch is None else epoch,
            "memberId": self.member_id,
            "groupInstanceId": None,
            "topics": commit_topics(positions),
        }
        self._ask(step, "OFFSET_COMMIT", _COMMIT_VERSION, body, expected)

    def _ask(
        self, step: str, api: str, version: int, body: Body, expected: Body | None
    ) -> Body | None:
        broker = self.script.coordinator(self.group)
        if self.rule is None:
            return self.script.brokers.ask(broker, api, body, version)
        return self.script.ask(
            *(step, self.rule, api, body, broker),
            group=body["groupId"],
            member_id=body["memberId"] or None,
            instance_id=body.get("instanceId"),
            generation=body.get("memberEpoch", body.get("generationIdOrMemberEpoch")),
            version=version,
            expected=expected,
        )
