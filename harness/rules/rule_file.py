"""A rule as a file: `group/verb-phrase.sql`, its header and its query.

    -- Heartbeats keep their interval
    -- In a stable group each member sends a heartbeat every heartbeat.interval.ms, or up to one
    -- tick of its timer later (librdkafka: 500 ms, Java: 100 ms).
    -- why: The interval and its delay decide how many lost heartbeats a session survives.
    -- source: document 001, heartbeat; heartbeat.interval.ms
    -- id: R14 | rows: members per generation | unit: ms | measured: between heartbeats (mean) |
    --   low: sent its heartbeats too often | high: sent its heartbeats too rarely | delayed by:
    --   member, toxiproxy, broker
    --
    -- What a maintainer has to know of the query.

The first line is the title, the statement follows it, then keys in any order, each in a line of its
own or after a bar; a line that goes on is indented. `Rule` says what each of them means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent, wrap
from typing import Any, Final, TypeVar

from harness.experiment import CLASSIC, CLIENTS, PROTOCOLS
from harness.rules.rule import Groups, Need, Party, Rule
from harness.tables.sql_file import SqlFile, read
from harness.tables.vocabulary import text_of

Word = TypeVar("Word")

# What is a text in the header, by its key.
_TEXTS: Final = {
    "why": "matters",
    "source": "source",
    "rows": "things",
    "unit": "unit",
    "measured": "measures",
    "low": "too_low",
    "high": "too_high",
    "since": "since",
    "limit": "limit",
    "headline": "headline",
}
_FLAGS: Final = (
    "evidence",
    "always",
    "without_journals",
    "of_applications",
    "broker",
    "clock",
    "of_record",
    "in_passing",
    "compares_clocks",
)
_KEYS: Final = (
    *_TEXTS,
    *(
        "id",
        "was",
        "was not",
        "needs",
        "clients",
        "protocols",
        "delayed by",
        "contradicted",
        "kind",
    ),
)
_WIDTH: Final = 97  # of a line of the header, without its dashes
_KEY: Final = re.compile(rf"({'|'.join(_KEYS)}): (.*)")


def rule_in(path: Path, pieces: Path | None = None) -> Rule:
    """The rule that a file describes; without an `id` the file's name is one.

    Raises ValueError with what is wrong in the file.
    """
    query = read(path, pieces)
    title, statement, given = _header(query.header)
    values: dict[str, Any] = {"unit": ""}
    values |= {_TEXTS[key]: text for key, text in given.items() if key in _TEXTS}
    for needed in ("source", "things"):
        if needed not in values:
            key = next(key for key, field in _TEXTS.items() if field == needed)
            raise ValueError(f"the header has no line `-- {key}: …`, which every rule needs")
    values |= {field.replace(" ", "_"): True for field in _flags(given.get("kind", ""))}
    values |= _lists(given)
    return Rule(
        given.get("id", path.stem),
        title=title,
        statement=statement,
        examine=query,
        **values,
    )


def written(rule: Rule) -> str:
    """The text of a file that makes this rule; of one with a file already, that file's text."""
    if isinstance(rule.examine, SqlFile):
        return rule.examine.path.read_text(encoding="utf-8")
    plain = {field.name: field.default for field in fields(Rule)}
    given = {
        key: str(getattr(rule, name))
        for key, name in _TEXTS.items()
        if getattr(rule, name) not in ("", plain[name])
    }
    given |= {
        "needs": ", ".join(_word(each.name) for each in rule.needs),
        "clients": "" if rule.clients == CLIENTS else ", ".join(rule.clients),
        "protocols": "" if rule.protocols == PROTOCOLS else ", ".join(rule.protocols),
        "delayed by": ", ".join(rule.delayed_by),
        "contradicted": "; ".join(
            " ".join(filter(None, ("static" * each.static, each.client, each.protocol))) or "all"
            for each in rule.contradicted
        ),
        "kind": ", ".join(_word(each) for each in _FLAGS if getattr(rule, each)),
    }
    lines = [rule.title, *_wrapped(rule.statement)]
    for key, text in given.items():
        lines += _wrapped(f"{key}: {text}", indent="  ") if text else []
    query = dedent(text_of(rule.examine)).strip()
    if notes := getattr(rule.examine, "__doc__", None):
        lines += ["", *cleandoc(notes).splitlines()]
    return "\n".join([*(f"-- {line}".rstrip() for line in lines), "", query, ""])


def _wrapped(text: str, indent: str = "") -> list[str]:
    return wrap(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _word(name: str) -> str:
    return name.lower().replace("_", " ")


def _header(header: str) -> tuple[str, str, dict[str, str]]:
    """Title, statement, and what is given by key."""
    title, *lines = header.split("\n\n")[0].split("\n")
    first = next((n for n, line in enumerate(lines) if _KEY.match(line)), len(lines))
    statement = " ".join(line.strip() for line in lines[:first])
    if not title.strip() or not statement:
        raise ValueError("the header needs a title in its first line, and below it the statement")
    joined = "\n".join(lines[first:]).replace("\n  ", " ")
    given: dict[str, str] = {}
    for part in joined.replace("\n", " | ").split(" | "):
        found = _KEY.fullmatch(part.strip(" |"))
        if found is None:
            raise ValueError(
                f"the header has {part.strip()!r}, which begins with no key: "
                f"there are {', '.join(sorted(_KEYS))}"
            )
        given[found[1]] = " ".join(found[2].split())
    return title.strip(), statement, given


def _flags(text: str) -> list[str]:
    return [_one_of({_word(each): each for each in _FLAGS}, each, "kind") for each in _parts(text)]


def _lists(given: Mapping[str, str]) -> dict[str, Any]:
    """What has several values, of those that are given."""
    found: dict[str, Any] = {}
    if "needs" in given:
        needs = {_word(each.name): each for each in Need}
        found["needs"] = tuple(_one_of(needs, each, "needs") for each in _parts(given["needs"]))
    if "delayed by" in given:
        parties = {each.value: each for each in Party}
        found["delayed_by"] = tuple(
            _one_of(parties, each, "delayed by") for each in _parts(given["delayed by"])
        )
    if "clients" in given:
        clients = {each: each for each in (*CLIENTS, "app")}
        found["clients"] = tuple(
            _one_of(clients, each, "clients") for each in _parts(given["clients"])
        )
    if "protocols" in given:
        protocols = {**{each: (each,) for each in PROTOCOLS}, "classic": CLASSIC}
        found["protocols"] = tuple(
            protocol
            for each in _parts(given["protocols"])
            for protocol in _one_of(protocols, each, "protocols")
        )
    if "contradicted" in given:
        found["contradicted"] = tuple(map(_groups, given["contradicted"].split(";")))
    return found


def _groups(text: str) -> Groups:
    """Groups by the words for them, such as "static librdkafka"; "all" are all."""
    found = Groups()
    for word in text.split():
        if word in CLIENTS:
            found = Groups(word, found.protocol, found.static)
        elif word in PROTOCOLS:
            found = Groups(found.client, word, found.static)
        elif word == "static":
            found = Groups(found.client, found.protocol, static=True)
        elif word != "all":
            raise ValueError(f"`contradicted` has {word!r}, which names no groups")
    return found


def _parts(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _one_of(known: Mapping[str, Word], word: str, key: str) -> Word:
    if word not in known:
        raise ValueError(f"`{key}` has {word!r}: there are {', '.join(known)}")
    return known[word]
