"""What client libraries refuse when a consumer is to be of the protocol of KIP-848.

No broker is asked: the consumers are made and closed, by both libraries, with each setting that is
the broker's in that protocol, and once without any.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Final

from consumers import jvm
from consumers.config import ProbeConfig
from consumers.journal import Journal

_CLASSIC: Final = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    "partition.assignment.strategy": "range",
}
# librdkafka alone can name the protocol type of a classic group.
_LIBRDKAFKA: Final = {**_CLASSIC, "group.protocol.type": "consumer"}
_JAVA: Final = {
    **_CLASSIC,
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
}
_DESERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_NATIVE: Final = "--enable-native-access=ALL-UNNAMED"  # JPype's own; Java warns without it


def play(config: ProbeConfig, journal: Journal) -> None:
    """Make every consumer, and write down what became of it."""
    jvm.start(config.java_home, config.class_path, _NATIVE)
    common = {
        "bootstrap.servers": config.bootstrap,
        "group.id": f"{config.group}-refused",
        "group.protocol": "consumer",
    }
    for client, refused, make in (("librdkafka", _LIBRDKAFKA, _librdkafka), ("java", _JAVA, _java)):
        _try(journal, config, client, make, common, None)
        for setting, value in refused.items():
            _try(journal, config, client, make, {**common, setting: value}, setting)


def _try(
    journal: Journal,
    config: ProbeConfig,
    client: str,
    make: Callable[[Mapping[str, str]], str],
    settings: Mapping[str, str],
    setting: str | None,
) -> None:
    sent_at = time.time_ns() // 1_000
    said = make(settings)
    journal.write(
        "call",
        probe=config.probe,
        step=f"{client} with {setting or 'none of them'}",
        rule="X26",
        api="constructor",
        sent_at=sent_at,
        answered_at=time.time_ns() // 1_000,
        error_code=1 if said else 0,
        expected=json.dumps({"refused": setting}),
        request=json.dumps(dict(settings)),
        answer=json.dumps({"said": said}),
    )


def _librdkafka(settings: Mapping[str, str]) -> str:
    """What the constructor says when it refuses; nothing if it does not."""
    from confluent_kafka import Consumer, KafkaException

    try:
        Consumer(dict(settings)).close()
    except KafkaException as error:
        return str(error.args[0].str())
    return ""


def _java(settings: Mapping[str, str]) -> str:
    import jpype

    deserializers = {"key.deserializer": _DESERIALIZER, "value.deserializer": _DESERIALIZER}
    properties = jvm.properties({**settings, **deserializers})
    try:
        jpype.JClass("org.apache.kafka.clients.consumer.KafkaConsumer")(properties).close()
    except jpype.JException as error:
        cause = error.getCause()
        return str((cause if cause is not None else error).getMessage())
    return ""
