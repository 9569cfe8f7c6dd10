"""confluent-kafka (librdkafka) as a `GroupClient`.

What is peculiar to it, and why the code is as it is:

- Callbacks run inside `consume` and `close`. If one raises, the binding stores the exception, makes
  librdkafka yield and raises later from somewhere else (at worst as a SystemError): so none may.
- A rebalance callback that calls no assign or unassign is followed by the binding's own call of the
  right one, incremental under a cooperative assignor (Consumer.c, Consumer_rebalance_cb): so ours
  call none, unless the application seeks. A partition cannot be sought before it is assigned, so
  then the assignment carries the positions.
- `memberid` and `consumer_group_metadata` are questions to librdkafka's main thread. Asking twice
  per batch would be seen in the measurements, so the answer is kept from callback to callback,
  which is also the right one for deliveries: what the application worked as.
- In the callback for lost partitions there is no member id any more: the last one is remembered.
- librdkafka's own log goes to standard error, not through `logger=`, which would serve it from
  `consume` and so late by as long as the application stalls.
"""

import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
    __version__,
    libversion,
)

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
    Transactions,
    answered,
)
from consumers.config import ConsumerConfig, shown
from consumers.ranges import ErrorAmongRecordsError, Ranger
from harness.base.errors import BadInput
from harness.experiment import UNSET

_CALLBACKS: Final = {"assigned": "on_assign", "revoked": "on_revoke", "lost": "on_lost"}
_METADATA_MAGIC: Final = b"CGMDv2:"
_GENERATION: Final = struct.Struct("=i")


def settings_of(config: ConsumerConfig) -> dict[str, object]:
    """Everything passed to librdkafka, callbacks excepted, but for what is UNSET on purpose."""
    shared = config.shared({})
    settings: dict[str, object] = {
        **shared,
        "enable.auto.offset.store": shared["enable.auto.commit"],
        # How soon a consumer hears of new partitions; the default, which is what users have.
        "topic.metadata.refresh.interval.ms": 300_000,
        # How long a request to a coordinator that does not answer is waited for, a synchronous
        # commit included; the default as well.
        "socket.timeout.ms": 60_000,
        "fetch.wait.max.ms": config.fetch_wait_max_ms,
        "statistics.interval.ms": 0,
        **config.settings,
    }
    if settings["auto.offset.reset"] == "none":
        settings["auto.offset.reset"] = "error"  # librdkafka's word for it
    return {name: value for name, value in settings.items() if value != UNSET}


