"""Members of a classic group, and its administrator: they do what a script says, and no more."""

import base64
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Final

from consumers.probes.script import Answer, Body, Script, until, worst
from harness.base.codec import ASSIGNMENT, encoded
from harness.base.errors import ClusterError

MEMBER_ID_REQUIRED: Final = 79
ASSIGNOR: Final = "range"
_ALIVE_EVERY_S: Final = 2.0
Partitions = Sequence[tuple[str, int]]


@dataclass
class ProbeMember:
    """One scripted member; every question that it asks is recorded for `rule`.

    Timeouts are what it announces. `member_id` and `generation` are what it was given last; a
    script may change them to lie. `joining` is the answer to its last JoinGroup.
    """

    script: Script
    group: str
    rule: str
    instance_id: str | None = None
    session_timeout_ms: int = 30_000
    rebalance_timeout_ms: int = 20_000
    topics: tuple[str, ...] = ()
    protocol_type: str = "consumer"
    protocol: str = ASSIGNOR
    member_id: str = ""
    generation: int = -1
    joined: Body = field(default_factory=dict)  # the last answer that let it in
    joining: Answer = field(default_factory=Future)

    def get_id(self, step: str = "join without a member id") -> None:
        """The first of the two steps of joining, for a dynamic member."""
        answer = self.begin_join(step).result()
        if answer is not None and answer["errorCode"] == MEMBER_ID_REQUIRED:
            self.member_id = answer["memberId"]

    def begin_join(self, step: str, note: str = "") -> Answer:
        """One JoinGroup as it stands. `note` changes the metadata: a leader's rejoin with news."""
        body = {
            "groupId": self.group,
            "sessionTimeoutMs": self.session_timeout_ms,
            "rebalanceTimeoutMs": self.rebalance_timeout_ms,
            "memberId": self.member_id,
            "groupInstanceId": self.instance_id,
            "protocolType": self.protocol_type,
            "protocols": [{"name": self.protocol, "metadata": subscription(self.topics, note)}],
            "reason": None,
        }
        self.joining = self._begin(step, "JOIN_GROUP", body)
        return self.joining

    def try_join(self, step: str) -> Body | None:
        return self.begin_join(step).result()

    def join(self, step: str, note: str = "") -> None:
        """One JoinGroup that lets it in. Raises ClusterError if it was refused."""
        self.begin_join(step, note)
        self.take()

    def take(self) -> None:
        """Wait for the answer of its JoinGroup, and be what it says. Raises ClusterError."""
        answer = self.joining.result()
        if answer is None or answer["errorCode"]:
            raise ClusterError(f"{self.member_id} could not join {self.group}: answered {answer}")
        self.joined = answer
        self.member_id = answer["memberId"]
        self.generation = answer["generationId"]

    @property
    def leads(self) -> bool:
        return bool(self.joined["leader"] == self.member_id)

    def begin_sync(self, step: str, given: Mapping[str, Partitions] | None = None) -> Answer:
        """SyncGroup with what it gives to each member, by member id."""
        body = {**self._myself(), "protocolType": "consumer", "protocolName": ASSIGNOR}
        body["assignments"] = [
            {"memberId": member_id, "assignment": assignment(partitions)}
            for member_id, partitions in (given or {}).items()
        ]
        return self._begin(step, "SYNC_GROUP", body)

    def sync(self, step: str, *, alone: bool = False) -> Body | None:
        """SyncGroup and its answer; `alone` it assigns nothing to itself, else nothing at all."""
        return self.begin_sync(step, {self.member_id: []} if alone else None).result()

    def heartbeat(self, step: str) -> Body | None:
        return self._begin(step, "HEARTBEAT", self._myself()).result()

    def keep_alive(self, step: str, for_s: float) -> None:
        over_at = time.monotonic() + for_s
        while (left_s := over_at - time.monotonic()) > 0:
            self.heartbeat(step)
            time.sleep(min(_ALIVE_EVERY_S, max(0.0, left_s)))
        self.heartbeat(step)

    def leave(self, step: str) -> Body | None:
        leaving = {"memberId": self.member_id, "groupInstanceId": self.instance_id, "reason": None}
        body = {"groupId": self.group, "members": [leaving]}
        return self._begin(step, "LEAVE_GROUP", body).result()

    def commit(
        self, step: str, positions: Mapping[str, int], version: int | None = None
    ) -> Body | None:
        body = self._myself("generationIdOrMemberEpoch")
        body["topics"] = commit_topics(positions)
        return self._begin(step, "OFFSET_COMMIT", body, version).result()

    def offer(self, step: str, positions: Mapping[str, int], producer: Body) -> Body | None:
        """TxnOffsetCommit: positions that go with the open transaction of a producer."""
        # Kafka 4.4 has a new name for the generation; the one that it does not know is not sent.
        body = {**producer, **self._myself("generationId", "generationIdOrMemberEpoch")}
        body["topics"] = commit_topics(positions)
        return self._begin(step, "TXN_OFFSET_COMMIT", body).result()

    def _myself(self, *generations: str) -> Body:
        """The fields that name it; `generations` are the call's names of its generation."""
        said = dict.fromkeys(generations or ("generationId",), self.generation)
        who = {"memberId": self.member_id, "groupInstanceId": self.instance_id}
        return {"groupId": self.group, **said, **who}

    def _begin(self, step: str, api: str, body: Body, version: int | None = None) -> Answer:
        who: Body = {"member_id": self.member_id or None, "instance_id": self.instance_id}
        who |= {"group": self.group, "generation": self.generation}
        return self.script.begin(step, self.rule, api, body, version=version, **who)


