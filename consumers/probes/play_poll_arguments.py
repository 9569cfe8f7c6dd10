"""What Java's poll refuses, and when it returns: asked of the client library itself, by scripts.

No broker has to answer: a consumer is made of each protocol, polled as no application should, and
closed. About 5 s.
"""

import json
import threading
import time
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
# How long a poll may take, whether it is of a partition, which does not exist so that nothing can
# come of it, and whether another thread polls already.
_WAYS: Final = {
    "negative time-out": (-1, True, False),
    "no subscription": (EMPTY_MS, False, False),
    "second thread": (EMPTY_MS, True, True),
    "nothing to return": (EMPTY_MS, True, False),
}


def play(config: ProbeConfig, journal: Journal) -> None:
    """Poll in each way that a document names, and write down what became of it."""
    jvm.start(config.java_home, config.class_path)
    for protocol in PROTOCOLS:
        for what, way in _WAYS.items():
            with closing(_made(config, protocol)) as consumer:
                ask_library(
                    config,
                    journal,
                    partial(_asked, consumer, f"{config.topic}-nowhere", *way),
                    step=f"{what}, group.protocol {protocol}",
                    rule="R25-arguments",
                    api="poll",
                    request=json.dumps({"what": what, "timeout_ms": EMPTY_MS}),
                )


def _asked(consumer: Any, topic: str, timeout_ms: int, assigned: bool, beside: bool) -> Body:
    if assigned:
        partition = jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, 0)
        consumer.assign(jpype.java.util.List.of(partition))
    if not beside:
        return _polled(consumer, timeout_ms)
    other = threading.Thread(target=_polled, args=(consumer, OTHER_MS))
    other.start()
    time.sleep(OTHER_MS / 3_000)
    answer = _polled(consumer, timeout_ms)
    other.join()
    return answer


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
