"""Lines of brokers as their owners set them: the layouts that are met, and logs written in them.

Kafka's default is `[%d] %p %m (%c)%n` (config/log4j.properties of 3.x, config/log4j2.yaml of 4.x),
Strimzi's `%d{ISO8601} %p %m (%c) [%t]%n` (its KafkaCluster's default logging). `json-file` is what
Docker's driver of this name writes, `kubernetes` the container runtime interface, `ecs` what
Log4j's EcsLayout, `logstash` and `json` what other templates for its JsonTemplateLayout write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

NEW_LOGGER: Final = "org.apache.kafka.coordinator.group.GroupMetadataManager"
OLD_LOGGER: Final = "kafka.coordinator.group.GroupCoordinator"
THREAD: Final = "group-coordinator-event-processor-1"
# From a time, a logger and a message to a line. Of microseconds, so that nothing is lost.
Layout = Callable[[datetime, str, str], str]


def _default(at: datetime, logger: str, message: str) -> str:
    return f"[{at:%Y-%m-%d %H:%M:%S,%f}] INFO {message} ({logger})"


def _ours(at: datetime, logger: str, message: str) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f} INFO {logger.rpartition('.')[2]} {message}"


def _strimzi(at: datetime, logger: str, message: str) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S,%f} INFO {message} ({logger}) [{THREAD}]"


def _strimzi_log4j2(at: datetime, logger: str, message: str) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S,%f} INFO {message} ({logger}) [{THREAD}]"


def _message_last(at: datetime, logger: str, message: str) -> str:
    return f"{at:%d %b %Y %H:%M:%S,%f} [{THREAD}] INFO  {logger} - {message}"


def _kubernetes(at: datetime, logger: str, message: str) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}789Z stdout F {_default(at, logger, message)}"


def _compose(at: datetime, logger: str, message: str) -> str:
    return f"broker-1  | {_default(at, logger, message)}"


def _json_file(at: datetime, logger: str, message: str) -> str:
    line = {"log": _default(at, logger, message) + "\n", "stream": "stdout"}
    return json.dumps({**line, "time": f"{at:%Y-%m-%dT%H:%M:%S.%f}123Z"})


def _ecs(at: datetime, logger: str, message: str) -> str:
    return json.dumps(
        {
            "@timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%f}Z",
            "ecs.version": "1.2.0",
            "log.level": "INFO",
            "message": message,
            "process.thread.name": THREAD,
            "log.logger": logger,
        }
    )


def _logstash(at: datetime, logger: str, message: str) -> str:
    line = {"mdc": {}, "@version": 1, "message": message, "logger_name": logger, "level": "INFO"}
    return json.dumps({**line, "@timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%f}+0000"})


def _json(at: datetime, logger: str, message: str) -> str:
    seconds = int(at.timestamp())
    instant = {"epochSecond": seconds, "nanoOfSecond": at.microsecond * 1000}
    return json.dumps(
        {"instant": instant, "level": "INFO", "loggerName": logger, "message": message}
    )


def _json_in_kubernetes(at: datetime, logger: str, message: str) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}789Z stderr F {_ecs(at, logger, message)}"


BY_NAME: Final[dict[str, Layout]] = {
    "default": _default,
    "ours": _ours,
    "strimzi": _strimzi,
    "strimzi-log4j2": _strimzi_log4j2,
    "message last": _message_last,
    "kubernetes": _kubernetes,
    "compose": _compose,
    "json-file": _json_file,
    "ecs": _ecs,
    "logstash": _logstash,
    "json": _json,
    "json in kubernetes": _json_in_kubernetes,
}
LAYOUTS: Final = list(BY_NAME.values())


def message_of(row: dict[str, Any], *, old: bool = False) -> str:
    """A coordinator's message of a row of `coordinator_events`, with the mark of its version."""
    if old:
        return f"[GroupCoordinator {row['broker']}]: {row['text']}"
    mark = f"[GroupCoordinator id={row['broker']} topic=__consumer_offsets partition=1]"
    return f"{mark} {row['text']}"


def lines_of(rows: Iterable[dict[str, Any]], layout: Layout, *, old: bool = False) -> list[str]:
    """The lines of these rows."""
    logger = OLD_LOGGER if old else NEW_LOGGER
    return [layout(row["at"], logger, message_of(row, old=old)) + "\n" for row in rows]


def write_logs(
    folder: Path, rows: Iterable[dict[str, Any]], layout: Layout, *, old: bool = False
) -> Path:
    """A server.log of each broker in the folder."""
    by_broker: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_broker.setdefault(row["broker"], []).append(row)
    for broker, ours in by_broker.items():
        lines = lines_of(ours, layout, old=old)
        (folder / f"server-{broker}.log").write_text("".join(lines), encoding="utf-8")
    return folder
