"""Copying batches in transactions with Java's producer, in the machine of the Java consumer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from jpype import JArray, JByte, JClass, JException, JInt

from consumers import jvm
from consumers.client import Answer, ClientError, Position, Range
from consumers.config import ConsumerConfig
from consumers.transactions import PATIENCE_S, TRANSACTION_TIMEOUT_MS, made_from

_PRODUCER: Final = "org.apache.kafka.clients.producer"
_BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_ERRORS: Final = "org.apache.kafka.common.errors"
# After these a producer can only be closed (KafkaProducer, commitTransaction).
_FATAL: Final = (
    "ProducerFencedException",
    "OutOfOrderSequenceException",
    "AuthorizationException",
    "UnsupportedVersionException",
)


class JavaTransactions:
    """With Java's producer, once its machine runs; see `consumers.transactions.Transactions`."""

    def __init__(self, config: ConsumerConfig) -> None:
        """Connect, and end what an earlier process of this name has left open."""
        assert config.output is not None  # the configuration has been checked
        self._output = config.output
        self._record = JClass(f"{_PRODUCER}.ProducerRecord")
        self._number = JClass("java.lang.Integer")
        self._bytes = JArray(JByte)
        self._fatal = tuple(JClass(f"{_ERRORS}.{name}") for name in _FATAL)
        settings = {
            "bootstrap.servers": config.bootstrap,
            "client.id": config.member,
            "transactional.id": f"{config.group}-{config.member}",
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "max.block.ms": round(PATIENCE_S * 1_000),
            "linger.ms": 5,
            "key.serializer": _BYTES,
            "value.serializer": _BYTES,
            **config.admission_of_java(),
        }
        self._producer: Any = JClass(f"{_PRODUCER}.KafkaProducer")(jvm.properties(settings))
        self._producer.initTransactions()

    def copy(
        self,
        ranges: Sequence[Range],
        positions: Sequence[Position],
        metadata: Any,
        written: Callable[[], None],
    ) -> tuple[list[Answer], ClientError | None]:
        offsets = jvm.offsets(positions)
        try:
            self._producer.beginTransaction()
            for topic, partition, first, last, _ in ranges:
                where = self._number(JInt(partition))
                for offset in range(first, last + 1):
                    copied = self._bytes(made_from(topic, partition, offset))
                    self._producer.send(self._record(self._output, where, None, copied))
            # On disk before the positions are offered, so that an abort has something to hide.
            self._producer.flush()
            written()
            self._producer.sendOffsetsToTransaction(offsets, metadata)
            self._producer.commitTransaction()
        except JException as error:
            return self._given_up(positions, error)
        return [Answer(*position, 0, None) for position in positions], None

    def _given_up(
        self, positions: Sequence[Position], error: Any
    ) -> tuple[list[Answer], ClientError | None]:
        code, name = jvm.code_of(error)
        answers = [Answer(*position, code, name) for position in positions]
        worst = error
        if not isinstance(error, self._fatal):
            try:
                self._producer.abortTransaction()
                return answers, None
            except JException as worse:
                worst = worse
        code, name = jvm.code_of(worst)
        return answers, ClientError(code, name, jvm.words(worst), True)
