"""The Java Virtual Machine of a client process: one, started once, with Kafka's own jars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jpype

from consumers.client import Position
from harness.base.errors import SetupError

# A client needs little; an experiment starts many on one machine.
_OPTIONS: Final = (
    "-Xms32m",
    "-Xmx192m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xrs",  # signals are Python's: an order to end must not end the JVM under the loop
    "-XX:-UsePerfData",  # no file in /tmp, which a SIGKILL would leave there
    "-XX:+ErrorFileToStderr",  # into the member's log, and not into whatever folder we are in
    "--enable-native-access=ALL-UNNAMED",  # what JPype is; newer Javas warn of it otherwise
)


def start(java_home: str, class_path: str, *options: str) -> None:
    """Start it, unless it runs already.

    `class_path` is Kafka's, entries parted by colons. Raises SetupError where there is no Java.
    """
    if jpype.isJVMStarted():
        return
    library = Path(java_home) / "lib" / "server" / "libjvm.so"
    if not library.exists():
        library = library.with_suffix(".dylib")  # macOS
    if not library.exists():
        raise SetupError(f"{java_home} holds no Java Virtual Machine; run `make setup`")
    jpype.startJVM(
        str(library),
        *_OPTIONS,
        *options,
        classpath=class_path.split(":"),
        convertStrings=True,
        interrupt=False,
    )


def properties(settings: Mapping[str, object]) -> Any:
    """Settings as Java's clients take them: all are texts."""
    found = jpype.JClass("java.util.HashMap")()
    for name, value in settings.items():
        found.put(name, str(value).lower() if isinstance(value, bool) else str(value))
    return found


def offsets(positions: Sequence[Position]) -> Any:
    """Positions as Java's clients commit them."""
    partition = jpype.JClass("org.apache.kafka.common.TopicPartition")
    position = jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")
    found = jpype.JClass("java.util.HashMap")()
    for topic, number, committed in positions:
        found.put(partition(topic, number), position(committed))
    return found


def words(error: Any) -> str:
    """An exception's message, and that of what caused it, in one line."""
    texts = []
    while error is not None:
        text = error.getMessage()
        texts.append(" ".join(str(text).split()) if text else str(error.getClass().getSimpleName()))
        error = error.getCause()
    return ": ".join(dict.fromkeys(texts))


def code_of(error: Any) -> tuple[int, str]:
    """Kafka's code and name of an exception; -1 and its class where the protocol has none."""
    known = jpype.JClass("org.apache.kafka.common.protocol.Errors").forException(error)
    code = int(known.code())
    return code, str(known.name()) if code != -1 else str(error.getClass().getSimpleName())
