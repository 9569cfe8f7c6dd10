"""ConsumerGroupHeartbeats, right and wrong in every way that KIP-848 names, each in a small group.

Epochs and instance ids, requests that are not whole, assignors and expressions that the broker has
not, groups that are full, are not there or are of the other protocol.
"""

import uuid
from dataclasses import dataclass, field
from typing import Any, Final

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.member import ProbeMember, form, subscription
from consumers.probes.script import Question, Script
from consumers.probes.wire import Body

# Version 1 came with Kafka 4.0: members name themselves, and subscribe by regular expressions.
_VERSION: Final = 1
_LEAVE: Final = -1
_GOODBYE: Final = -2
_BROKEN: Final = "orders-("  # a parenthesis that nothing closes


def play(config: ProbeConfig, journal: Journal) -> None:
    Script(config, journal).play(
        (
            whole,
            absent,
            epochs,
            instances,
            full,
            full_of_static,
            subscriptions,
            classic_group,
            modern_group,
        )
    )


@dataclass
class _Member:
    """A member that sends what it is told to, and believes nothing but its last answer."""

    script: Script
    group: str
    rule: str
    instance_id: str | None = None
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    given: list[Body] = field(default_factory=list)

    def join(self, step: str, **fields: Any) -> None:
        """A whole join, but for the fields that are named."""
        body = {
            "rebalanceTimeoutMs": 30_000,
            "subscribedTopicNames": [self.script.config.topic],
            "topicPartitions": [],
        }
        self.beat(step, 0, **{**body, **fields})

    def beat(self, step: str, epoch: int | None = None, **fields: Any) -> None:
        """One heartbeat, by default with its epoch and nothing to say; and take the answer."""
        version = fields.pop("version", _VERSION)
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
        broken = body["subscribedTopicRegex"] == _BROKEN
        question = Question(
            step=step,
            rule=self.rule,
            api="CONSUMER_GROUP_HEARTBEAT",
            body=body,
            group=body["groupId"] or None,
            member_id=body["memberId"] or None,
            instance_id=body["instanceId"],
            generation=body["memberEpoch"],
            version=version,
            expected={"regex": "broken"} if broken else None,
        )
        answer = self.script.ask(question, self.script.coordinator(self.group))
        if answer is not None and not answer["errorCode"]:
            self.member_id = answer["memberId"] or self.member_id
            self.epoch = max(0, answer["memberEpoch"])
            if answer["assignment"] is not None:
                self.given = answer["assignment"]["topicPartitions"]

    def moves_on(self, step: str, topics: list[str]) -> None:
        """Subscribe to something else, and heartbeat until that has raised its epoch."""
        before = self.epoch
        self.beat(step, subscribedTopicNames=topics)

        def moved() -> bool:
            if self.epoch == before:
                self.beat(f"{step}: until the epoch is raised", topicPartitions=self.given)
            return self.epoch > before

        self.script.until(f"a later epoch after {step}", moved)


def whole(script: Script) -> None:
    """Requests that lack something; none of them makes a group, as the last one shows."""
    group = script.group("not-whole")
    member = _Member(script, group, "X40")
    member.join("join without a member id", memberId="")
    member.join("join with an empty group id", groupId="")
    member.join("join with an empty instance id", instanceId="")
    member.join("join with an empty rack id", rackId="")
    member.join("join without a rebalance time-out", rebalanceTimeoutMs=-1)
    member.join("join that owns partitions unknown", topicPartitions=None)
    owned = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0]}]
    member.join("join that owns a partition", topicPartitions=owned)
    member.join("join without a subscription", subscribedTopicNames=None)
    member.beat("goodbye of a static member without an instance id", _GOODBYE)
    member.beat("epoch -3", -3)
    member.beat("heartbeat without a member id", 1, memberId="")
    member.rule = "X40-assignor"
    member.join("join with the assignor sticky", serverAssignor="sticky")
    member.beat("heartbeat with the assignor sticky", 1, serverAssignor="sticky")
    member.rule = "X40-regex"
    broken: dict[str, Any] = {"subscribedTopicNames": None, "subscribedTopicRegex": _BROKEN}
    member.join("join with a broken regular expression", **broken)
    member.rule = "X40-group"
    member.beat("heartbeat to the group that nobody made", 1)
    member.rule = "X40"
    member.join("join in version 0 without a member id", version=0, memberId="")
    member.beat("leave", _LEAVE)


