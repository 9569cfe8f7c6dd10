from typing import Any

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from consumers.config import ProducerConfig
from consumers.producer import Ledger, Pace, SentRange, settings_of


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
    told = [
        number
        for _, frame in written
        for number in range(frame["first_number"], frame["last_number"] + 1)
    ]
    missing = [
        number
        for first, last in ledger.unanswered().get(0, [])
        for number in range(first, last + 1)
    ]
    assert sorted(order[:answers]) == sorted(told)
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
