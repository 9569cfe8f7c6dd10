"""Cases as text. A line with four blanks in front goes on with the one before.

`pairs` are lines of their own: what is given `=>` what is said of it. `cases` are two lines each: a
message, and below it what is read of it, `=> event | column: value | …`. A line with # says
something of the next. Columns of `NUMBERS` are numbers.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

NUMBERS = ("generation", "members", "broker")


def pairs(text: str) -> list[tuple[str, str]]:
    """What stands on both sides of the arrow in each line."""
    parted = (line.partition("=>") for line in _lines(text))
    return [(given.strip(), said.strip()) for given, _, said in parted]


def cases(text: str, **named: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Each message with its event and columns; <name> stands for what is named so."""
    for name, value in named.items():
        text = text.replace(f"<{name}>", value)
    lines = _lines(text)
    return [
        (message, *read_of(said.removeprefix("=> ")))
        for message, said in zip(lines[::2], lines[1::2], strict=True)
    ]


def _lines(text: str) -> list[str]:
    lines = re.sub(r"\n {4}", " ", dedent(text)).strip().splitlines()
    return [line for line in lines if not line.startswith("#")]


def read_of(said: str) -> tuple[str, dict[str, Any]]:
    event, *columns = said.split(" | ")
    parted = (column.partition(": ") for column in columns)
    return event, {name: _value(name, value) for name, _, value in parted}


def _value(name: str, value: str) -> str | int | None:
    if value == "None":
        return None
    return int(value) if name in NUMBERS else value
