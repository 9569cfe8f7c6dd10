"""Commits, fetches and deletes of positions in every state of a group, right and wrong.

Each scene has a group of its own, and all are played at once: some seconds. Topics that are changed
are the script's own.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import Final

from confluent_kafka import Producer

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.admin import create_topic, delete_position
from consumers.probes.member import ProbeMember, form, settle
from consumers.probes.positions import commit_topics, fetch
from consumers.probes.script import Question, Script
from consumers.probes.wire import Body
from harness.base.errors import ClusterError

METADATA_MAX: Final = 4_096  # offset.metadata.max.bytes
COMMITS: Final = 50  # of three partitions each, while they are fetched
RECORDS: Final = 10  # per epoch of the topic whose leader moves
_NO_PRODUCER: Final = {"producerId": -1, "producerEpoch": -1}


def play(config: ProbeConfig, journal: Journal) -> None:
    script = Script(config, journal)
    script.play(
        (commits, offers, metadata, fetches, whole, transaction, deletions, epochs, partitions)
    )


def commits(script: Script) -> None:
    """OffsetCommit with everything right, and with one thing wrong, in every state."""
    group = script.group("commits")
    dynamic = ProbeMember(script, group, "X06")
    static = ProbeMember(script, group, "X06", "writer")
    position = {(script.config.topic, 0): 1}
    stranger = replace(dynamic, member_id="nobody", generation=3)
    for version in (8, 9):  # 9 tells that there is no such group
        stranger.commit(
            f"as a member, to a group that does not exist, version {version}",
            position,
            version=version,
        )
    replace(dynamic).commit("as nobody, to a group that does not exist", position)
    _in_every_state(dynamic, static, lambda member, step: member.commit(step, position))


def offers(script: Script) -> None:
    """The same with TxnOffsetCommit, all in one transaction, which is taken back at last."""
    group, rule = script.group("offers"), "X29-wire"
    dynamic = ProbeMember(script, group, rule)
    static = ProbeMember(script, group, rule, "writer")
    position = {(script.config.topic, 0): 1}
    producer = _begin_transaction(script, group, rule)
    stranger = replace(dynamic, member_id="nobody", generation=3)
    stranger.offer("as a member, to a group that does not exist", position, producer)
    replace(dynamic).offer("as nobody, to a group that does not exist", position, producer)
    _in_every_state(dynamic, static, lambda member, step: member.offer(step, position, producer))
    _end_transaction(script, group, rule, producer, committed=False)


_Ask = Callable[[ProbeMember, str], object]


def _in_every_state(dynamic: ProbeMember, static: ProbeMember, ask: _Ask) -> None:
    """Let members ask in every state of the group that they form and leave, right and wrong."""
    script, group = dynamic.script, dynamic.group
    form([dynamic, static], "form the group")
    _by_everybody(dynamic, static, "stable", ask)
    new = ProbeMember(script, group, dynamic.rule)
    new.get_id()
    joining = new.begin_join("join")
    script.until_state(group, "PreparingRebalance")
    _by_everybody(dynamic, static, "preparing", ask)
    rejoining = [(member, member.begin_join("rejoin")) for member in (dynamic, static)]
    for member, answer in [*rejoining, (new, joining)]:
        member.take(answer)
    _by_everybody(dynamic, static, "completing", ask)
    settle([dynamic, static, new], "settle")
    for member in (dynamic, static, new):
        ask(member, "stable again: right")
    for member in (dynamic, static, new):
        member.leave("leave at the end")
    script.until_state(group, "Empty")
    ask(dynamic, "empty: as a former member")
    ask(ProbeMember(script, group, dynamic.rule), "empty: as nobody")


def _by_everybody(dynamic: ProbeMember, static: ProbeMember, state: str, ask: _Ask) -> None:
    for member, who in ((dynamic, "dynamic"), (static, "static")):
        ask(replace(member), f"{state}: right, {who}")
        for step, lie in (("generation before", -1), ("generation to come", 1)):
            ask(replace(member, generation=member.generation + lie), f"{state}: {step}, {who}")
        ask(replace(member, member_id="nobody"), f"{state}: another member id, {who}")
    ask(replace(static, instance_id="stranger"), f"{state}: another instance id")
    ask(ProbeMember(dynamic.script, dynamic.group, dynamic.rule), f"{state}: as nobody")


def metadata(script: Script) -> None:
    """Metadata of the longest accepted length and longer, each beside a partition without any."""
    group, topic = script.group("metadata"), script.config.topic
    longest, longer = "m" * METADATA_MAX, "m" * (METADATA_MAX + 1)
    wide = "é" * METADATA_MAX  # as many characters, twice as many bytes
    fetch(script, "R31", group, "before any commit", {topic: [0, 1, 2]})
    for number, text in enumerate((longest, longer, wide), start=1):
        topics = commit_topics({(topic, 0): number, (topic, 1): number})
        topics[0]["partitions"][1]["committedMetadata"] = text
        body = {"groupId": group, "generationIdOrMemberEpoch": -1, "topics": topics}
        step = f"commit with metadata of {len(text)} characters, {len(text.encode())} bytes"
        script.ask(Question(step=step, rule="R31", api="OFFSET_COMMIT", body=body, group=group))
        fetch(script, "R31", group, f"after the {step}", {topic: [0, 1, 2]})


def fetches(script: Script) -> None:
    """OffsetFetch of named partitions and of all, after each commit."""
    group, topic = script.group("fetched"), script.config.topic
    admin = ProbeMember(script, group, "R30-wire")
    fetch(script, "R30-wire", group, "a group that does not exist", {topic: [0, 1]})
    for positions in ({0: 10, 1: 11}, {0: 12}, {0: 9}, {2: 13}):
        admin.commit("commit", {(topic, number): at for number, at in positions.items()})
        fetch(script, "R30-wire", group, "named partitions", {topic: [0, 1, 2, 3]})
        fetch(script, "R30-wire", group, "all partitions", None)


def whole(script: Script) -> None:
    """OffsetFetch of all partitions, again and again while one commit after the other moves all."""
    group, topic = script.group("whole"), script.config.topic
    admin = ProbeMember(script, group, "R30-whole")

    def commit_all(position: int) -> None:
        admin.commit("commit of three partitions", {(topic, n): position for n in range(3)})

    def commit_on() -> None:
        for position in range(2, COMMITS + 2):
            commit_all(position)

    commit_all(1)
    committing = Thread(target=commit_on)
    committing.start()
    while committing.is_alive():
        fetch(script, "R30-whole", group, "while all are committed", None)
    committing.join()


def transaction(script: Script) -> None:
    """OffsetFetch with and without require_stable while a transaction holds a position."""
    group, topic, rule = script.group("transacted"), script.config.topic, "R30-wire"
    nobody = ProbeMember(script, group, rule)
    nobody.commit("commit", {(topic, 0): 1, (topic, 1): 1})
    producer = _begin_transaction(script, group, rule)
    nobody.offer("commit in a transaction", {(topic, 0): 50}, producer)
    _fetch_both_ways(script, group, topic, "while the transaction is open")
    _end_transaction(script, group, rule, producer, committed=True)
    script.until(
        f"committed transaction in group {group}",
        lambda: (
            fetch(script, rule, group, "until the end is known", {topic: [0]}, stable=True) == 0
        ),
    )
    _fetch_both_ways(script, group, topic, "when the transaction is committed")


def _begin_transaction(script: Script, group: str, rule: str) -> Body:
    """A transaction that takes positions of a group; what its producer calls itself."""
    name = f"{group}-transaction"
    started: Body = {}

    def initialised() -> bool:
        # The first transaction of a cluster has to wait for its topic to be made.
        body = {"transactionalId": name, "transactionTimeoutMs": 60_000, **_NO_PRODUCER}
        with suppress(ClusterError):
            at = script.brokers.coordinator(name, kind=1)
            started.update(script.brokers.ask(at, "INIT_PRODUCER_ID", body))
        return bool(started.get("errorCode") == 0)

    script.until("producer id", initialised)
    producer = {field: started[field] for field in ("producerId", "producerEpoch")}
    producer["transactionalId"] = name
    adding = Question(
        step="add the group to a transaction",
        rule=rule,
        api="ADD_OFFSETS_TO_TXN",
        body={**producer, "groupId": group},
        group=group,
    )
    script.ask(adding, script.brokers.coordinator(name, kind=1))
    return producer


def _end_transaction(
    script: Script, group: str, rule: str, producer: Body, *, committed: bool
) -> None:
    ending = Question(
        step="end the transaction",
        rule=rule,
        api="END_TXN",
        body={**producer, "committed": committed},
        group=group,
    )
    script.ask(ending, script.brokers.coordinator(producer["transactionalId"], kind=1))


def _fetch_both_ways(script: Script, group: str, topic: str, when: str) -> None:
    for stable in (False, True):
        fetch(script, "R30-wire", group, when, {topic: [0, 1]}, stable=stable)


def deletions(script: Script) -> None:
    """OffsetDelete and an administrator's commit, while the group has a member and after."""
    group, topic = script.group("deletions"), script.config.topic
    other = script.group("unsubscribed")
    create_topic(script, other, [[1, 2, 3]])
    member = ProbeMember(script, group, "X30", topics=(topic,))
    delete_position(script, group, "delete offsets of a group that does not exist", topic)
    form([member], "form the group")
    member.commit("commit", {(topic, 0): 5, (other, 0): 6})
    replace(member, member_id="", generation=-1).commit("alter an active group", {(topic, 0): 1})
    delete_position(script, group, "delete offsets of a subscribed topic", topic)
    delete_position(script, group, "delete offsets of a topic that is not subscribed", other)
    fetch(script, "X30", group, "after the deletes", {topic: [0], other: [0]})
    member.leave("leave")
    script.until_state(group, "Empty")
    delete_position(script, group, "delete offsets in an empty group", topic)
    replace(member, member_id="", generation=-1).commit("alter an empty group", {(other, 0): 1})
    fetch(script, "X30", group, "at the end", {topic: [0], other: [0]})


