"""Kafka's own KafkaConsumer as a `GroupClient`, in a Java Virtual Machine inside this process.

What is peculiar to it, and why the code is as it is:

- Rebalance listeners and commit callbacks run inside `poll`, `commitSync` and `close`, on the
  calling thread. What one raises comes out of that call: so none may raise.
- Records come as one list per partition, so a partition whose offsets are as far apart as it has
  records needs two of them looked at, and only one with gaps is walked through.
- `groupMetadata` has the last generation that was joined, also after the member was thrown out:
  Java says that it is no member only before the first join.
- Nothing hears the answers to automatic commits; the coordinator's view has them.
- A commit that was never sent, because the member knows that it is out, and one that was refused
  because the coordinator does not know the member, are the same CommitFailedException. It has no
  code of Kafka's: -1.
- A refusal that an ordinary application would die of comes out of `poll` and is fatal.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import jpype
from jpype import JArray, JByte, JClass, JException, JInt, JProxy

from consumers import jvm
from consumers.client import (
    NO_MEMBER,
    TRANSACTION_PATIENCE_S,
    Adapter,
    Answer,
    ClientError,
    Listener,
    MemberIdentity,
    Partition,
    Polled,
    Position,
    Range,
    Transactions,
    answered,
)
from consumers.config import ConsumerConfig, shown
from consumers.ranges import Runs
from harness.base.errors import BadInput
from harness.experiment import UNSET

_CLIENTS: Final = "org.apache.kafka.clients.consumer"
_LOGGING: Final = Path(__file__).with_name("java_log4j2.xml")
_ASSIGNORS: Final = {
    "range": f"{_CLIENTS}.RangeAssignor",
    "roundrobin": f"{_CLIENTS}.RoundRobinAssignor",
    "cooperative-sticky": f"{_CLIENTS}.CooperativeStickyAssignor",
}
_FETCH_LIMIT: Final = "max.partition.fetch.bytes"
_FETCH_BYTES: Final = 65_536  # more than comes within fetch.max.wait.ms, which paces the polls
# Of a consumer that looks into no record.
DESERIALIZERS: Final = dict.fromkeys(
    ("key.deserializer", "value.deserializer"),
    "org.apache.kafka.common.serialization.ByteArrayDeserializer",
)
_PRODUCER: Final = "org.apache.kafka.clients.producer"
_BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_ERRORS: Final = "org.apache.kafka.common.errors"
# After these a producer can only be closed (KafkaProducer, commitTransaction).
_FATAL: Final = (
    *("ProducerFencedException", "OutOfOrderSequenceException"),
    *("AuthorizationException", "UnsupportedVersionException"),
)


def settings_of(config: ConsumerConfig) -> dict[str, object]:
    """Everything passed to the client that matters; the rest, and what is UNSET, is as usual."""
    settings: dict[str, object] = {
        **config.shared(_ASSIGNORS),
        "max.poll.records": config.batch_records,
        # A poll returns with what one fetch has brought: without a minimum that is a record or two,
        # each committed by itself, and four such members keep two cores busy.
        "fetch.min.bytes": _FETCH_BYTES,
        "fetch.max.wait.ms": config.fetch_wait_max_ms,
        # How soon a consumer hears of new partitions, how long an answer is waited for, and how
        # often a refused request is repeated; the defaults, which is what users have.
        "metadata.max.age.ms": 300_000,
        "request.timeout.ms": 30_000,
        "default.api.timeout.ms": 60_000,
        "retry.backoff.ms": 100,
        "retry.backoff.max.ms": 1_000,
        **DESERIALIZERS,
        **config.settings,
    }
    return {name: value for name, value in settings.items() if value != UNSET}


class JavaClient(Adapter):
    """One consumer; see `consumers.client.GroupClient` for what each method means."""

    def __init__(self, config: ConsumerConfig) -> None:
        """Start the JVM. Raises BadInput where the client refuses its configuration."""
        assert config.java_home  # the configuration has been checked
        assert config.class_path
        jvm.start(
            config.java_home,
            config.class_path,
            f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            # Each fetch is logged where an experiment is about them.
            f"-Dharness.fetches={'debug' if _FETCH_LIMIT in config.settings else 'info'}",
            *config.jvm_options,
        )
        self._settings = settings_of(config) | config.admission_of_java()
        super().__init__()
        self._duration = JClass("java.time.Duration")
        self._partition = JClass("org.apache.kafka.common.TopicPartition")
        self._retriable = JClass("org.apache.kafka.common.errors.RetriableException")
        try:
            consumer = JClass(f"{_CLIENTS}.KafkaConsumer")
            self._consumer: Any = consumer(jvm.properties(self._settings))
        except JException as error:
            raise BadInput(
                f"the Java client refuses the configuration: {jvm.words(error)}"
            ) from None
        self._on_rebalance = JProxy(
            f"{_CLIENTS}.ConsumerRebalanceListener",
            dict={
                "onPartitionsAssigned": partial(self._rebalanced, "assigned"),
                "onPartitionsRevoked": partial(self._rebalanced, "revoked"),
                "onPartitionsLost": partial(self._rebalanced, "lost"),
            },
        )
        self._on_commit = JProxy(
            f"{_CLIENTS}.OffsetCommitCallback", dict={"onComplete": self._committed}
        )

    @property
    def versions(self) -> dict[str, str]:
        utils = "org.apache.kafka.common.utils"
        try:
            info = JClass(f"{utils}.AppInfoParser")
        except TypeError:  # there is no such class: from 4.4 on it is in a package of its own
            info = JClass(f"{utils}.internals.AppInfoParser")
        return {"kafka-clients": str(info.getVersion())}

    @property
    def effective(self) -> dict[str, object]:
        """The whole configuration, defaults included; no secrets."""
        whole = JClass(f"{_CLIENTS}.ConsumerConfig")(jvm.properties(self._settings)).values()
        found = {str(each.getKey()): str(each.getValue()) for each in whole.entrySet()}
        return dict(sorted(shown(found).items()))

    def subscribe(self, topic: str, listener: Listener) -> None:
        self._listener = listener
        self._consumer.subscribe(jpype.java.util.List.of(topic), self._on_rebalance)

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        """What one poll returns: `limit` is its max.poll.records, a setting."""
        try:
            records = self._consumer.poll(self._duration.ofMillis(round(timeout_s * 1_000)))
            if records.isEmpty():
                return Polled([], [])
            return Polled(
                [found for part in records.partitions() for found in _ranges(part, records)], []
            )
        except JException as error:
            found = self._error(error)
            if not (found.fatal and self._listener is not None):
                return Polled([], [found])
            self._listener.error(found)
            return Polled([], [])

    def commit(self, positions: Sequence[Position], *, wait: bool) -> list[Answer] | None:
        offsets = jvm.offsets(positions)
        try:
            if not wait:
                self._consumer.commitAsync(offsets, self._on_commit)
                return None
            self._consumer.commitSync(offsets)
        except JException as error:
            return answered(positions, *jvm.code_of(error))
        return answered(positions)

    def seek(self, positions: Sequence[Position]) -> None:
        for topic, partition, committed in positions:  # within the callback that is enough
            self._consumer.seek(self._partition(topic, partition), committed)

    def rewind(self, positions: Sequence[Position]) -> None:
        with suppress(JException):  # IllegalStateException: not assigned any more
            self.seek(positions)

    def group_metadata(self) -> object:
        return self._consumer.groupMetadata()

    def member(self) -> MemberIdentity:
        metadata = self._consumer.groupMetadata()
        member_id, generation = str(metadata.memberId()), int(metadata.generationId())
        return (
            NO_MEMBER if generation < 0 or not member_id else MemberIdentity(member_id, generation)
        )

    def close(self) -> None:
        try:
            self._consumer.close()
        except JException as error:
            if self._listener is not None:
                self._listener.error(self._error(error))

    def _rebalanced(self, where: str, partitions: Any) -> None:
        def act(listener: Listener) -> None:
            current = self.member()
            if current.member_id is not None:
                self.known = current
            found = [Partition(str(p.topic()), int(p.partition())) for p in partitions]
            getattr(listener, where)(sorted(found))

        self._safely(where, act)

    def _committed(self, offsets: Any, error: Any) -> None:
        def act(listener: Listener) -> None:
            code, name = jvm.code_of(error) if error is not None else (0, None)
            answers = [
                Answer(str(p.topic()), int(p.partition()), int(offsets.get(p).offset()), code, name)
                for p in offsets.keySet()
            ]
            listener.committed(sorted(answers))

        self._safely("commit callback", act)

    def _error(self, error: Any) -> ClientError:
        code, name = jvm.code_of(error)
        return ClientError(code, name, jvm.words(error), not isinstance(error, self._retriable))


def _ranges(part: Any, records: Any) -> list[Range]:
    """Runs of consecutive offsets among one partition's records of one poll."""
    topic, number = str(part.topic()), int(part.partition())
    found = records.records(part)
    count = int(found.size())
    first, last = int(found.get(0).offset()), int(found.get(count - 1).offset())
    if last - first + 1 == count:  # offsets of one partition only ever rise within a poll
        return [Range(topic, number, first, last, count)]
    runs = Runs()
    for record in found:
        runs.add(number, int(record.offset()), int(record.offset()))
    return runs.of(topic)


