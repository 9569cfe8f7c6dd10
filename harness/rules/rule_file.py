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
from dataclasses import fields, replace
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent, wrap
from typing import Any, Final

from harness.experiment import APP, CLASSIC, CLIENTS, PROTOCOLS
from harness.rules.rule import Groups, Need, Party, Rule
from harness.tables.sql_file import SqlFile, read
from harness.tables.vocabulary import text_of


def _word(name: str) -> str:
    return name.lower().replace("_", " ")


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
# What is a list, and the values that each of its words stands for.
_LISTS: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "needs": {_word(each.name): (each,) for each in Need},
    "clients": {each: (each,) for each in (*CLIENTS, APP)},
    "protocols": {**{each: (each,) for each in PROTOCOLS}, "classic": CLASSIC},
    "delayed by": {each.value: (each,) for each in Party},
    "kind": {_word(each.name): (each.name,) for each in fields(Rule) if each.default is False},
}
_KEYS: Final = (*_TEXTS, *_LISTS, "id", "was", "was not", "contradicted")
_WIDTH: Final = 97  # of a line of the header, without its dashes
_KEY: Final = re.compile(rf"({'|'.join(_KEYS)}): (.*)")


def rule_in(path: Path, pieces: Path | None = None) -> Rule:
    """The rule that a file describes; one of a project's own has its file's name for an id.

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
    lists = {key: _values_of(key, text) for key, text in given.items() if key in _LISTS}
    values |= dict.fromkeys(lists.pop("kind", ()), True)
    values |= {key.replace(" ", "_"): found for key, found in lists.items()}
    if "contradicted" in given:
        values["contradicted"] = tuple(map(_groups, given["contradicted"].split(";")))
    return Rule(
        given.get("id", path.stem), title=title, statement=statement, examine=query, **values
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
        "kind": ", ".join(
            word for word, (field,) in _LISTS["kind"].items() if getattr(rule, field)
        ),
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


def _values_of(key: str, text: str) -> tuple[Any, ...]:
    """What the words of a list stand for."""
    found: list[Any] = []
    for word in filter(None, map(str.strip, text.split(","))):
        if word not in _LISTS[key]:
            raise ValueError(f"`{key}` has {word!r}: there are {', '.join(_LISTS[key])}")
        found += _LISTS[key][word]
    return tuple(found)


def _groups(text: str) -> Groups:
    """Groups by the words for them, such as "static librdkafka"; "all" are all."""
    found = Groups()
    for word in text.split():
        if word in CLIENTS:
            found = replace(found, client=word)
        elif word in PROTOCOLS:
            found = replace(found, protocol=word)
        elif word == "static":
            found = replace(found, static=True)
        elif word != "all":
            raise ValueError(f"`contradicted` has {word!r}, which names no groups")
    return found