def absent(script: Script) -> None:
    """Heartbeats and goodbyes to a group that is not there."""
    group = script.group("absent")
    member = _Member(script, group, "X40-group")
    member.beat("heartbeat to no group", 1)
    member.beat("leave of no group", _LEAVE)
    member.instance_id = "absent-1"
    member.beat("goodbye to no group", _GOODBYE)


def epochs(script: Script) -> None:
    """A member alone, whose epoch is raised twice by what it subscribes to."""
    group = script.group("epochs")
    member, stranger = (_Member(script, group, "X40-epoch") for _ in range(2))
    topic = script.config.topic
    member.join("join")
    first = member.epoch
    member.beat("heartbeat with its epoch")
    member.beat("heartbeat with an epoch to come", first + 1)
    member.moves_on("subscribe to another topic too", [topic, f"{topic}-not-there"])
    second = member.epoch
    member.beat("the epoch before, as if an answer was lost", first, topicPartitions=member.given)
    member.beat("the epoch before, without what it owns", first)
    foreign = [{**topic_part, "partitions": [99]} for topic_part in member.given]
    member.beat("the epoch before, with a partition of nobody", first, topicPartitions=foreign)
    member.beat("heartbeat with an epoch to come", second + 1)
    member.moves_on("subscribe to one topic again", [topic])
    member.beat("an older epoch", first, topicPartitions=member.given)
    member.rule = "X40-rejoin"
    member.join("join again")
    member.beat("heartbeat after it joined again")
    stranger.rule = member.rule = "X40-member"
    stranger.beat("heartbeat of a stranger", member.epoch)
    stranger.beat("leave of a stranger", _LEAVE)
    member.beat("leave", _LEAVE)
    member.beat("heartbeat after it left", member.epoch or second)
    member.beat("leave again", _LEAVE)


def instances(script: Script) -> None:
    """One instance id, and three members that want it."""
    group = script.group("instances")
    owner, next_one, third = (
        _Member(script, group, "X40-instance", "instance-1") for _ in range(3)
    )
    owner.join("join")
    next_one.join("join with an instance id in use")
    owner.rule = "X40-rejoin-static"
    owner.join("join again of its owner")
    owner.rule = "X40-instance"
    owner.beat("heartbeat of its owner")
    third.beat("heartbeat with the instance id of another", owner.epoch)
    third.beat("leave with the instance id of another", _LEAVE)
    third.beat("goodbye with the instance id of another", _GOODBYE)
    lost = _Member(script, group, "X40-member", "instance-2")
    lost.beat("heartbeat with an instance id that nobody has", owner.epoch)
    lost.beat("goodbye with an instance id that nobody has", _GOODBYE)
    epoch = owner.epoch
    owner.beat("goodbye", _GOODBYE)
    owner.beat("heartbeat after its goodbye", epoch)
    next_one.join("join with an instance id that was let go")
    owner.beat("heartbeat of the one before", epoch)
    owner.instance_id = None
    owner.beat("heartbeat of the one before, without the instance id", epoch)
    next_one.beat("heartbeat of the new owner")
    next_one.beat("leave", _LEAVE)


def full(script: Script) -> None:
    """Two members where no more are allowed, and a third one."""
    group = script.group("full")
    first, second, third = (_Member(script, group, "X40-full") for _ in range(3))
    first.join("join of the first")
    second.join("join of the second")
    third.join("join of one too many")
    third.beat("heartbeat of one too many", 1)
    first.beat("heartbeat of a member")
    first.join("join of a member again")
    first.beat("leave", _LEAVE)
    third.join("join in the place of one that left")
    for member in (second, third):
        member.beat("leave", _LEAVE)


