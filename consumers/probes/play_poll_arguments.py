"""What Java's poll refuses, and when it returns: asked of the client library itself, by scripts.

No broker has to answer: a consumer is made of each protocol, polled as no application should, and
closed. About 5 s.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Final

import jpype

from consumers import jvm
from consumers.config import ProbeConfig
from consumers.java_client import DESERIALIZERS
from consumers.journal import Journal
from consumers.probes.script import Body, ask_library

PROTOCOLS: Final = ("classic", "consumer")
EMPTY_MS: Final = 500  # time-out of a poll that has nothing to return
OTHER_MS: Final = 1_500  # how long another thread polls


def play(config: ProbeConfig, journal: Journal) -> None:
    """Poll in each way that a document names, and write down what became of it."""
    jvm.start(config.java_home, config.class_path)
    for protocol in PROTOCOLS:
        for what, scene in _SCENES.items():
            with closing(_made(config, protocol)) as consumer:
                ask_library(
                    config,
                    journal,
                    partial(scene, consumer, f"{config.topic}-nowhere"),
                    step=f"{what}, group.protocol {protocol}",
                    rule="R25-arguments",
                    api="poll",
                    request=json.dumps({"what": what, "timeout_ms": EMPTY_MS}),
                )


def _negative(consumer: Any, topic: str) -> Body:
    consumer.assign(_partition(topic))
    return _polled(consumer, -1)


def _unsubscribed(consumer: Any, _topic: str) -> Body:
    return _polled(consumer, EMPTY_MS)


def _empty(consumer: Any, topic: str) -> Body:
    """Of a partition that does not exist, so that nothing can come."""
    consumer.assign(_partition(topic))
    return _polled(consumer, EMPTY_MS)


def _second_thread(consumer: Any, topic: str) -> Body:
    consumer.assign(_partition(topic))
    other = threading.Thread(target=_polled, args=(consumer, OTHER_MS))
    other.start()
    time.sleep(OTHER_MS / 3_000)
    answer = _polled(consumer, EMPTY_MS)
    other.join()
    return answer


_SCENES: Final[dict[str, Callable[[Any, str], Body]]] = {
    "negative time-out": _negative,
    "no subscription": _unsubscribed,
    "second thread": _second_thread,
    "nothing to return": _empty,
}


def _polled(consumer: Any, timeout_ms: int) -> Body:
    """What one poll raised, if it did, how many records it gave, and how long it took."""
    began = time.monotonic_ns()
    said, records = "", 0
    try:
        duration = jpype.JClass("java.time.Duration").ofMillis(timeout_ms)
        records = int(consumer.poll(duration).count())
    except jpype.JException as error:
        said = str(error.getClass().getName())
    return {"said": said, "records": records, "took_ms": (time.monotonic_ns() - began) / 1e6}


def _partition(topic: str) -> Any:
    partition = jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, 0)
    return jpype.java.util.List.of(partition)


def _made(config: ProbeConfig, protocol: str) -> Any:
    settings: dict[str, object] = {
        "bootstrap.servers": config.bootstrap,
        "group.id": f"{config.group}-arguments",
        "group.protocol": protocol,
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": "false",
        **DESERIALIZERS,
        **config.admission_of_java(),
    }
    consumer = jpype.JClass("org.apache.kafka.clients.consumer.KafkaConsumer")
    return consumer(jvm.properties(settings))
