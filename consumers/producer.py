"""The producer: numbered records at a steady rate, and what became of each.

Every partition counts its own records from 0; a record's value starts with its number (8 bytes,
big endian), or is a template with it. Answers are journalled as ranges: a run of numbers that got
consecutive offsets.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from consumers.config import ProducerConfig, shown
from consumers.control import Control, run_program
from consumers.journal import Journal
from consumers.librdkafka import client_error, versions
from consumers.ranges import Runs
from harness.base.errors import BadInput, HarnessError
from harness.experiment.app import NUMBER_HEADER, numbered

BURST_S: Final = 0.02
REPORT_EVERY_S: Final = 0.25
FLUSH_S: Final = 60.0
METADATA_S: Final = 1.0
# After a pause (a full queue, a frozen process) missed records are made up for only this far back:
# a burst of them all would be a load that was never declared.
CATCH_UP_S: Final = 1.0
_NUMBER_BYTES: Final = 8


class ProducerGaveUp(HarnessError):
    """The client library reported a fatal error: nothing can be produced any more."""

    exit_code: int = 1


def settings_of(config: ProducerConfig) -> dict[str, object]:
    """Everything passed to librdkafka, callbacks excepted."""
    return {
        "bootstrap.servers": config.bootstrap,
        "client.id": config.member,
        "acks": config.acks,
        "enable.idempotence": config.idempotence,
        "message.timeout.ms": config.message_timeout_ms,
        # Each batch costs its leader and two followers a request: 5 ms instead of 50 kept two cores
        # at 70 % with 300 records a second, and made what is timed late.
        "linger.ms": 50,
        "compression.type": "none",
        "socket.timeout.ms": 60_000,
        # Room for an outage as long as the message timeout.
        "queue.buffering.max.messages": max(
            100_000, 2 * config.records_per_s * config.message_timeout_ms // 1000
        ),
        "queue.buffering.max.kbytes": 1_048_576,
        "statistics.interval.ms": 0,
    }


@dataclass
class SentRange:
    """Consecutive records of one partition with one outcome. Times in epoch microseconds."""

    outcome: str
    first_number: int
    last_number: int
    first_offset: int | None
    last_offset: int | None
    first_sent_at: int
    last_answered_at: int
    error_code: int
    error: str | None

    def grown_by(self, other: "SentRange") -> bool:
        """Take `other`, a single record, in if it follows on; False if it starts a new run."""
        unknown = self.last_offset is None or other.first_offset is None
        follows = (
            (self.outcome, self.error_code) == (other.outcome, other.error_code)
            and self.last_number + 1 == other.first_number
            and (unknown or (self.last_offset or 0) + 1 == other.first_offset)
        )
        if not follows:
            return False
        self.last_number = other.last_number
        self.last_offset = other.last_offset
        self.last_answered_at = other.last_answered_at
        return True


class Ledger:
    """What was sent and what became of it, per partition; writes runs through `write`."""

    def __init__(self, partitions: int, write: Callable[..., Any]) -> None:
        self.sent = [0] * partitions  # how many, so also the next number
        self._write = write
        self._runs: dict[int, SentRange] = {}
        self._answered = Runs()

    def grow(self, partitions: int) -> None:
        self.sent += [0] * (partitions - len(self.sent))

    def answered(self, partition: int, record: SentRange) -> None:
        """One record was answered. A run that it does not continue is journalled."""
        open_run = self._runs.get(partition)
        if open_run is None or not open_run.grown_by(record):
            if open_run is not None:
                self._report(partition, open_run)
            self._runs[partition] = record

    def report(self) -> None:
        """Journal every run that is open."""
        for partition, run in self._runs.items():
            self._report(partition, run)
        self._runs.clear()

    def unanswered(self) -> dict[int, list[tuple[int, int]]]:
        """First and last numbers, per partition, of what was sent and never answered."""
        missing = {
            partition: self._answered.gaps(partition, sent)
            for partition, sent in enumerate(self.sent)
        }
        return {partition: found for partition, found in missing.items() if found}

    def _report(self, partition: int, run: SentRange) -> None:
        found = asdict(run)
        outcome = found.pop("outcome")
        self._write(outcome, partition=partition, **found)
        self._answered.add(partition, run.first_number, run.last_number)


class Pace:
    """How many records are due, on a monotonic clock (seconds)."""

    def __init__(self, records_per_s: int, now: float) -> None:
        self._rate = records_per_s
        self._since = now
        self._taken = 0

    def due(self, now: float) -> int:
        """Records due at `now` and not taken yet; of a long pause only the last second's."""
        due = int((now - self._since) * self._rate) - self._taken
        most = max(1, int(self._rate * CATCH_UP_S))
        if due > most:
            self._taken += due - most
            due = most
        return due

    def take(self, records: int) -> None:
        self._taken += records


