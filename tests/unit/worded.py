"""Cases as text: a message, and in the line below what is read of it.

`=> event | column: value | …`. A line with four blanks in front goes on with the one before, and
one with # says something of the next. Columns of `NUMBERS` are numbers.
"""

from __future__ import annotations

import re
from typing import Any

NUMBERS = ("generation", "members", "broker")


def cases(text: str, **named: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Each message with its event and columns; <name> stands for what is named so."""
    for name, value in named.items():
        text = text.replace(f"<{name}>", value)
    lines = re.sub(r"\n {4}", " ", text).strip().splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    return [
        (message, *read_of(said.removeprefix("=> ")))
        for message, said in zip(lines[::2], lines[1::2], strict=True)
    ]


def read_of(said: str) -> tuple[str, dict[str, Any]]:
    event, *columns = said.split(" | ")
    parted = (column.partition(": ") for column in columns)
    return event, {name: _value(name, value) for name, _, value in parted}


def _value(name: str, value: str) -> str | int | None:
    if value == "None":
        return None
    return int(value) if name in NUMBERS else value
