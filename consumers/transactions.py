"""Copying batches to another topic, each in one transaction with the positions behind it.

The producer is librdkafka's or Java's, as the consumer is: the one does not take the other's
metadata of the group.

The group's metadata goes with the positions: it was asked for when the batch was handed over, so
that a coordinator refuses the positions of a member that is no longer what it was then.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from consumers.client import Answer, ClientError, Position, Range
from consumers.config import ConsumerConfig

# Less than Kafka's own minute: what a crashed member leaves open hides later records for so long.
TRANSACTION_TIMEOUT_MS: Final = 10_000
PATIENCE_S: Final = 60.0


class Transactions(Protocol):
    """The producing half of a member that reads, processes and writes."""

    def copy(
        self,
        ranges: Sequence[Range],
        positions: Sequence[Position],
        metadata: Any,
        written: Callable[[], None],
    ) -> tuple[list[Answer], ClientError | None]:
        """Copy a batch and commit `positions` with it, all or nothing.

        Each record of the output names the one that it was made from; `written` is called when all
        of them are in the log and nothing is committed yet. Returns the answers, and the
        error after which this producer is of no use any more.
        """


def made_from(topic: str, partition: int, offset: int) -> bytes:
    """What a record of the output holds: which record it was made from."""
    return json.dumps([topic, partition, offset]).encode()


class LibrdkafkaTransactions:
    """With librdkafka's producer; see `Transactions`."""

    def __init__(self, config: ConsumerConfig) -> None:
        """Connect, and end what an earlier process of this name has left open."""
        assert config.output is not None  # the configuration has been checked
        self._output = config.output
        self._producer = Producer(
            {
                "bootstrap.servers": config.bootstrap,
                "client.id": config.member,
                "transactional.id": f"{config.group}-{config.member}",
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 5,
                **config.admission_of_librdkafka(),
            }
        )
        self._producer.init_transactions(PATIENCE_S)

    def copy(
        self,
        ranges: Sequence[Range],
        positions: Sequence[Position],
        metadata: Any,
        written: Callable[[], None],
    ) -> tuple[list[Answer], ClientError | None]:
        offsets = [TopicPartition(p.topic, p.partition, p.committed) for p in positions]
        try:
            self._producer.begin_transaction()
            for topic, partition, first, last, _ in ranges:
                for offset in range(first, last + 1):
                    copied = made_from(topic, partition, offset)
                    self._producer.produce(self._output, copied, partition=partition)
            # On disk before the positions are offered, so that an abort has something to hide.
            self._producer.flush(PATIENCE_S)
            written()
            self._producer.send_offsets_to_transaction(offsets, metadata, PATIENCE_S)
            self._producer.commit_transaction(PATIENCE_S)
        except KafkaException as error:
            return self._given_up(positions, error.args[0])
        return [Answer(*position, 0, None) for position in positions], None

    def _given_up(
        self, positions: Sequence[Position], error: KafkaError
    ) -> tuple[list[Answer], ClientError | None]:
        fatal = error
        if not error.fatal():
            try:
                self._producer.abort_transaction(PATIENCE_S)
            except KafkaException as worse:
                fatal = worse.args[0]
        answers = [Answer(*position, error.code(), error.name()) for position in positions]
        if not fatal.fatal() and fatal is error:
            return answers, None
        return answers, ClientError(fatal.code(), fatal.name(), fatal.str(), True)
