"""Which records a program names: in a line that it prints, a post, or a record that it writes."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import parse_qs, unquote_plus

from consumers.ranges import Runs
from harness.base.errors import VoidRun
from harness.experiment.app import NUMBER_HEADER, App, Shows

# "number" or "offset", the partition, and the number or offset in it.
Place = tuple[str, int, int]
_CONSUMED: Final = "records_consumed"
_PLAIN: Final = "n"  # the field or parameter that is the number, whatever the records look like
_MARK: Final = 987_654_321_012_345  # stands for a record's number while its template is looked at


class Unnamed(Exception):
    """It names no record, or something that is no number; the message has what was found."""


@dataclass(frozen=True)
class Naming:
    """How the records of an app are named.

    `pattern` is its owner's, and looks at every match. Without one the number is looked for in the
    header `kafka-chaos-n`, the parameter `n` of a query, the fields of JSON that hold it in the
    records' `templates`, or the field `n`, and at last in a text that is like a template.
    Numbers go round `partitions` of the topic.
    """

    templates: Sequence[str]
    partitions: int
    pattern: str = ""

    def of_match(self, match: re.Match[str]) -> Place:
        """The record that a match of a pattern names. Raises Unnamed where it names none."""
        found = match.groupdict()
        try:
            if found.get("n") is not None:
                return self.of_number(found["n"])
            return "offset", int(found["partition"]), int(found["offset"])
        except (KeyError, TypeError, ValueError):
            raise Unnamed(repr(match.string.strip()[:200])) from None

    def of_number(self, number: Any) -> Place:
        """The record with this number, a text or an integer. Raises ValueError or TypeError."""
        if isinstance(number, bool | float):
            raise TypeError(f"{number!r} is no whole number")
        place, partition = divmod(int(number), self.partitions)
        return "number", partition, place

    def in_post(self, header: str | None, query: str, body: str) -> list[Place]:
        """The records that a post names. Raises Unnamed where there is none."""
        if self.pattern:
            return self._matches(unquote_plus(query), body)
        numbers = [header] if header is not None else parse_qs(query).get(_PLAIN, [])
        return self._numbers(numbers, body)

    def in_record(self, header: bytes | None, key: bytes | None, value: bytes | None) -> Place:
        """The record that a record of an output topic is about. Raises Unnamed."""
        numbers = [header.decode(errors="replace")] if header is not None else []
        texts = [(part or b"").decode(errors="replace") for part in (key, value)]
        if not numbers and self.pattern:
            return self._matches(*texts)[0]
        for text in reversed(texts):
            with suppress(Unnamed):
                return self._numbers(numbers, text)[0]
        raise Unnamed(repr(texts[1][:200]))

    def _matches(self, *texts: str) -> list[Place]:
        found = [self.of_match(match) for text in texts for match in self._compiled.finditer(text)]
        if not found:
            raise Unnamed(repr(" ".join(filter(None, texts))[:200]))
        return found

    def _numbers(self, given: Iterable[Any], text: str) -> list[Place]:
        numbers = list(given) or list(self._in_json(text)) or list(self._like_a_template(text))
        with suppress(ValueError, TypeError):
            if numbers:
                return [self.of_number(number) for number in numbers]
        raise Unnamed(repr(text[:200]))

    def _in_json(self, text: str) -> Iterator[Any]:
        try:
            found = json.loads(text)
        except ValueError:
            return
        for each in found if isinstance(found, list) else [found]:
            if not isinstance(each, dict):
                return
            numbers = (_at(each, path) for path in self._paths)
            yield next((number for number in numbers if number is not None), None)

    def _like_a_template(self, text: str) -> Iterator[str]:
        for form in self._forms:
            if match := form.search(text):
                yield match["n"]
                return

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _paths(self) -> tuple[tuple[str, ...], ...]:
        found: dict[tuple[str, ...], None] = {}
        for template in self.templates:
            with suppress(ValueError):
                whole = json.loads(template.replace("{n}", str(_MARK)))
                found |= dict.fromkeys(_paths_to(whole))
        return (*found, (_PLAIN,))

    @cached_property
    def _forms(self) -> tuple[re.Pattern[str], ...]:
        return tuple(
            re.compile(before + r"(?P<n>\d+)" + r"\d+".join(after))
            for template in dict.fromkeys(self.templates)
            for before, *after in [[re.escape(part) for part in template.split("{n}")]]
            if after
        )


def naming_of_app(app: App, partitions: int) -> Naming:
    return Naming(app.records.templates, partitions, app.effects.pattern)


def header_of(headers: Any) -> bytes | None:
    """The number in the headers of a record of confluent-kafka, as it was fed."""
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    return next((value for name, value in pairs if name == NUMBER_HEADER), None)


def _paths_to(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(found, dict):
        for name, value in found.items():
            yield from _paths_to(value, (*path, name))
    elif path and found in (_MARK, str(_MARK)):
        yield path


def _at(found: Any, path: Iterable[str]) -> Any:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def runs(shown: Iterable[Place]) -> list[list[Any]]:
    """[by, partition, first, last] of records in the order shown: consecutive ones as one run."""
    return joined([by, partition, place, place] for by, partition, place in shown)


def joined(ranges: Iterable[list[Any]]) -> list[list[Any]]:
    """[by, partition, first, last] in the order shown: where one goes on with another, as one."""
    runs = Runs()
    for by, partition, first, last in ranges:
        runs.add((by, partition), first, last)
    return [[*place, *run] for place, run in runs.all]


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
