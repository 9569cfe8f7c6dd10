"""Which records a line of a program names: by a pattern, or as Kafka's own tool says it."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

from harness.base.errors import VoidRun
from harness.experiment.app import Shows
from harness.run.named import Naming, Unnamed

_CONSUMED: Final = "records_consumed"


class Lines(Protocol):
    def read(self, line: str) -> list[list[Any]]:
        """[by, partition, first, last] of the records that a line names; often none."""


@dataclass(frozen=True)
class Matching:
    """Lines that a pattern finds, each of which names a record."""

    pattern: re.Pattern[str]
    naming: Naming

    def read(self, line: str) -> list[list[Any]]:
        """Raises VoidRun for a line in which the pattern finds no number."""
        match = self.pattern.search(line)
        if match is None:
            return []
        try:
            by, partition, place = self.naming.of_match(match)
        except Unnamed as found:
            raise VoidRun(
                f"[effects] stdout {self.pattern.pattern!r} found no number in the line {found}: "
                "let its groups match digits alone"
            ) from None
        return [[by, partition, place, place]]


@dataclass(frozen=True)
class Verifiable:
    """Lines of org.apache.kafka.tools.VerifiableConsumer: one for each poll, with its offsets."""

    topic: str

    def read(self, line: str) -> list[list[Any]]:
        """The ranges of one poll. Lines of other kinds name none."""
        if _CONSUMED not in line:
            return []
        try:
            found = json.loads(line)
            return [
                ["offset", int(each["partition"]), int(each["minOffset"]), int(each["maxOffset"])]
                for each in found["partitions"]
                if found["name"] == _CONSUMED and each["topic"] == self.topic
            ]
        except (ValueError, KeyError, TypeError):
            return []


def lines_of(shows: Shows, naming: Naming, topic: str) -> Lines | None:
    """What reads the lines of a program that shows its work in them; none for another."""
    if shows.stdout:
        return Matching(re.compile(shows.stdout), naming)
    return Verifiable(topic) if shows.verifiable else None
