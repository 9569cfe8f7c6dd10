"""What client libraries refuse when a consumer is to be of the protocol of KIP-848.

No broker is asked: the consumers are made and closed, by both libraries, with each setting that is
the broker's in that protocol, and once without any.
"""

import json
from collections.abc import Mapping
from typing import Final

from consumers import jvm
from consumers.config import ProbeConfig
from consumers.java_client import DESERIALIZERS
from consumers.journal import Journal
from consumers.probes.script import ask_library

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


def play(config: ProbeConfig, journal: Journal) -> None:
    jvm.start(config.java_home, config.class_path)
    common = {
        "bootstrap.servers": config.bootstrap,
        "group.id": f"{config.group}-refused",
        "group.protocol": "consumer",
    }
    for client, refused, make in (("librdkafka", _LIBRDKAFKA, _librdkafka), ("java", _JAVA, _java)):
        for setting in (None, *refused):
            settings = common | ({setting: refused[setting]} if setting else {})
            ask_library(
                config,
                journal,
                lambda make=make, settings=settings: {"said": make(settings)},  # type: ignore[misc]
                step=f"{client} with {setting or 'none of them'}",
                rule="X26",
                api="constructor",
                expected=json.dumps({"refused": setting}),
                request=json.dumps(settings),
            )


def _librdkafka(settings: Mapping[str, str]) -> str:
    """What the constructor says when it refuses; empty if it does not."""
    from confluent_kafka import Consumer, KafkaException

    try:
        Consumer(dict(settings)).close()
    except KafkaException as error:
        return str(error.args[0].str())
    return ""


def _java(settings: Mapping[str, str]) -> str:
    import jpype

    properties = jvm.properties({**settings, **DESERIALIZERS})
    try:
        jpype.JClass("org.apache.kafka.clients.consumer.KafkaConsumer")(properties).close()
    except jpype.JException as error:
        cause = error.getCause()
        return str((cause if cause is not None else error).getMessage())
    return ""