def form(members: Sequence[ProbeMember], step: str) -> None:
    """Let members join an empty group and give each its part. The first of them leads."""
    join_all(members, step)
    settle(members, step)


def join_all(members: Sequence[ProbeMember], step: str) -> None:
    """The first half of a rebalance: everybody joins, a new member in two steps.

    One that was answered before the others had come joins again, as a client would.
    """
    for member in members:
        if member.instance_id is None and not member.member_id:
            member.get_id(f"{step}: join without a member id")
    waiting = set(range(len(members)))
    for number, member in enumerate(members):
        member.begin_join(f"{step}: join")
        if number == 0 and not member.joined:
            # The first that the coordinator knows of leads. By now its rebalance may have ended.
            member.script.until_state(member.group, "PreparingRebalance", "CompletingRebalance")
    too_few: set[int] = set()  # generations that lack a member that has asked to join
    while waiting:
        wait([members[number].joining for number in waiting], return_when=FIRST_COMPLETED)
        for number in [number for number in waiting if members[number].joining.done()]:
            member = members[number]
            member.take()
            waiting.remove(number)
            if member.leads and len(member.joined["members"]) < len(members):
                too_few.add(member.generation)
        for number, member in enumerate(members):
            if number not in waiting and member.generation in too_few:
                member.begin_join(f"{step}: join again, with the others")
                waiting.add(number)


def settle(members: Sequence[ProbeMember], step: str) -> None:
    """The second half: the leader assigns partition n to the n-th, everybody takes its part."""
    leader = next(member for member in members if member.leads)
    others = [member for member in members if member is not leader]
    parked = [member.begin_sync(f"{step}: sync of a follower") for member in others]
    given = {
        member.member_id: [(topic, number) for topic in member.topics[:1]]
        for number, member in enumerate(members)
    }
    for answer in [leader.begin_sync(f"{step}: sync of the leader", given), *parked]:
        answer.result()


def every_state(members: Sequence[ProbeMember]) -> Iterator[tuple[str, Sequence[ProbeMember]]]:
    """Have a group formed, joined and left: each of its states, with its members."""
    *old, new = members
    form(old, "form the group")
    yield "stable", old
    new.get_id()
    new.begin_join("join")
    new.script.until_state(new.group, "PreparingRebalance")
    yield "preparing", old
    for member in old:
        member.begin_join("rejoin")
    for member in members:
        member.take()
    yield "completing", old
    settle(members, "settle")
    yield "stable again", members
    for member in members:
        member.leave("leave at the end")
    new.script.until_state(new.group, "Empty")
    yield "empty", members