def full_of_static(script: Script) -> None:
    """Two static members where no more are allowed, and a process that comes in the place of one.

    What is refused here must not cost the others their places: all leave as they came.
    """
    group = script.group("full-static")
    first, second, again = (
        _Member(script, group, "X40-full-static", f"full-{number}") for number in (1, 2, 1)
    )
    first.join("join of the first")
    second.join("join of the second")
    again.join("join in the place of a member of a full group")
    first.beat("goodbye in a full group", _GOODBYE)
    again.join("join in the place of one that said goodbye, in a full group")
    for member in (again, first, second):
        member.beat("leave of a full group", _LEAVE)


def subscriptions(script: Script) -> None:
    """Joins that subscribe to nothing, to what is not there, and by expressions."""
    group = script.group("subscriptions")
    topic = script.config.topic
    for step, rule, fields in (
        ("to nothing", "X40-empty", {"subscribedTopicNames": []}),
        (
            "to a topic that is not there",
            "X40-empty",
            {"subscribedTopicNames": [f"{topic}-not-there"]},
        ),
        ("with the assignor range", "X40-assignor", {"serverAssignor": "range"}),
        ("with the assignor uniform", "X40-assignor", {"serverAssignor": "uniform"}),
        (
            "by an expression",
            "X40-regex",
            {"subscribedTopicNames": None, "subscribedTopicRegex": f"{topic}-not-.*"},
        ),
    ):
        member = _Member(script, group, rule)
        member.join(f"join {step}", **fields)
        member.beat(f"heartbeat after a join {step}")
        if rule == "X40-regex":
            member.beat("heartbeat with a broken expression", subscribedTopicRegex=_BROKEN)
        member.beat(f"leave after a join {step}", _LEAVE)


def classic_group(script: Script) -> None:
    """Heartbeats of KIP-848 to classic groups: of consumers, and of another type."""
    group = script.group("classic")
    old = ProbeMember(script, group, "X40-group", topics=(script.config.topic,))
    form([old])
    new = _Member(script, group, "X40-group")
    new.beat("heartbeat to a classic group", 1)
    new.beat("leave of a classic group", _LEAVE)
    old.leave("leave of the classic member")
    connect = script.group("connect")
    worker = _Member(script, connect, "X40-group")
    joining = script.begin(_classic_join(script, connect, "connect", "worker-1"))
    script.until_state(connect, "PreparingRebalance")
    worker.join("join to a group of another type")
    worker.beat("heartbeat to a group of another type", 1)
    joining.result()


def modern_group(script: Script) -> None:
    """Classic calls to a group of KIP-848, as its member and as one of another type."""
    group = script.group("modern")
    new = _Member(script, group, "X40-classic")
    new.join("join")
    old = ProbeMember(script, group, "X40-classic", member_id=new.member_id, generation=new.epoch)
    old.heartbeat("classic heartbeat as a member of KIP-848")
    old.begin_sync("classic sync as a member of KIP-848").result()
    script.ask(_classic_join(script, group, "connect", "worker-2"))
    new.beat("heartbeat after that")
    new.beat("leave", _LEAVE)


def _classic_join(script: Script, group: str, protocol_type: str, instance: str) -> Question:
    """A classic JoinGroup of a static member, which joins in one step, of some type."""
    return Question(
        step=f"classic join of type {protocol_type}",
        rule="X40-classic",
        api="JOIN_GROUP",
        body={
            "groupId": group,
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": 10_000,
            "memberId": "",
            "groupInstanceId": instance,
            "protocolType": protocol_type,
            "protocols": [{"name": "default", "metadata": subscription(())}],
            "reason": None,
        },
        group=group,
        instance_id=instance,
        generation=-1,
    )
