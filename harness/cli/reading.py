"""How the text of an option is read, each type with the sentence for a text that is none.

What raises argparse's error is a sentence without its subject, the option.
"""

import argparse
import re
import shlex
from collections.abc import Callable
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from harness.base.errors import BadInput
from harness.base.ports import LAST_PORT
from harness.experiment.enums import protocol_named

MOST_JOBS: Final = 64  # each has three brokers and a group


def port(text: str) -> int:
    """A number of a port; raises argparse's error for another."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: choose one from 1 to {LAST_PORT}, with free ports after it"
        )
    return number


def release(version: str) -> str:
    """A version of Kafka. Raises BadInput for one that cannot be had."""
    from harness.provision.kafka import check_offered

    check_offered(version)
    return version


def whole(text: str) -> int:
    """A whole number; raises argparse's error for another text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes a whole number, such as 3, not {text!r}") from None


def number(text: str) -> float:
    """A number; raises argparse's error for another text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes a number, such as 2.5, not {text!r}") from None


def span(text: str) -> float:
    """Seconds of a time with its unit, as of `duration`: 10 alone is taken for minutes by many."""
    if text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} has no unit: write {text}s, {text}m or {text}h")
    return duration(text)


def duration(text: str) -> float:
    """Seconds of a time like 90s, 30m or 1h; raises argparse's error for another."""
    from harness.run.by_hand.breakable import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def jobs(text: str) -> int:
    """A number of runs at one time; raises argparse's error for another."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text!r} runs cannot be measured at one time: choose from 1 to {MOST_JOBS}"
        )
    return int(text)


def zone(text: str) -> tzinfo:
    """A time zone by its name or its offset; raises argparse's error for another."""
    if match := re.fullmatch(r"([+-])(\d\d):?(\d\d)", text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < timedelta(hours=24):
            return timezone(offset if match[1] == "+" else -offset)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a known time zone: write Europe/Berlin or +02:00"
        ) from None


def place(named: str) -> Path | str:
    """A folder of this machine, or the address of one in another store."""
    return named if "://" in named else Path(named)


def words_of(option: str, command: str) -> tuple[str, ...] | None:
    try:
        return tuple(shlex.split(command)) or None
    except ValueError as error:
        raise BadInput(
            f"{option} {command!r} is not a command ({error}): correct its quotes"
        ) from None


def pair_of(option: str, form: str, item: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals:
        raise BadInput(f"{option} {item!r} is not of the form {form}")
    return name, value


TYPES: Final[dict[str, Callable[[str], Any]]] = {
    each.__name__: each for each in (place, release, port, jobs, zone, span)
} | {"int": whole, "float": number, "path": Path, "time": duration, "protocol": protocol_named}