def liars(dynamic: ProbeMember, static: ProbeMember) -> Iterator[tuple[str, ProbeMember]]:
    """Both members as they are, and each with one thing wrong; with what that is."""
    for member, who in ((dynamic, "dynamic"), (static, "static")):
        yield f"right, {who}", member
        for what, lie in (("generation before", -1), ("generation to come", 1)):
            yield f"{what}, {who}", replace(member, generation=member.generation + lie)
        yield f"another member id, {who}", replace(member, member_id="nobody")
    yield "another instance id", replace(static, instance_id="stranger")


def commit_topics(positions: Mapping[str, int]) -> list[Body]:
    """The topics of an OffsetCommit or a TxnOffsetCommit, from offsets by partition (`t-0`)."""
    topics: dict[str, list[Body]] = {}
    for name, committed in positions.items():
        topic, _, number = name.rpartition("-")
        partition: Body = {"partitionIndex": int(number), "committedOffset": committed}
        partition |= {"committedLeaderEpoch": -1, "committedMetadata": ""}
        topics.setdefault(topic, []).append(partition)
    return [{"name": name, "partitions": parts} for name, parts in topics.items()]


def subscription(topics: Iterable[str], note: str = "") -> str:
    """A consumer's subscription (version 0, `note` as its user data), in base64."""
    spec = "version:h topics:text* note:octets"
    return _base64(encoded(spec, {"version": 0, "topics": list(topics), "note": note.encode()}))


def assignment(partitions: Partitions) -> str:
    """A consumer's assignment (version 0), in base64."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    given = [{"topicName": topic, "partitions": numbers} for topic, numbers in topics.items()]
    values = {"version": 0, "topicPartitions": given, "note": b""}
    return _base64(encoded(f"{ASSIGNMENT} note:octets", values))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass
class Admin:
    """An administrator of one group; each question is recorded for `rule`."""

    script: Script
    group: str
    rule: str

    def delete(self, step: str) -> None:
        self._ask(step, "DELETE_GROUPS", {"groupsNames": [self.group]})

    def delete_position(self, step: str, topic: str) -> None:
        topics = [{"name": topic, "partitions": [{"partitionIndex": 0}]}]
        self._ask(step, "OFFSET_DELETE", {"groupId": self.group, "topics": topics})

    def commit(self, step: str, positions: Mapping[str, int]) -> Body | None:
        return ProbeMember(self.script, self.group, self.rule).commit(step, positions)

    def fetch(
        self, what: str, named: Mapping[str, list[int]] | None = None, *, stable: bool = False
    ) -> int:
        """OffsetFetch; all partitions where none are named. The worst error code in the answer."""
        topics = [{"name": one, "partitionIndexes": some} for one, some in (named or {}).items()]
        asked = {"groupId": self.group, "topics": topics or None}
        body = {"groups": [asked], "requireStable": stable}
        step = f"fetch {what}{', require_stable' if stable else ''}"
        answer = self._ask(step, "OFFSET_FETCH", body)
        return -1 if answer is None else worst(answer)

    def create_topic(self, topic: str, replicas: list[list[int]]) -> None:
        create_topic(self.script, topic, replicas)

    def until(self, state: str) -> None:
        """Wait until the group is in a state. Raises WaitTimeout."""
        self.script.until_state(self.group, state)

    def sleep(self, s: float) -> None:
        time.sleep(s)

    def _ask(self, step: str, api: str, body: Body) -> Body | None:
        return self.script.ask(step, self.rule, api, body, group=self.group)


def create_topic(script: Script, topic: str, replicas: list[list[int]]) -> None:
    """A topic of the script's own, known to every broker when this returns."""
    assignments = [{"partitionIndex": n, "brokerIds": ids} for n, ids in enumerate(replicas)]
    asked: Body = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "configs": []}
    brokers = script.brokers
    body = {"topics": [asked | {"assignments": assignments}], "timeoutMs": 10_000}
    brokers.ask(brokers.any, "CREATE_TOPICS", body)

    def led() -> bool:
        found = brokers.partitions(topic)
        return len(found) == len(replicas) and all(one["leaderId"] > 0 for one in found)

    until(f"leaders of {topic}", led)
