"""Commits, fetches and deletes of positions in every state of a group, right and wrong.

Each scene has a group of its own, and all are played at once: some seconds. Topics that are changed
are the script's own.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Final

from confluent_kafka import Producer

from consumers.probes.classic_member import (
    Admin,
    ProbeMember,
    commit_topics,
    create_topic,
    every_state,
    liars,
)
from consumers.probes.scene_tables import tables
from consumers.probes.script import Body, Script, until
from harness.base.errors import ClusterError

METADATA_MAX: Final = 4_096  # offset.metadata.max.bytes
COMMITS: Final = 50  # of three partitions each, while they are fetched
RECORDS: Final = 10  # per epoch of the topic whose leader moves
_NO_PRODUCER: Final = {"producerId": -1, "producerEpoch": -1}

_TABLES: Final = tables("""
deletions X30: OffsetDelete and an administrator's commit, while the group has a member and after
    group: create_topic topic=GROUP-unsubscribed replicas=[[1,2,3]]
    group: delete_position topic=TOPIC | delete offsets of a group that does not exist
    m: be topics=["TOPIC"]
    m: form | form the group
    m: commit positions={"TOPIC-0":5,"GROUP-unsubscribed-0":6} | commit
    group: commit positions={"TOPIC-0":1} | alter an active group
    group: delete_position topic=TOPIC | delete offsets of a subscribed topic
    group: delete_position topic=GROUP-unsubscribed | delete offsets of a topic that is not subscribed
    group: fetch named={"TOPIC":[0],"GROUP-unsubscribed":[0]} | after the deletes
    m: leave | leave
    group: until state=Empty
    group: delete_position topic=TOPIC | delete offsets in an empty group
    group: commit positions={"GROUP-unsubscribed-0":1} | alter an empty group
    group: fetch named={"TOPIC":[0],"GROUP-unsubscribed":[0]} | at the end