def epochs(script: Script) -> None:
    """OffsetForLeaderEpoch for the epochs before and after a move of the leader."""
    topic = script.group("epochs")
    create_topic(script, topic, [[1, 2, 3]])
    before = _written(script, topic)
    moved = {"name": topic, "partitions": [{"partitionIndex": 0, "replicas": [2, 3, 1]}]}
    broker = before["leaderId"]
    script.brokers.ask(broker, "ALTER_PARTITION_REASSIGNMENTS", {"topics": [moved]})
    election = {"electionType": 0, "topicPartitions": [{"topic": topic, "partitions": [0]}]}

    def elected() -> bool:
        script.brokers.ask(broker, "ELECT_LEADERS", election)
        return bool(script.brokers.partitions(topic)[0]["leaderId"] == 2)

    script.until(f"broker 2 to lead {topic}", elected)
    now = _written(script, topic)
    old, new = before["leaderEpoch"], now["leaderEpoch"]
    for step, at, known, asked in (
        ("the epoch of now", now, -1, new),
        ("an epoch before", now, -1, old),
        ("an epoch to come", now, -1, new + 1),
        ("from a client that knows the epoch of now", now, new, old),
        ("from a client that knows an epoch before", now, old, old),
        ("from a client that knows an epoch to come", now, new + 1, old),
        ("at a broker that does not lead", before, -1, old),
    ):
        one = {"partition": 0, "currentLeaderEpoch": known, "leaderEpoch": asked}
        body = {"replicaId": -1, "topics": [{"topic": topic, "partitions": [one]}]}
        script.ask(
            Question(step=step, rule="X33", api="OFFSET_FOR_LEADER_EPOCH", body=body),
            at["leaderId"],
        )


