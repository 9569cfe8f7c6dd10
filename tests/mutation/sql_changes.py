"""Small changes to a SQL text, one at a time: what a slip of the pen would leave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Names end where they do, so that `order` in a text is no keyword; texts, comments and quoted names
# are one token each, and nothing within them is changed.
_TOKEN: Final = re.compile(
    r"""--[^\n]*|'(?:[^'\\]|\\.)*'|`[^`]*`|\{\{?\w+\}?\}|:\w+|<=>|<=|>=|<>|!=|->|\|\|
        |\d+(?:\.\d+)?(?:[eE]\d+)?|\w+|[^\s\w]""",
    re.VERBOSE,
)
# The other side of the bound, and the other direction.
_COMPARED: Final = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "=": ("<>",),
    "<>": ("=",),
    "<=>": ("<>",),
}
_PAIRS: Final = (
    ("min", "max"),
    ("min_by", "max_by"),
    ("bool_and", "bool_or"),
    ("lag", "lead"),
    ("first_value", "last_value"),
    ("greatest", "least"),
)
_OTHER: Final = dict(_PAIRS) | {b: a for a, b in _PAIRS}
# Told to people and judged by nobody: whatever changes there is no change of a verdict.
_TOLD: Final = {"WHY", "EVIDENCE", "SUBJECT", "NOTE"}


@dataclass(frozen=True)
class Change:
    """`text[start:end]` becomes `to`."""

    kind: str
    start: int
    end: int
    to: str


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """As a keyword; names with small letters are compared as they are."""
        return self.text.upper()


def changes(text: str) -> list[Change]:
    """Every small change to `text`, in its order."""
    tokens = [_Token(found[0], found.start(), found.end()) for found in _TOKEN.finditer(text)]
    told = _told(tokens)
    return [
        change
        for number in range(len(tokens))
        if number not in told
        for change in _changes_at(tokens, number)
    ]


def _changes_at(tokens: list[_Token], number: int) -> Iterator[Change]:
    token = tokens[number]
    before = tokens[number - 1].word if number else ""
    after = tokens[number + 1].word if number + 1 < len(tokens) else ""

    def to(kind: str, new: str) -> Change:
        return Change(kind, token.start, token.end, new)

    for new in _COMPARED.get(token.text, ()):
        yield to("compare", new)
    match token.word:
        case "AND" if not _of_between(tokens, number):
            yield to("logic", "OR")
        case "OR":
            yield to("logic", "AND")
        case "NOT" if before == "IS":
            yield to("null", "")
        case "NOT":
            yield to("negate", "")
        case "NULL" if before == "IS":
            yield to("null", "NOT NULL")
        case "BETWEEN" | "IN" | "EXISTS" | "LIKE" if before != "NOT" and after != "AS":
            yield to("negate", f"NOT {token.text}")
        case "LEFT" if after == "JOIN":
            yield to("join", "")
        case "JOIN" if before not in {"LEFT", "ANTI", "SEMI", "CROSS", "FULL"}:
            yield to("join", "LEFT JOIN")
        case "ANTI":
            yield to("join", "SEMI")
        case "SEMI":
            yield to("join", "ANTI")
        case "+" | "-" if re.fullmatch(r"[\w):}`]+", before) and before not in _NO_OPERAND:
            yield to("arithmetic", "-" if token.text == "+" else "+")
        case "TRUE":
            yield to("constant", "false")
        case "FALSE":
            yield to("constant", "true")
        case "DESC":
            yield to("order", "")
        case "BY" if before == "ORDER":
            yield from _other_order(tokens, number)
        case _:
            if token.text in _OTHER and after == "(":
                yield to("aggregate", _OTHER[token.text])
            elif token.text.isdigit() and not _stands_for_nothing(tokens, number):
                yield to("number", str(int(token.text) + 1))


def _stands_for_nothing(tokens: list[_Token], number: int) -> bool:
    """Whether a number only has to be there: all rows are one partition, or it is EXISTS that asks.

    Spark warns of a window without partitions.
    """
    before = [token.word for token in tokens[max(number - 3, 0) : number]]
    return before[-2:] == ["PARTITION", "BY"] or before == ["EXISTS", "(", "SELECT"]


_NO_OPERAND: Final = {"(", ":", "SELECT", "THEN", "ELSE", "WHEN", "AND", "OR", "BETWEEN", "CASE"}


def _of_between(tokens: list[_Token], number: int) -> bool:
    """Whether this AND belongs to a BETWEEN: the next one before it, at its depth, is open."""
    depth = 0
    for token in reversed(tokens[:number]):
        depth += {")": 1, "(": -1, "END": 1, "CASE": -1}.get(token.word, 0)
        if depth < 0 or (depth == 0 and token.word in {"AND", "OR", "WHERE", "ON", "WHEN"}):
            return False
        if depth == 0 and token.word == "BETWEEN":
            return True
    return False


def _other_order(tokens: list[_Token], number: int) -> Iterator[Change]:
    """The first thing sorted by, the other way round; where it says DESC, that is changed."""
    depth = 0
    last = tokens[number]
    for token in tokens[number + 1 :]:
        ends = depth == 0 and token.word in {",", ")", "ROWS", "RANGE", "LIMIT", "DESC", "ASC"}
        if ends:
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        last = token
    else:
        token = last
    if token.word not in {"DESC", "ASC"}:
        yield Change("order", last.start, last.end, f"{last.text} DESC")


def _told(tokens: list[_Token]) -> set[int]:
    """Numbers of the tokens of columns that are only told to people."""
    found: set[int] = set()
    for number, token in enumerate(tokens[:-1]):
        if token.word != "AS" or tokens[number + 1].word not in _TOLD:
            continue
        depth = 0
        for at in range(number - 1, -1, -1):
            word = tokens[at].word
            if depth == 0 and word in {",", "SELECT", "("}:
                break
            depth += {")": 1, "(": -1}.get(word, 0)
            found.add(at)
    return found
