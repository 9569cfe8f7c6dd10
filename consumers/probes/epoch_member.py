"""A member of a KIP-848 group that does what a script says, and nothing by itself."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from consumers.probes.positions import commit_of, commit_topics
from consumers.probes.script import Question, Script
from consumers.probes.wire import Body
from harness.base.errors import ClusterError

# The first versions that know KIP-848, and name topics by name in commits.
_HEARTBEAT_VERSION: Final = 1
_COMMIT_VERSION: Final = 9
_LEAVE: Final = -1  # the epoch of a member that leaves


@dataclass
class EpochMember:
    """One scripted member; every question that it asks is recorded for `rule`, without one none is.

    `given` is what it was given last. Where questions are recorded its group has to be named with
    `epochs=True`.
    """

    script: Script
    group: str
    rule: str | None
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    given: list[Body] = field(default_factory=list)

    def heartbeat(
        self, step: str, *, owns: list[Body] | None = None, topics: list[str] | None = None
    ) -> None:
        """One heartbeat, which says what it owns and subscribes to if that is given.

        Raises ClusterError if it was refused.
        """
        if error := self.try_heartbeat(step, owns=owns, topics=topics):
            raise ClusterError(f"a heartbeat to {self.group} was refused: error {error}")

    def try_heartbeat(
        self, step: str, *, owns: list[Body] | None = None, topics: list[str] | None = None
    ) -> int | None:
        """The same; the error code of the answer, None if there was none. With epoch 0 it joins."""
        if self.epoch == 0:
            topics = [self.script.config.topic] if topics is None else topics
            return self._beat(step, 0, rebalance_timeout_ms=30_000, owns=[], topics=topics)
        return self._beat(step, self.epoch, owns=owns, topics=topics)

    def leave(self, step: str) -> int | None:
        """Leave the group; the error code of the answer, None if there was none."""
        return self._beat(step, _LEAVE)

    def settle(self, step: str) -> None:
        """Acknowledge what it is given until the group is stable. Raises WaitTimeout."""

        def stable() -> bool:
            self.heartbeat(step, owns=self.given)
            return bool(self.given) and self.script.state(self.group) == "Stable"

        self.script.until(f"group {self.group} stable", stable)

    def partitions(self) -> set[int]:
        """Numbers of the partitions that it was given last."""
        return {number for topic in self.given for number in topic["partitions"]}

    def commit(
        self,
        step: str,
        positions: Mapping[tuple[str, int], int],
        *,
        epoch: int | None = None,
        expected: Body | None = None,
    ) -> None:
        """OffsetCommit, with its own epoch or another."""
        epoch = self.epoch if epoch is None else epoch
        body = commit_of(self.group, self.member_id, epoch, commit_topics(positions))
        self._ask(step, "OFFSET_COMMIT", _COMMIT_VERSION, body, epoch, expected)

    def _beat(
        self,
        step: str,
        epoch: int,
        *,
        rebalance_timeout_ms: int = -1,
        owns: list[Body] | None = None,
        topics: list[str] | None = None,
    ) -> int | None:
        body = {
            "groupId": self.group,
            "memberId": self.member_id,
            "memberEpoch": epoch,
            "instanceId": None,
            "rackId": None,
            "rebalanceTimeoutMs": rebalance_timeout_ms,
            "subscribedTopicNames": topics,
            "subscribedTopicRegex": None,
            "serverAssignor": None,
            "topicPartitions": owns,
        }
        answer = self._ask(step, "CONSUMER_GROUP_HEARTBEAT", _HEARTBEAT_VERSION, body, epoch)
        if answer is None:
            return None
        if not answer["errorCode"]:
            self.epoch = max(0, answer["memberEpoch"])
            if answer["assignment"] is not None:
                self.given = answer["assignment"]["topicPartitions"]
        return int(answer["errorCode"])

    def _ask(
        self,
        step: str,
        api: str,
        version: int,
        body: Body,
        epoch: int,
        expected: Body | None = None,
    ) -> Body | None:
        if self.rule is None:
            broker = self.script.coordinator(self.group)
            return self.script.brokers.ask(broker, api, body, version)
        return self.script.ask(
            Question(
                step=step,
                rule=self.rule,
                api=api,
                body=body,
                group=self.group,
                member_id=self.member_id,
                generation=epoch,
                version=version,
                expected=expected,
            )
        )
