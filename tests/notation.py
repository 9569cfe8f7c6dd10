"""Hand-written histories as text: steps, `;` between them, each a name and its arguments.

    java; event member-1 heartbeat_failed 10_000; event member-1 revoked 10_500 [0,1]
    group protocol=cooperative; sync member-1 5 assigned=t[0,1]; change requests -1 error_code=27

A step is a function that makes a history (`java`, and the kinds of KINDS), a method of it, a
function whose first argument it is, or one of its fields: a number is set, a table is updated.
A value is a number, a word, a text in single or double (as in JSON) quotes, `-` for null, True,
False, a moment (`@10_000`: milliseconds after the start), a list (`[0,1]`), a table
(`{epoch:1}`), partitions of a topic (`t[0,1]`), a member id (`member-1#2`: of its second life), or
a character many times (`m×4096`). `60× tick 0+500` is a step that comes sixty times, with a number
that grows by 500 each time.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests import consumer_histories, histories, probe_histories
from tests.histories import History, at, member_id

KINDS: Final[dict[str, Callable[[], History]]] = {
    "group-of-kip848": consumer_histories.Group,
    "static-group-of-kip848": consumer_histories.StaticGroup,
    "probes": probe_histories.Probed,
    "probes-of-kip848": probe_histories.Asked,
}
_QUOTED: Final = r"""'[^']*'|"(?:[^"\\]|\\.)*\""""
_NUMBER: Final = re.compile(r"-?\d[\d_]*(\.\d+)?(e[-+]?\d+)?")
_PARTITIONS: Final = re.compile(r"([\w-]+)\[(.*)\]")
_MEMBER_ID: Final = re.compile(r"([\w.-]+)#(\d+)")
_REPEATED: Final = re.compile(r"(.)×(\d+)")
_TIMES: Final = re.compile(r"(\d+)× (.+)", re.DOTALL)
_GROWING: Final = re.compile(r"(?<=[ =@])(-?[\d_.]+)\+(-?[\d_.]+)(?= |$)")
_NAMED: Final = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
_WORDS: Final = {"-": None, "True": True, "False": False}


def history_of(text: str, known: Mapping[str, str] | None = None) -> History:
    """The history that these steps make; `known` are steps that a name stands for.

    Raises ValueError with the step for one that is unknown or whose arguments do not fit.
    """
    history: History | None = None
    for step in _steps(text, known or {}):
        try:
            history = _after(history, step)
        except (TypeError, KeyError, IndexError, ValueError) as error:
            raise ValueError(f"step `{step}`: {error}") from error
    return History() if history is None else history


def _steps(text: str, known: Mapping[str, str]) -> Iterator[str]:
    for part in _split(text, ";"):
        step = part.strip()
        if step in known:
            yield from _steps(known[step], known)
        elif found := _TIMES.fullmatch(step):
            yield from (_repeated(found[2], number) for number in range(int(found[1])))
        elif step not in ("", "-"):
            yield step


def _repeated(step: str, number: int) -> str:
    def now(found: re.Match[str]) -> str:
        return repr(value(found[1]) + number * value(found[2]))

    return _GROWING.sub(now, step)


def _after(history: History | None, step: str) -> History:
    name, *words = re.findall(rf"(?:{_QUOTED}|[^\s'\"])+", step)
    given = [value(word) for word in words if not _NAMED.fullmatch(word)]
    named = {found[1]: value(found[2]) for word in words if (found := _NAMED.fullmatch(word))}
    if history is None:
        if name in KINDS:
            return KINDS[name]()
        if makes := _function(name, of_a_history=False):
            made: History = makes(*given, **named)
            return made
        history = History()
    if name in vars(history):
        _set(history, name, given, named)
    elif callable(method := getattr(history, name, None)) and not name.startswith("_"):
        method(*given, **named)
    elif changes := _function(name, of_a_history=True):
        changes(history, *given, **named)
    else:
        raise ValueError("there is no such step")
    return history


def _set(history: History, name: str, given: list[Any], named: dict[str, Any]) -> None:
    before = getattr(history, name)
    if isinstance(before, dict):
        before.update(named)
    else:
        (now,) = given
        setattr(history, name, now)


def _function(name: str, *, of_a_history: bool) -> Callable[..., Any] | None:
    for module in (histories, consumer_histories, probe_histories):
        found = vars(module).get(name)
        if inspect.isfunction(found) and not name.startswith("_"):
            first = next(iter(inspect.signature(found).parameters), "")
            return found if (first == "history") == of_a_history else None
    return None


def value(text: str) -> Any:
    """What a word stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if re.search("[.e]", text) else int(text)
    match text[0], text[-1]:
        case "'", "'":
            return text[1:-1]
        case '"', '"':
            return json.loads(text)
        case "@", _:
            return at(float(text[1:]))
        case "[", "]":
            return [value(each) for each in _split(text[1:-1], ",")]
        case "{", "}":
            pairs = (_split(each, ":", most=1) for each in _split(text[1:-1], ","))
            return {_name(name): value(each) for name, each in pairs}
    if found := _PARTITIONS.fullmatch(text):
        numbers = [value(each) for each in _split(found[2], ",")]
        return [{"topic": found[1], "partition": number} for number in numbers]
    if found := _MEMBER_ID.fullmatch(text):
        return member_id(found[1], int(found[2]))
    if found := _REPEATED.fullmatch(text):
        return found[1] * int(found[2])
    return text


def _name(text: str) -> str:
    return str(value(text)) if text[0] in "'\"" else text


def _split(text: str, by: str, most: int = -1) -> list[str]:
    """The parts of a text between these characters, outside quotes and brackets."""
    parts = [""]
    depth = 0
    for token in re.findall(rf"{_QUOTED}|.", text, re.DOTALL):
        depth += (token in "[{") - (token in "]}")
        if token == by and depth == 0 and most:
            parts.append("")
            most -= 1
        else:
            parts[-1] += token
    return parts if parts != [""] else []