def _written(script: Script, topic: str) -> Body:
    """Write some records; the partition as metadata tell of it, its end on record."""
    producer = Producer(
        {"bootstrap.servers": script.config.bootstrap, "client.id": script.client_id}
    )
    for _ in range(RECORDS):
        producer.produce(topic, b"record", partition=0)
    producer.flush(30)
    partition = _look(script, topic, "X33")[0]
    asked = {"partitionIndex": 0, "currentLeaderEpoch": -1, "timestamp": -1}
    body = {"replicaId": -1, "topics": [{"name": topic, "partitions": [asked]}]}
    step = "the end of the partition"
    question = Question(step=step, rule="X33", api="LIST_OFFSETS", body=body)
    script.ask(question, partition["leaderId"])
    return partition


def partitions(script: Script) -> None:
    """CreatePartitions with fewer than there are, as many, and more."""
    topic = script.group("sized")
    create_topic(script, topic, [[1, 2, 3], [2, 3, 1]])
    _look(script, topic, "R27-shrink")
    broker = next(iter(script.brokers.addresses))
    for count in (1, 2, 3):
        asked = {"name": topic, "count": count, "assignments": None}
        body = {"topics": [asked], "timeoutMs": 10_000, "validateOnly": False}
        step = f"ask for {count} partitions"
        script.ask(
            Question(step=step, rule="R27-shrink", api="CREATE_PARTITIONS", body=body), broker
        )
        wanted = max(count, 2)
        script.until(
            f"{wanted} partitions of {topic}",
            lambda wanted=wanted: len(script.brokers.partitions(topic)) == wanted,  # type: ignore[misc]
        )
        _look(script, topic, "R27-shrink")


def _look(script: Script, topic: str, rule: str) -> list[Body]:
    """A topic's partitions, as recorded metadata tell of them."""
    body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
    question = Question(step=f"metadata of {topic}", rule=rule, api="METADATA", body=body)
    answer = script.ask(question, next(iter(script.brokers.addresses)))
    assert answer is not None
    found: list[Body] = answer["topics"][0]["partitions"]
    return found
