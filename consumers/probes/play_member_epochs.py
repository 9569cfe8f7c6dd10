"""Commits with epochs that a member of KIP-848 has had, has, and never had; the group described.

A second member's join takes partitions from the first and moves it on to a later epoch; what it
keeps was given to it in the epoch before. When both have what they are to have, the group is
described by the call that knows such groups, and by the one that does not. In another group a
partition is committed that is being given up.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.member import commit_topics
from consumers.probes.script import Question, Script
from consumers.probes.wire import Body
from harness.base.errors import ClusterError

# The first versions that know KIP-848, and name topics by name in commits.
_HEARTBEAT_VERSION: Final = 1
_COMMIT_VERSION: Final = 9
_DESCRIBE_VERSION: Final = 0


def play(config: ProbeConfig, journal: Journal) -> None:
    """Play both scenes at once."""
    script = Script(config, journal)
    script.play((later_epochs, to_be_given_up))


@dataclass
class _Member:
    """A member that heartbeats when it is told to; `given` is what it was given last."""

    script: Script
    group: str
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    given: list[Body] = field(default_factory=list)

    def heartbeat(
        self, step: str, *, owns: list[Body] | None = None, topics: list[str] | None = None
    ) -> None:
        """One heartbeat, which says what it owns and subscribes to if that is given."""
        joins = self.epoch == 0
        body = {
            "groupId": self.group,
            "memberId": self.member_id,
            "memberEpoch": self.epoch,
            "instanceId": None,
            "rackId": None,
            "rebalanceTimeoutMs": 30_000 if joins else -1,
            "subscribedTopicNames": [self.script.config.topic] if joins else topics,
            "subscribedTopicRegex": None,
            "serverAssignor": None,
            "topicPartitions": [] if joins else owns,
        }
        answer = self._ask(step, "CONSUMER_GROUP_HEARTBEAT", _HEARTBEAT_VERSION, body, None)
        if answer is None or answer["errorCode"]:
            raise ClusterError(f"a heartbeat to {self.group} was refused: {answer}")
        self.epoch = max(0, answer["memberEpoch"])
        if answer["assignment"] is not None:
            self.given = answer["assignment"]["topicPartitions"]

    def partitions(self) -> set[int]:
        """Numbers of the partitions that it was given last."""
        return {number for topic in self.given for number in topic["partitions"]}

    def commit(self, step: str, number: int, epoch: int, since: int | None) -> None:
        """Commit one partition with an epoch; `since` is the one that it was given in, if it is."""
        body = {
            "groupId": self.group,
            "generationIdOrMemberEpoch": epoch,
            "memberId": self.member_id,
            "groupInstanceId": None,
            "topics": commit_topics({(self.script.config.topic, number): 0}),
        }
        expected = {"member_epoch": self.epoch, "assignment_epoch": since}
        self._ask(step, "OFFSET_COMMIT", _COMMIT_VERSION, body, expected, epoch)

    def _ask(
        self,
        step: str,
        api: str,
        version: int,
        body: Body,
        expected: Body | None,
        epoch: int | None = None,
    ) -> dict[str, Any] | None:
        return self.script.ask(
            Question(
                step=step,
                rule="X22",
                api=api,
                body=body,
                group=self.group,
                member_id=self.member_id,
                generation=self.epoch if epoch is None else epoch,
                version=version,
                expected=expected,
            )
        )


def later_epochs(script: Script) -> None:
    """Two members, of which the first gives partitions up for the second."""
    group = script.group("member-epochs")
    first, second = _Member(script, group), _Member(script, group)
    first.heartbeat("join")
    first.heartbeat("acknowledge", owns=first.given)
    had, before = first.epoch, first.partitions()
    kept = min(before)
    first.commit("commit with the epoch it has", kept, first.epoch, had)
    second.heartbeat("join of the second member")

    def shrunk() -> bool:
        first.heartbeat("heartbeat until something is taken")
        return first.partitions() < before

    script.until("partitions taken from the first member", shrunk)

    def later() -> bool:
        first.heartbeat("acknowledge", owns=first.given)
        return first.epoch > had

    script.until("a later epoch of the first member", later)
    kept, taken = min(first.partitions()), min(before - first.partitions())
    first.commit("commit of a kept partition, with the epoch it has", kept, first.epoch, had)
    first.commit("commit of a kept partition, with the epoch before", kept, had, had)
    first.commit("commit of a partition taken, with the epoch before", taken, had, None)
    first.commit("commit with an epoch to come", kept, first.epoch + 1, had)

    def settled() -> bool:
        for member in (first, second):
            member.heartbeat("heartbeat until both have theirs", owns=member.given)
        return first.epoch == second.epoch and second.partitions() == before - first.partitions()

    script.until("all partitions given to the two members", settled)
    second.heartbeat("acknowledge", owns=second.given)
    _describe(script, group, (first, second))


def to_be_given_up(script: Script) -> None:
    """Commits of a partition that its member has been told to give up, and has not yet.

    The member was given it in an epoch before its present one, which a change of what it subscribes
    to has raised.
    """
    group = script.group("to-be-given-up")
    first, second = _Member(script, group), _Member(script, group)
    first.heartbeat("join")
    first.heartbeat("acknowledge", owns=first.given)
    since, before = first.epoch, first.partitions()
    topics = [script.config.topic, f"{script.config.topic}-not-there"]

    def later() -> bool:
        first.heartbeat("subscribe to one topic more", owns=first.given, topics=topics)
        return first.epoch > since

    script.until("a later epoch of the member", later)
    second.heartbeat("join of the second member")

    def shrunk() -> bool:
        first.heartbeat("heartbeat until something is taken")
        return first.partitions() < before

    script.until("partitions taken from the first member", shrunk)
    taken = min(before - first.partitions())
    first.commit(
        "commit of what is to be given up, with the epoch it has", taken, first.epoch, since
    )
    first.commit("commit of what is to be given up, with the epoch before", taken, since, since)


def _describe(script: Script, group: str, members: Sequence[_Member]) -> None:
    """Describe the group by both calls; `expected` is what its members were told."""
    expected = {
        member.member_id: {
            "epoch": member.epoch,
            "client": script.client_id,
            "partitions": sorted(member.partitions()),
        }
        for member in members
    }
    for api, groups, version in (
        ("CONSUMER_GROUP_DESCRIBE", "groupIds", _DESCRIBE_VERSION),
        ("DESCRIBE_GROUPS", "groups", script.codec.newest("DESCRIBE_GROUPS")),
    ):
        script.ask(
            Question(
                step=f"describe the group by {api}",
                rule="R28-epoch",
                api=api,
                body={groups: [group], "includeAuthorizedOperations": False},
                group=group,
                version=version,
                expected=expected,
            )
        )