""")  # noqa: E501 (a step is one line)


def commits(script: Script) -> None:
    """OffsetCommit with everything right, and with one thing wrong, in every state."""
    group = script.group("commits")
    position = {f"{script.config.topic}-0": 1}
    stranger = ProbeMember(script, group, "X06", member_id="nobody", generation=3)
    for version in (8, 9):  # 9 answers that there is no such group
        step = f"as a member, to a group that does not exist, version {version}"
        stranger.commit(step, position, version=version)
    Admin(script, group, "X06").commit("as no member, to a group that does not exist", position)
    _in_every_state(script, group, "X06", lambda member, step: member.commit(step, position))


def offers(script: Script) -> None:
    """The same with TxnOffsetCommit, all in one transaction, which is taken back at last."""
    group, rule = script.group("offers"), "X29-wire"
    position = {f"{script.config.topic}-0": 1}
    producer = _begin_transaction(script, group, rule)
    stranger = ProbeMember(script, group, rule, member_id="nobody", generation=3)
    stranger.offer("as a member, to a group that does not exist", position, producer)
    no_member = ProbeMember(script, group, rule)
    no_member.offer("as no member, to a group that does not exist", position, producer)
    _in_every_state(
        script, group, rule, lambda member, step: member.offer(step, position, producer)
    )
    _end_transaction(script, group, rule, producer, committed=False)


def _in_every_state(
    script: Script, group: str, rule: str, ask: Callable[[ProbeMember, str], object]
) -> None:
    """Let members ask in every state of the group that they form and leave, right and wrong."""
    no_member = ProbeMember(script, group, rule)
    members = [ProbeMember(script, group, rule, name) for name in (None, "writer", None)]
    for state, there in every_state(members):
        if state == "stable again":
            for member in there:
                ask(member, "stable again: right")
        elif state == "empty":
            ask(there[0], "empty: as a former member")
            ask(no_member, "empty: as no member")
        else:
            for what, liar in liars(*there):
                ask(liar, f"{state}: {what}")
            ask(no_member, f"{state}: as no member")


def metadata(script: Script) -> None:
    """Metadata of the longest accepted length and longer, each beside a partition without any."""
    group, topic = script.group("metadata"), script.config.topic
    admin = Admin(script, group, "R31")
    longest, longer = "m" * METADATA_MAX, "m" * (METADATA_MAX + 1)
    wide = "é" * METADATA_MAX  # as many characters, twice as many bytes
    admin.fetch("before any commit", {topic: [0, 1, 2]})
    for number, text in enumerate((longest, longer, wide), start=1):
        topics = commit_topics({f"{topic}-0": number, f"{topic}-1": number})
        topics[0]["partitions"][1]["committedMetadata"] = text
        body = {"groupId": group, "generationIdOrMemberEpoch": -1, "topics": topics}
        step = f"commit with metadata of {len(text)} characters, {len(text.encode())} bytes"
        script.ask(step, "R31", "OFFSET_COMMIT", body, group=group)
        admin.fetch(f"after the {step}", {topic: [0, 1, 2]})


def fetches(script: Script) -> None:
    """OffsetFetch of named partitions and of all, after each commit."""
    topic = script.config.topic
    admin = Admin(script, script.group("fetched"), "R30-wire")
    admin.fetch("a group that does not exist", {topic: [0, 1]})
    for positions in ({0: 10, 1: 11}, {0: 12}, {0: 9}, {2: 13}):
        admin.commit("commit", {f"{topic}-{number}": at for number, at in positions.items()})
        admin.fetch("named partitions", {topic: [0, 1, 2, 3]})
        admin.fetch("all partitions")


def whole(script: Script) -> None:
    """OffsetFetch of all partitions, again and again while one commit after the other moves all."""
    admin = Admin(script, script.group("whole"), "R30-whole")

    def commit_all(first: int, last: int) -> None:
        for position in range(first, last + 1):
            positions = {f"{script.config.topic}-{number}": position for number in range(3)}
            admin.commit("commit of three partitions", positions)

    commit_all(1, 1)
    committing = Thread(target=commit_all, args=(2, COMMITS + 1))
    committing.start()
    while committing.is_alive():
        admin.fetch("while all are committed")
    committing.join()


def transaction(script: Script) -> None:
    """OffsetFetch with and without require_stable while a transaction holds a position."""
    group, topic, rule = script.group("transacted"), script.config.topic, "R30-wire"
    admin, no_member = Admin(script, group, rule), ProbeMember(script, group, rule)

    def fetch_both_ways(when: str) -> None:
        for stable in (False, True):
            admin.fetch(when, {topic: [0, 1]}, stable=stable)

    admin.commit("commit", {f"{topic}-0": 1, f"{topic}-1": 1})
    producer = _begin_transaction(script, group, rule)
    no_member.offer("commit in a transaction", {f"{topic}-0": 50}, producer)
    fetch_both_ways("while the transaction is open")
    _end_transaction(script, group, rule, producer, committed=True)
    until(
        f"committed transaction in group {group}",
        lambda: admin.fetch("until the end is known", {topic: [0]}, stable=True) == 0,
    )
    fetch_both_ways("when the transaction is committed")


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

    until("producer id", initialised)
    producer = {key: started[key] for key in ("producerId", "producerEpoch")}
    producer["transactionalId"] = name
    body = {**producer, "groupId": group}
    asked = "add the group to a transaction", rule, "ADD_OFFSETS_TO_TXN", body
    script.ask(*asked, script.brokers.coordinator(name, kind=1), group=group)
    return producer


def _end_transaction(
    script: Script, group: str, rule: str, producer: Body, *, committed: bool
) -> None:
    body = {**producer, "committed": committed}
    broker = script.brokers.coordinator(producer["transactionalId"], kind=1)
    script.ask("end the transaction", rule, "END_TXN", body, broker, group=group)


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

    until(f"broker 2 to lead {topic}", elected)
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
        script.ask(step, "X33", "OFFSET_FOR_LEADER_EPOCH", body, at["leaderId"])


def _written(script: Script, topic: str) -> Body:
    """Write some records; the partition as metadata show it, its end on record."""
    config = script.config
    producer = Producer({"bootstrap.servers": config.bootstrap, "client.id": config.member})
    for _ in range(RECORDS):
        producer.produce(topic, b"record", partition=0)
    producer.flush(30)
    partition = _look(script, topic, "X33")[0]
    asked = {"partitionIndex": 0, "currentLeaderEpoch": -1, "timestamp": -1}
    body = {"replicaId": -1, "topics": [{"name": topic, "partitions": [asked]}]}
    script.ask("the end of the partition", "X33", "LIST_OFFSETS", body, partition["leaderId"])
    return partition


def partitions(script: Script) -> None:
    """CreatePartitions with fewer than there are, as many, and more."""
    topic, rule = script.group("sized"), "R27-shrink"
    create_topic(script, topic, [[1, 2, 3], [2, 3, 1]])
    _look(script, topic, rule)
    for count, wanted in ((1, 2), (2, 2), (3, 3)):
        asked = {"name": topic, "count": count, "assignments": None}
        body = {"topics": [asked], "timeoutMs": 10_000, "validateOnly": False}
        step = f"ask for {count} partitions"
        script.ask(step, rule, "CREATE_PARTITIONS", body, script.brokers.any)
        until(
            f"{wanted} partitions of {topic}",
            lambda wanted=wanted: len(script.brokers.partitions(topic)) == wanted,  # type: ignore[misc]
        )
        _look(script, topic, rule)


def _look(script: Script, topic: str, rule: str) -> list[Body]:
    body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
    answer = script.ask(f"metadata of {topic}", rule, "METADATA", body, script.brokers.any)
    assert answer is not None
    found: list[Body] = answer["topics"][0]["partitions"]
    return found


_OWN: Final = (commits, offers, metadata, fetches, whole, transaction, epochs, partitions)
SCENES: Final = (*_OWN, *_TABLES)
