"""Kafka's own KafkaConsumer as a `Client`, in a Java Virtual Machine inside this process.

What is peculiar to it, and why the code is as it is:

- Rebalance listeners and commit callbacks run inside `poll`, `commitSync` and `close`, on the
  calling thread. What one raises comes out of that call: so none may raise.
- Records come as one list per partition, so a partition whose offsets are as far apart as it has
  records needs two of them looked at, and only one with gaps is walked through.
- `groupMetadata` tells the last generation that was joined, also after the member was thrown out:
  Java says that it is nobody only before the first join.
- Answers to automatic commits are told to nobody; the coordinator's view has them.
- A commit that was never sent, because the member knows that it is out, and one that was refused
  because the coordinator does not know the member, are the same CommitFailedException. It has no
  code of Kafka's: -1.
- A refusal that an ordinary application would die of comes out of `poll` and is fatal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import jpype
from jpype import JClass, JException, JProxy

from consumers import jvm
from consumers.client import (
    Answer,
    ClientError,
    Listener,
    MemberIdentity,
    Partition,
    Polled,
    Position,
    Range,
)
from consumers.config import ConsumerConfig
from harness.base.credentials import shown
from harness.base.errors import BadInput
from harness.experiment import ASSIGNORS, UNSET

_NOBODY: Final = MemberIdentity(None, None)
_CLIENTS: Final = "org.apache.kafka.clients.consumer"
_LOGGING: Final = Path(__file__).with_name("java_log4j2.xml")
_ASSIGNORS: Final = {
    "range": f"{_CLIENTS}.RangeAssignor",
    "roundrobin": f"{_CLIENTS}.RoundRobinAssignor",
    "cooperative-sticky": f"{_CLIENTS}.CooperativeStickyAssignor",
}
_FETCH_LIMIT: Final = "max.partition.fetch.bytes"
_FETCH_BYTES: Final = 65_536  # more than comes within fetch.max.wait.ms, which paces the polls
_BYTES: Final = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


def settings_of(config: ConsumerConfig) -> dict[str, object]:
    """Everything passed to the client that matters; the rest, and what is UNSET, are its defaults.

    In a group of the consumer protocol the broker has the timers and the assignor, and the client
    refuses them as settings of its own.
    """
    settings: dict[str, object] = {
        "bootstrap.servers": config.bootstrap,
        "client.id": config.member,
        "group.id": config.group,
        "enable.auto.commit": config.commit == "auto" and config.sabotage != "never-commit",
        "auto.commit.interval.ms": config.auto_commit_interval_ms,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "max.poll.interval.ms": config.max_poll_interval_ms,
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
        "key.deserializer": _BYTES,
        "value.deserializer": _BYTES,
    }
    if config.protocol == "consumer":
        settings["group.protocol"] = "consumer"
        if config.assignor:
            settings["group.remote.assignor"] = config.assignor
    else:
        assignor = config.assignor or ASSIGNORS[config.protocol][0]
        settings |= {
            "session.timeout.ms": config.session_timeout_ms,
            "heartbeat.interval.ms": config.heartbeat_interval_ms,
            "partition.assignment.strategy": _ASSIGNORS[assignor],
        }
    if config.instance_id:
        settings["group.instance.id"] = config.instance_id
    settings |= config.settings
    return {name: value for name, value in settings.items() if value != UNSET}


def _app_info() -> Any:
    """What tells the version of Kafka's client; from 4.4 on it is in a package of its own."""
    try:
        return JClass("org.apache.kafka.common.utils.AppInfoParser")
    except TypeError:  # there is no such class
        return JClass("org.apache.kafka.common.utils.internals.AppInfoParser")


class Java:
    """One consumer; see `consumers.client.Client` for what each method means."""

    def __init__(self, config: ConsumerConfig) -> None:
        """Start the Java Virtual Machine and connect.

        Raises BadInput where the client refuses its configuration.
        """
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
        self._listener: Listener | None = None
        self._known = _NOBODY
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
        return {"kafka-clients": str(_app_info().getVersion())}

    @property
    def effective(self) -> dict[str, object]:
        """The client's whole configuration, defaults included, as it tells it; no secrets."""
        whole = JClass(f"{_CLIENTS}.ConsumerConfig")(jvm.properties(self._settings)).values()
        told = {str(each.getKey()): str(each.getValue()) for each in whole.entrySet()}
        return dict(sorted(shown(told).items()))

    @property
    def known(self) -> MemberIdentity:
        """Who it was when a rebalance listener last ran."""
        return self._known

    def subscribe(self, topic: str, listener: Listener) -> None:
        """Join the group; `listener` is told from within the calls below."""
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
            told = self._told(error)
            if told.fatal and self._listener is not None:
                self._listener.error(told)
                return Polled([], [])
            return Polled([], [told])

    def commit(self, positions: Sequence[Position], *, wait: bool) -> list[Answer] | None:
        """Commit `positions`; raises nothing: a refusal is an answer."""
        offsets = jvm.offsets(positions)
        try:
            if not wait:
                self._consumer.commitAsync(offsets, self._on_commit)
                return None
            self._consumer.commitSync(offsets)
        except JException as error:
            code, name = jvm.code_of(error)
            return [Answer(*position, code, name) for position in positions]
        return [Answer(*position, 0, None) for position in positions]

    def seek(self, positions: Sequence[Position]) -> None:
        """Read from `positions` on; in Java a seek within the callback is enough."""
        for topic, partition, committed in positions:
            self._consumer.seek(self._partition(topic, partition), committed)

    def rewind(self, positions: Sequence[Position]) -> None:
        """Seek to `positions`; a partition that was taken away meanwhile is its new owner's."""
        with suppress(JException):  # IllegalStateException: not assigned any more
            self.seek(positions)

    def group_metadata(self) -> object:
        return self._consumer.groupMetadata()

    def member(self) -> MemberIdentity:
        """Who it is, by its last join."""
        metadata = self._consumer.groupMetadata()
        member_id, generation = str(metadata.memberId()), int(metadata.generationId())
        return _NOBODY if generation < 0 or not member_id else MemberIdentity(member_id, generation)

    def close(self) -> None:
        """Leave the group. A dynamic member says so to the coordinator."""
        try:
            self._consumer.close()
        except JException as error:
            if self._listener is not None:
                self._listener.error(self._told(error))

    def _rebalanced(self, where: str, partitions: Any) -> None:
        def act() -> None:
            current = self.member()
            if current.member_id is not None:
                self._known = current
            if self._listener is not None:
                found = [Partition(str(p.topic()), int(p.partition())) for p in partitions]
                getattr(self._listener, where)(sorted(found))

        self._safely(where, act)

    def _committed(self, offsets: Any, error: Any) -> None:
        def act() -> None:
            code, name = jvm.code_of(error) if error is not None else (0, None)
            answers = [
                Answer(str(p.topic()), int(p.partition()), int(offsets.get(p).offset()), code, name)
                for p in offsets.keySet()
            ]
            if self._listener is not None:
                self._listener.committed(sorted(answers))

        self._safely("commit callback", act)

    def _safely(self, where: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not reach Java's poll
            if self._listener is not None:
                self._listener.callback_failed(where, error)

    def _told(self, error: Any) -> ClientError:
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
    runs: list[Range] = []
    for record in found:
        offset = int(record.offset())
        if runs and runs[-1].last + 1 == offset:
            runs[-1] = runs[-1]._replace(last=offset, records=runs[-1].records + 1)
        else:
            runs.append(Range(topic, number, offset, offset, 1))
    return runs
