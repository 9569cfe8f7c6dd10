"""Which records a line of a program names: by a pattern, or as Kafka's own tool says it."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from harness.base.errors import VoidRun
from harness.experiment.app import Shows
from harness.run.named import Naming, Unnamed

_CONSUMED: Final = "records_consumed"


# [by, partition, first, last] of the records that a line names; often none.
Lines = Callable[[str], list[list[Any]]]


def lines_of(shows: Shows, naming: Naming, topic: str) -> Lines | None:
    """What reads the lines of a program that shows its work in them; none for another."""
    if shows.stdout:
        return partial(_matching, re.compile(shows.stdout), naming)
    return partial(_verifiable, topic) if shows.verifiable else None


def _matching(pattern: re.Pattern[str], naming: Naming, line: str) -> list[list[Any]]:
    """A line that a pattern finds names a record. Raises VoidRun where it finds no number."""
    match = pattern.search(line)
    if match is None:
        return []
    try:
        by, partition, place = naming.of_match(match)
    except Unnamed as found:
        raise VoidRun(
            f"[effects] stdout {pattern.pattern!r} found no number in the line {found}: "
            "let its groups match digits alone"
        ) from None
    return [[by, partition, place, place]]


def _verifiable(topic: str, line: str) -> list[list[Any]]:
    """A line of org.apache.kafka.tools.VerifiableConsumer: one for each poll, with its offsets.

    Lines of other kinds name none.
    """
    if _CONSUMED not in line:
        return []
    try:
        found = json.loads(line)
        return [
            ["offset", int(each["partition"]), int(each["minOffset"]), int(each["maxOffset"])]
            for each in found["partitions"]
            if found["name"] == _CONSUMED and each["topic"] == topic
        ]
    except (ValueError, KeyError, TypeError):
        return []