class Librdkafka(Adapter):
    """One consumer; see `consumers.client.GroupClient` for what each method means."""

    def __init__(self, config: ConsumerConfig, more: dict[str, object] | None = None) -> None:
        """`more` are settings of librdkafka on top of ours, for benchmarks. Raises BadInput."""
        self._ranger = Ranger(config.topic)
        settings = settings_of(config) | config.admission_of_librdkafka() | (more or {})
        self.effective = shown(settings)
        super().__init__()
        self._incremental = config.protocol != "eager"
        self._sought: dict[Partition, int] = {}  # by the callback that is running
        callbacks: dict[str, Any] = {"on_commit": self._on_commit, "error_cb": self._on_error}
        try:
            self._consumer = Consumer({**settings, **callbacks})
        except KafkaException as error:
            raise BadInput(f"librdkafka refuses the configuration: {error.args[0].str()}") from None

    @property
    def versions(self) -> dict[str, str]:
        return versions()

    def subscribe(self, topic: str, listener: Listener) -> None:
        self._listener = listener
        self._consumer.subscribe(
            [topic],
            **{name: self._rebalanced(where) for where, name in _CALLBACKS.items()},
        )

    def poll_batch(self, limit: int, timeout_s: float) -> Polled:
        """At most `limit` records; fewer once `timeout_s` is over."""
        messages = self._consumer.consume(limit, timeout_s)
        if not messages:
            return Polled([], [])
        try:
            return Polled(self._ranger.ranges(messages), [])
        except ErrorAmongRecordsError:
            errors = [client_error(error) for message in messages if (error := message.error())]
            records = [message for message in messages if not message.error()]
            return Polled(self._ranger.ranges(records), errors)

    def commit(self, positions: Sequence[Position], *, wait: bool) -> list[Answer] | None:
        offsets = _offsets(positions)
        try:
            if not wait:
                self._consumer.commit(offsets=offsets, asynchronous=True)
                return None
            return _answers(None, self._consumer.commit(offsets=offsets, asynchronous=False))
        except KafkaException as error:  # a refusal is an answer
            # The binding drops the answers per partition when the request as a whole failed.
            failed: KafkaError = error.args[0]
            return answered(positions, failed.code(), failed.name())

    def seek(self, positions: Sequence[Position]) -> None:
        self._sought = {Partition(p.topic, p.partition): p.committed for p in positions}

    def rewind(self, positions: Sequence[Position]) -> None:
        for topic, partition, committed in positions:
            self._ranger.moved()
            with suppress(KafkaException):  # taken away since: its new owner's
                self._consumer.seek(TopicPartition(topic, partition, committed))

    def group_metadata(self) -> object:
        return self._consumer.consumer_group_metadata()

    def member(self) -> MemberIdentity:
        return parse_group_metadata(self._consumer.consumer_group_metadata())

    def close(self) -> None:
        self._consumer.close()

    def _rebalanced(self, where: str) -> Callable[[Consumer, list[TopicPartition]], None]:
        def callback(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            def act(listener: Listener) -> None:
                self._ranger.moved()
                current = self.member()
                if current.member_id is not None:
                    self.known = current
                found = [Partition(p.topic, p.partition) for p in partitions]
                getattr(listener, where)(found)
                self._assign_sought(partitions)

            self._safely(_CALLBACKS[where], act)

        return callback

    def _assign_sought(self, partitions: list[TopicPartition]) -> None:
        if not self._sought:
            return
        for found in partitions:
            found.offset = self._sought.get(Partition(found.topic, found.partition), found.offset)
        self._sought = {}
        if self._incremental:
            self._consumer.incremental_assign(partitions)
        else:
            self._consumer.assign(partitions)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        def act(listener: Listener) -> None:
            answers = [a for a in _answers(error, partitions) if a.committed >= 0]
            # An automatic commit with nothing new to say comes as "no offset stored".
            if answers:
                listener.committed(answers)

        self._safely("on_commit", act)

    def _on_error(self, error: KafkaError) -> None:
        self._safely("error_cb", lambda listener: listener.error(client_error(error)))


def versions() -> dict[str, str]:
    return {"confluent-kafka": str(__version__), "librdkafka": str(libversion()[0])}


def parse_group_metadata(data: object) -> MemberIdentity:
    """Member id and generation out of librdkafka's serialized group metadata.

    The form is internal ("CGMDv2:", native int32 generation, group id NUL, member id NUL, …): with
    another magic, or for a consumer that is no member now, both are None.
    """
    if not isinstance(data, bytes) or not data.startswith(_METADATA_MAGIC):
        return NO_MEMBER
    try:
        (generation,) = _GENERATION.unpack_from(data, len(_METADATA_MAGIC))
        _group, member_id, _rest = data[len(_METADATA_MAGIC) + _GENERATION.size :].split(b"\0", 2)
    except (struct.error, ValueError):
        return NO_MEMBER
    if generation < 0 or not member_id:
        return NO_MEMBER
    return MemberIdentity(member_id.decode(), generation)


def client_error(error: KafkaError) -> ClientError:
    """As a `ClientError`; of a fatal one in the place of a message only the code says so."""
    code: int = error.code()
    fatal = error.fatal() or code == KafkaError._FATAL
    return ClientError(code, error.name(), error.str(), fatal)


def _offsets(positions: Sequence[Position]) -> list[TopicPartition]:
    return [TopicPartition(p.topic, p.partition, p.committed) for p in positions]


def _answers(error: KafkaError | None, partitions: Sequence[TopicPartition]) -> list[Answer]:
    found = []
    for each in partitions:
        wrong = each.error or error
        said = (wrong.code(), wrong.name()) if wrong else (0, None)
        found.append(Answer(each.topic, each.partition, each.offset, *said))
    return found


def transactions(config: ConsumerConfig) -> Transactions:
    """Connect a producer, and end what an earlier process of this name has left open."""
    assert config.output is not None  # the configuration has been checked
    output, patience_s = config.output, TRANSACTION_PATIENCE_S
    producer = Producer({**config.transacting(), **config.admission_of_librdkafka()})
    producer.init_transactions(patience_s)
    return Transactions(
        begin=producer.begin_transaction,
        send=lambda partition, copied: producer.produce(output, copied, partition=partition),
        flush=partial(producer.flush, patience_s),
        offer=lambda positions, metadata: producer.send_offsets_to_transaction(
            _offsets(positions), metadata, patience_s
        ),
        commit=partial(producer.commit_transaction, patience_s),
        abort=partial(producer.abort_transaction, patience_s),
        errors=KafkaException,
        said=lambda refusal: client_error(refusal.args[0]),
    )
