import struct
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

from consumers.client import Answer, ClientError, MemberIdentity, Partition, Range
from consumers.config import ConsumerConfig
from consumers.librdkafka import Librdkafka, client_error, parse_group_metadata, settings_of
from harness.experiment import UNSET
from tests.consumers.conftest import PASSED_ON

MEMBER = b"CGMDv2:" + struct.pack("=i", 7) + b"orders\0member-1-4e1c\0\x01"


class Raising:
    """A listener of which every method fails."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def assigned(self, partitions: Sequence[Partition]) -> None:
        raise ValueError("assigned")

    def revoked(self, partitions: Sequence[Partition]) -> None:
        raise ValueError("revoked")

    def lost(self, partitions: Sequence[Partition]) -> None:
        raise ValueError("lost")

    def committed(self, answers: Sequence[Answer]) -> None:
        raise ValueError("committed")

    def error(self, error: ClientError) -> None:
        raise ValueError("error")

    def callback_failed(self, where: str, error: Exception) -> None:
        self.failed.append((where, str(error)))


class Binding:
    """Stands for confluent_kafka.Consumer; the test calls what was subscribed."""

    def __init__(self, _settings: dict[str, Any]) -> None:
        self.metadata: bytes = MEMBER
        self.callbacks: dict[str, Any] = {}
        self.brings: list[Message] = []

    def subscribe(self, _topics: list[str], **callbacks: Any) -> None:
        self.callbacks = callbacks

    def consumer_group_metadata(self) -> bytes:
        return self.metadata

    def consume(self, limit: int, _timeout_s: float) -> list[Message]:
        return [self.brings.pop(0) for _ in self.brings[:limit]]


@pytest.fixture
def adapter(consumer_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Librdkafka:
    monkeypatch.setattr("consumers.librdkafka.Consumer", Binding)
    return Librdkafka(ConsumerConfig.of(consumer_settings))


def binding_of(adapter: Librdkafka) -> Any:
    return adapter._consumer


def test_group_metadata_gives_member_and_generation() -> None:
    assert MemberIdentity("member-1-4e1c", 7) == parse_group_metadata(MEMBER)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"CGMDv3:" + MEMBER[7:],
        MEMBER[:9],
        MEMBER[:15],
        b"CGMDv2:" + struct.pack("=i", -1) + b"orders\0member-1-4e1c\0\x01",
        b"CGMDv2:" + struct.pack("=i", 7) + b"orders\0\0\x01",
    ],
    ids=["none", "empty", "magic", "short", "cut", "no generation", "no member id"],
)
def test_unknown_group_metadata_gives_neither(data: object) -> None:
    assert MemberIdentity(None, None) == parse_group_metadata(data)


def test_callbacks_that_fail_are_reported_and_never_raise(adapter: Librdkafka) -> None:
    listener = Raising()
    adapter.subscribe("t", listener)
    binding = binding_of(adapter)
    for name in ("on_assign", "on_revoke", "on_lost"):
        binding.callbacks[name](binding, [TopicPartition("t", 0)])
    adapter._on_commit(None, [TopicPartition("t", 0, 5)])
    adapter._on_error(KafkaError(KafkaError._TRANSPORT))
    assert listener.failed == [
        ("on_assign", "assigned"),
        ("on_revoke", "revoked"),
        ("on_lost", "lost"),
        ("on_commit", "committed"),
        ("error_cb", "error"),
    ]


def test_a_fatal_error_in_the_place_of_a_message_is_fatal() -> None:
    error = KafkaError(KafkaError._FATAL, "fenced")
    assert not error.fatal()
    assert client_error(error).fatal
    assert not client_error(KafkaError(KafkaError._TRANSPORT)).fatal


def record(offset: int) -> Message:
    return Message(topic="t", partition=0, offset=offset, value=b"x")


@pytest.mark.parametrize("at", [0, 3, 50])
def test_an_error_in_the_place_of_a_record_is_reported_and_costs_no_record(
    adapter: Librdkafka, at: int
) -> None:
    broken = Message(topic="t", partition=0, error=KafkaError(KafkaError._MAX_POLL_EXCEEDED))
    records = [record(offset) for offset in range(50)]
    binding_of(adapter).brings = [*records[:at], broken, *records[at:], record(50)]
    polled = adapter.poll_batch(51, 0.1)
    assert ["_MAX_POLL_EXCEEDED"] == [error.name for error in polled.errors]
    assert [Range("t", 0, 0, 49, 50)] == polled.ranges
    assert ([Range("t", 0, 50, 50, 1)], []) == adapter.poll_batch(51, 0.1)


def test_the_last_member_id_is_remembered_when_all_is_lost(adapter: Librdkafka) -> None:
    adapter.subscribe("t", Raising())
    binding = binding_of(adapter)
    assert MemberIdentity(None, None) == adapter.known
    binding.callbacks["on_assign"](binding, [])
    binding.metadata = b"CGMDv2:" + struct.pack("=i", -1) + b"orders\0\0\x01"
    binding.callbacks["on_lost"](binding, [])
    assert MemberIdentity("member-1-4e1c", 7) == adapter.known
    assert MemberIdentity(None, None) == adapter.member()


def test_an_automatic_commit_with_nothing_to_say_is_not_reported(
    adapter: Librdkafka,
) -> None:
    listener = Raising()
    adapter.subscribe("t", listener)
    adapter._on_commit(KafkaError(KafkaError._NO_OFFSET), [TopicPartition("t", 0)])
    assert listener.failed == []


@pytest.mark.parametrize(
    ("protocol", "assignor"), [("eager", "range"), ("cooperative", "cooperative-sticky")]
)
@pytest.mark.parametrize("commit", ["auto", "sync", "async", "revoke"])
def test_everything_that_matters_is_passed(
    consumer_settings: dict[str, Any], protocol: str, assignor: str, commit: str
) -> None:
    config = ConsumerConfig.of({**consumer_settings, "protocol": protocol, "commit": commit})
    found = settings_of(config)
    assert assignor == found["partition.assignment.strategy"]
    assert (commit == "auto") is found["enable.auto.commit"] is found["enable.auto.offset.store"]
    own = {"fetch.wait.max.ms": 100, "statistics.interval.ms": 0}
    assert {**PASSED_ON, **own}.items() <= found.items()
    assert "logger" not in found
    Librdkafka(config)  # librdkafka takes it


def test_who_never_commits_has_no_automatic_commit_either(
    consumer_settings: dict[str, Any],
) -> None:
    config = ConsumerConfig.of({**consumer_settings, "commit": "auto", "sabotage": "never-commit"})
    assert settings_of(config)["enable.auto.commit"] is False


@pytest.mark.parametrize(("said", "meant"), [("none", "error"), ("latest", "latest")])
def test_no_reset_is_called_an_error_by_librdkafka(
    consumer_settings: dict[str, Any], said: str, meant: str
) -> None:
    config = ConsumerConfig.of(consumer_settings | {"settings": {"auto.offset.reset": said}})
    assert meant == settings_of(config)["auto.offset.reset"]


def test_a_setting_that_is_unset_is_left_to_the_library(consumer_settings: dict[str, Any]) -> None:
    settings = {"session.timeout.ms": UNSET, "heartbeat.interval.ms": UNSET, "client.rack": "r"}
    found = settings_of(ConsumerConfig.of({**consumer_settings, "settings": settings}))
    assert "r" == found["client.rack"]
    assert not set(found) & {"session.timeout.ms", "heartbeat.interval.ms"}
    assert UNSET not in found.values()