class ProducerLoop:
    def __init__(self, config: ProducerConfig, journal: Journal, control: Control) -> None:
        self._config = config
        self._journal = journal
        self._control = control
        self._ledger = Ledger(config.partitions, journal.write)
        self._padding = bytes(config.record_bytes - _NUMBER_BYTES)
        self._turn = 0
        self._partitions_known = config.partitions
        self._broken: HarnessError | None = None
        settings = settings_of(config) | config.admission_of_librdkafka()
        self._settings = shown(settings)
        callbacks: dict[str, Any] = {"error_cb": self._on_error}
        try:
            self._producer = Producer({**settings, **callbacks})
        except KafkaException as error:
            raise BadInput(f"librdkafka refuses the configuration: {error.args[0].str()}") from None

    def run(self) -> None:
        """Produce until ordered to stop, flush for up to 60 s, and journal what is unanswered."""
        self._journal.write(
            "started",
            versions=versions(),
            config=asdict(self._config),
            effective=self._settings,
        )
        self._produce_until_stopped()
        self._producer.flush(FLUSH_S)
        self._raise_what_broke()
        self._ledger.report()
        for partition, missing in self._ledger.unanswered().items():
            for first, last in missing:
                self._journal.write(
                    "unanswered", partition=partition, first_number=first, last_number=last
                )
        self._journal.write("closed")

    def _produce_until_stopped(self) -> None:
        pace = Pace(self._config.records_per_s, time.monotonic())
        report_at = time.monotonic() + REPORT_EVERY_S
        while (why := self._why_to_stop()) is None:
            self._see_partitions()
            until = time.monotonic() + BURST_S
            self._burst(pace)
            while (left_s := until - time.monotonic()) > 0:
                self._producer.poll(left_s)
            self._raise_what_broke()
            if time.monotonic() >= report_at:
                self._ledger.report()
                report_at = time.monotonic() + REPORT_EVERY_S
        self._journal.write("closing", why=why)

    def _see_partitions(self) -> None:
        # librdkafka refuses a partition that it has not heard of; asking makes it hear.
        if self._partitions_known <= len(self._ledger.sent):
            return
        try:
            found = self._producer.list_topics(self._config.topic, timeout=METADATA_S)
        except KafkaException:  # no answer now: asked again before the next burst
            return
        self._ledger.grow(
            max(len(self._ledger.sent), len(found.topics[self._config.topic].partitions))
        )

    def _burst(self, pace: Pace) -> None:
        due = pace.due(time.monotonic())
        if not due:
            return
        # Journalled first, so that a killed producer leaves behind what it may have sent.
        sent = list(self._ledger.sent)
        for turn in range(self._turn, self._turn + due):
            sent[turn % len(sent)] += 1
        self._journal.write("sending", sent=sent)
        for produced in range(due):
            partition = self._turn % len(self._ledger.sent)
            number = self._ledger.sent[partition]
            try:
                self._produce(partition, number)
            except BufferError:  # the local queue is full: an outage longer than planned for
                pace.take(produced)
                return
            self._ledger.sent[partition] += 1
            self._turn += 1
        pace.take(due)

    def _produce(self, partition: int, number: int) -> None:
        values = self._config.values
        headers: list[tuple[str, str | bytes | None]] | None = None
        value = number.to_bytes(_NUMBER_BYTES, "big") + self._padding
        if values:
            n = number * (self._config.rounds or self._config.partitions) + partition
            value = numbered(values[n % len(values)], n).encode()
            headers = [(NUMBER_HEADER, str(n).encode())]
        self._producer.produce(
            self._config.topic,
            value,
            partition=partition,
            headers=headers,
            on_delivery=partial(self._on_delivery, partition, number),
        )

    def _why_to_stop(self) -> str | None:
        for order in self._control.poll():
            match order.split():
                case ["stop" | "close"]:
                    return "ordered"
                case ["partitions", count] if count.isdecimal():
                    self._partitions_known = int(count)
                case _:
                    self._journal.write("error", where="control", text=f"unknown order {order!r}")
        return self._control.gone

    @contextmanager
    def _callback(self) -> Iterator[None]:
        """Keep what a callback raises for the loop: it would surface later, if at all."""
        try:
            yield
        except HarnessError as error:
            self._broken = error
        except Exception as error:  # noqa: BLE001 (whatever it is)
            text = f"a producer callback failed: {type(error).__name__}: {error}"
            self._broken = HarnessError(text)

    def _on_delivery(
        self, partition: int, number: int, error: KafkaError | None, message: Message
    ) -> None:
        with self._callback():
            self._ledger.answered(partition, _record(error, message, number))

    def _on_error(self, error: KafkaError) -> None:
        with self._callback():
            found = client_error(error)
            self._journal.write("error", where="library", **found._asdict())
            if found.fatal:
                self._broken = ProducerGaveUp(
                    f"{self._config.member} cannot go on: {found.name}: {found.text}"
                )

    def _raise_what_broke(self) -> None:
        if self._broken is not None:
            raise self._broken


def run(config: ProducerConfig) -> int:
    """The program: produce until ordered to stop. Returns the exit code; raises HarnessError."""
    return run_program(
        config, lambda journal, control: ProducerLoop(config, journal, control).run()
    )


def _record(error: KafkaError | None, message: Message, number: int) -> SentRange:
    now = time.time_ns() // 1000
    latency_s = message.latency() or 0.0
    offset = message.offset() if error is None else None
    if offset is not None and offset < 0:  # acks=0: the offset is unknown
        offset = None
    return SentRange(
        outcome="failed" if error else "acknowledged",
        first_number=number,
        last_number=number,
        first_offset=offset,
        last_offset=offset,
        first_sent_at=now - round(latency_s * 1e6),
        last_answered_at=now,
        error_code=error.code() if error else 0,
        error=error.name() if error else None,
    )