def transactions(config: ConsumerConfig) -> Transactions:
    """Connect a producer, and end what an earlier process of this name has left open.

    The machine of the consumer has to run.
    """
    record, number = JClass(f"{_PRODUCER}.ProducerRecord"), JClass("java.lang.Integer")
    as_bytes = JArray(JByte)
    fatal = tuple(JClass(f"{_ERRORS}.{name}") for name in _FATAL)
    settings = {
        **config.transacting(),
        "max.block.ms": round(TRANSACTION_PATIENCE_S * 1_000),
        "key.serializer": _BYTES,
        "value.serializer": _BYTES,
        **config.admission_of_java(),
    }
    producer: Any = JClass(f"{_PRODUCER}.KafkaProducer")(jvm.properties(settings))
    producer.initTransactions()

    def send(partition: int, copied: bytes) -> None:
        producer.send(record(config.output, number(JInt(partition)), None, as_bytes(copied)))

    def offer(positions: Sequence[Position], metadata: Any) -> None:
        producer.sendOffsetsToTransaction(jvm.offsets(positions), metadata)

    def said(refusal: Any) -> ClientError:
        code, name = jvm.code_of(refusal)
        return ClientError(code, name, jvm.words(refusal), isinstance(refusal, fatal))

    return Transactions(
        begin=producer.beginTransaction,
        send=send,
        flush=producer.flush,
        offer=offer,
        commit=producer.commitTransaction,
        abort=producer.abortTransaction,
        errors=JException,
        said=said,
    )
