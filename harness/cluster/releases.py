"""Which release of Kafka each node has had, by what it tells in its own log when it starts."""

import re
from pathlib import Path
from typing import Final, NamedTuple

TOLD: Final = re.compile(rb"Kafka version: (\S+)")
_LOG: Final = ".server.log"
_STAMP: Final = slice(len("2026-11-21T09:36:07.834320"))


class Start(NamedTuple):
    """A start of a node: when it told of it (UTC), and the release that it is."""

    at: str
    release: str


def log_of(node: str) -> str:
    return f"{node}{_LOG}"


def starts_in(log: Path) -> list[Start]:
    """Each start that a node's log tells of; none of a log that is not there."""
    if not log.is_file():
        return []
    with log.open("rb") as lines:
        told = [(line, match) for line in lines if (match := TOLD.search(line))]
    return [Start(f"{line[_STAMP].decode()}Z", match[1].decode()) for line, match in told]


def releases_in(logs: Path) -> dict[str, list[dict[str, str]]]:
    return {
        path.name.removesuffix(_LOG): [start._asdict() for start in starts_in(path)]
        for path in sorted(logs.glob(log_of("*")))
    }
