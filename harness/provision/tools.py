"""The programs a run starts, resolved without any network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import SetupError
from harness.base.paths import set_up
from harness.provision import aot, kafka, toxiproxy
from harness.provision.java import find_java


@dataclass(frozen=True)
class Tools:
    """Where everything is that a run starts, each checked to be what was pinned.

    `kafka_classpath` and the options of `harness.provision.java` have to be used as they are:
    `kafka_aot` was trained with exactly these. AOT caches are None where Java is too old
    for them or training failed; runs are slower then, and nothing else. `older` has those of the
    release that nodes are upgraded from, where they are.
    """

    java: Path
    java_version: str
    kafka_version: str
    kafka_classpath: str
    controller_template: Path
    kafka_aot: Path | None
    client_aot: Path | None
    spark_aot: Path | None
    toxiproxy: Path
    toxiproxy_version: str
    older: Tools | None = None


def resolve_tools(kafka_version: str = kafka.DEFAULT_VERSION, upgraded_from: str = "") -> Tools:
    """All tools for a run with this Kafka. No network; about 0.1 s, nearly all of it hashing.

    SetupError names what is missing, damaged or not pinned, and what to do.
    """
    java = find_java()
    kafka.check_jars(kafka_version)
    toxiproxy.check_binary()
    template = kafka.controller_template(kafka_version)
    if not template.is_dir():
        raise SetupError(
            f"the controller template {template} is missing; run `{set_up(kafka_version)}`"
        )
    return Tools(
        java=java.binary,
        java_version=java.version,
        kafka_version=kafka_version,
        kafka_classpath=kafka.classpath(kafka_version),
        controller_template=template,
        kafka_aot=aot.made("kafka", kafka_version, java),
        client_aot=aot.made("client", kafka_version, java),
        spark_aot=aot.made(aot.SPARK, kafka_version, java),
        toxiproxy=toxiproxy.binary(),
        toxiproxy_version=toxiproxy.VERSION,
        older=resolve_tools(upgraded_from) if upgraded_from else None,
    )
