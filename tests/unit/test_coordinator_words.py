"""Each text that a group coordinator of Kafka 2.0 to 4.4 logs is read, or known to say nothing.

The texts are extracted from Kafka's own class files (tests/coordinator_words.py).
"""

from __future__ import annotations

import re

import pytest

from harness.history.foreign.wordings import is_known, row_of
from harness.provision import kafka
from harness.report.incident.reasons import of_reason
from tests.coordinator_words import VERSIONS, kept, texts_in

MARKS = ("[GroupCoordinator 1]: ", "[GroupCoordinator id=1 topic=__consumer_offsets partition=1] ")


@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_each_text_is_read_or_known_to_say_nothing(level: str) -> None:
    for each, text, _ in kept():
        lines = [mark + _filled(text) for mark in MARKS]
        assert each != level or any(row_of(line) or is_known(line) for line in lines), text


def test_each_reason_of_a_rebalance_is_known() -> None:
    unknown = [text for level, text, _ in kept() if level == "reason" and _unknown(text)]

    assert unknown == []


def _unknown(text: str) -> bool:
    return of_reason(_filled(text)) == "unknown"


def _filled(text: str) -> str:
    """With a value that may be an id, a number and a state."""
    return re.sub(r"\{\}|%[sd]", "7", text)


def test_all_pinned_versions_are_listed() -> None:
    assert set(kafka.kafka_versions()) <= set(VERSIONS)


@pytest.mark.parametrize(
    "version", [each for each in kafka.kafka_versions() if kafka.has_jars(each)]
)
def test_the_list_has_what_a_version_s_own_jars_have(version: str) -> None:
    jars = kafka.home(version) / "jars"
    names = ("__kafka_2.13__", "__kafka-group-coordinator__", "__kafka-coordinator-common__")
    ours = [path for path in sorted(jars.iterdir()) if any(name in path.name for name in names)]

    assert texts_in(ours) == {(level, text) for level, text, has in kept() if version in has}
