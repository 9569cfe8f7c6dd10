from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from consumers.config import ProducerConfig
from consumers.producer import Ledger, Pace, ProducerLoop, SentRange, settings_of


def record(number: int, offset: int | None, code: int = 0) -> SentRange:
    return SentRange(
        "failed" if code else "acknowledged",
        number,
        number,
        offset,
        offset,
        1_000 + number,
        2_000 + number,
        code,
        "_MSG_TIMED_OUT" if code else None,
    )


class Written(list[tuple[str, dict[str, Any]]]):
    def write(self, kind: str, **fields: Any) -> None:
        self.append((kind, fields))


def test_consecutive_records_with_consecutive_offsets_are_one_run() -> None:
    written = Written()
    ledger = Ledger(2, written.write)
    for number in range(5):
        ledger.answered(1, record(number, 70 + number))
    assert written == []
    ledger.report()
    (frame,) = written
    assert frame[0] == "acknowledged"
    assert {
        "partition": 1,
        "first_number": 0,
        "last_number": 4,
        "first_offset": 70,
        "last_offset": 74,
        "first_sent_at": 1_000,
        "last_answered_at": 2_004,
    }.items() <= frame[1].items()


@pytest.mark.parametrize(
    "follower",
    [record(2, 71), record(1, 72), record(1, None, code=-192), record(0, 70)],
    ids=["number skipped", "offset skipped", "failed", "again"],
)
def test_what_does_not_follow_on_starts_a_new_run(follower: SentRange) -> None:
    written = Written()
    ledger = Ledger(1, written.write)
    ledger.answered(0, record(0, 70))
    ledger.answered(0, follower)
    assert len(written) == 1
    ledger.report()
    assert len(written) == 2


@given(st.permutations(range(12)), st.integers(0, 12), st.sets(st.integers(0, 11)))
def test_every_number_is_answered_or_unanswered_whatever_the_order(
    order: list[int], answers: int, failures: set[int]
) -> None:
    written = Written()
    ledger = Ledger(1, written.write)
    ledger.sent[0] = 12
    for number in order[:answers]:
        ledger.answered(0, record(number, number, code=-192 if number in failures else 0))
    ledger.report()
    heard = [
        number
        for _, frame in written
        for number in range(frame["first_number"], frame["last_number"] + 1)
    ]
    missing = [
        number
        for first, last in ledger.unanswered().get(0, [])
        for number in range(first, last + 1)
    ]
    assert sorted(order[:answers]) == sorted(heard)
    assert sorted(order[answers:]) == missing


def test_a_ledger_grows_with_its_topic() -> None:
    written = Written()
    ledger = Ledger(1, written.write)
    ledger.grow(3)
    assert ledger.sent == [0, 0, 0]
    ledger.sent[2] = 2
    ledger.answered(2, record(0, 0))
    ledger.report()
    assert {2: [(1, 1)]} == ledger.unanswered()


def test_the_pace_is_as_declared() -> None:
    pace = Pace(300, now=10.0)
    produced = 0
    for tick in range(1, 101):
        due = pace.due(10.0 + tick * 0.02)
        assert due in (5, 6, 7)
        pace.take(due)
        produced += due
    assert produced == 600


def test_after_a_long_pause_only_the_last_second_is_made_up_for() -> None:
    pace = Pace(300, now=0.0)
    assert pace.due(60.0) == 300
    pace.take(300)
    assert pace.due(60.0) == 0
    assert pace.due(60.02) == 6


def test_librdkafka_takes_the_settings(producer_settings: dict[str, Any]) -> None:
    found = settings_of(ProducerConfig.of(producer_settings))
    assert {"acks": "all", "enable.idempotence": True, "message.timeout.ms": 120_000}.items() <= (
        found.items()
    )
    Producer(found)


class Sends:
    """Takes what a producer sends, and answers when a test says so."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []

    def produce(self, topic: str, value: bytes, **more: Any) -> None:
        self.sent.append({"topic": topic, "value": value, "headers": None, **more})

    def answer(self, which: dict[str, Any], offset: int) -> None:
        message = SimpleNamespace(
            partition=lambda: which["partition"],
            offset=lambda: offset,
            latency=lambda: 0.001,
            value=lambda: None,  # librdkafka need not keep it
        )
        which["on_delivery"](None, message)


Loop = Callable[..., tuple[ProducerLoop, Sends, Written]]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch, producer_settings: dict[str, Any]) -> Loop:
    """A loop of which only sending is done, with these settings."""
    monkeypatch.setattr("consumers.producer.Producer", Sends)

    def made(**settings: Any) -> tuple[ProducerLoop, Sends, Written]:
        config = ProducerConfig.of({**producer_settings, **settings})
        written: Any = Written()
        control: Any = SimpleNamespace()
        loop = ProducerLoop(config, written, control)
        sends: Any = loop._producer
        return loop, sends, written

    return made


def burst(loop: ProducerLoop, records: int) -> None:
    """Send so many records."""
    due: Any = SimpleNamespace(due=lambda _now: records, take=lambda _count: None)
    loop._burst(due)


def test_without_templates_a_record_begins_with_its_number(loop: Loop) -> None:
    one, sends, _ = loop(record_bytes=12)

    burst(one, 4)

    assert [b"\0" * 12] * 3 == [each["value"] for each in sends.sent[:3]]
    assert b"\0" * 7 + b"\1" + b"\0" * 4 == sends.sent[3]["value"]
    assert {None} == {each["headers"] for each in sends.sent}


def test_templates_are_taken_in_turn_with_numbers_that_no_two_records_share(loop: Loop) -> None:
    one, sends, _ = loop(values=['{"id": {n}, "c": "c{n}"}', "plain", "{n}{N}"])

    burst(one, 7)

    assert [0, 1, 2, 0, 1, 2, 0] == [each["partition"] for each in sends.sent]
    numbers = [str(number).encode() for number in range(7)]
    assert [[("kafka-chaos-n", number)] for number in numbers] == [
        each["headers"] for each in sends.sent
    ]
    values = [each["value"] for each in sends.sent]
    assert [b'{"id": 0, "c": "c0"}', b"plain", b"2{N}", b'{"id": 3, "c": "c3"}'] == values[:4]


def test_numbers_stay_apart_when_partitions_are_added(loop: Loop) -> None:
    """Of three partitions that become five, the first record of the fourth is no record 3."""
    one, sends, _ = loop(values=["{n}"], rounds=5)
    burst(one, 6)
    one._ledger.grow(5)
    burst(one, 10)

    numbers = [int(each["value"]) for each in sends.sent]

    assert len(set(numbers)) == len(numbers)
    counts = [0] * 5
    for each in sends.sent:
        assert (counts[each["partition"]], each["partition"]) == divmod(int(each["value"]), 5)
        counts[each["partition"]] += 1


def test_answers_are_of_the_numbers_that_were_sent_whatever_the_value(loop: Loop) -> None:
    one, sends, written = loop(values=["all alike"])
    burst(one, 6)

    for offset, number in ((70, 1), (71, 4)):
        sends.answer(sends.sent[number], offset)
    one._ledger.report()

    (frame,) = [fields for kind, fields in written if kind == "acknowledged"]
    assert {
        "partition": 1,
        "first_number": 0,
        "last_number": 1,
        "first_offset": 70,
        "last_offset": 71,
    }.items() <= frame.items()
    assert {0: [(0, 1)], 2: [(0, 1)]} == one._ledger.unanswered()
