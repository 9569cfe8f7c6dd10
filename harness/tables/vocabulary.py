"""The words that queries may use on top of Spark SQL; each is replaced before a query is run.

| word | meaning |
|---|---|
| `{requests}` | a table of the history, or a derived one |
| `:session_ms` | a setting of the run |
| `:UNKNOWN_MEMBER_ID` | Kafka's error code of that name |
| `:START_MS` | a number of that name (sql_file.py; of a function: a constant of its module) |
| `{REPLACEMENTS}` | a piece of SQL of that name, likewise |
| `{BEFORE}`, `{SO_FAR}` | the frame of a window: all rows before this one, without it or with it |
| `same(a, b, x, y)` | a and b have the same x and the same y |
| `in_time_of(a, m)` | moment m is not before a's `since_at`, and before its `until_at` |
| `ms_between(a, b)` | milliseconds from moment a to moment b, to the microsecond |
| `after(ms, a)` | the moment so many milliseconds after moment a; before it, if negative |
| `clause(a, b, …)` | one text of all, in which a null is "unknown": no clause is lost for a part |
| `guard_from(due, seen)` | where the guard of an event begins, by when it was due and seen |
| `guard_to(seen)` | where that guard ends |

A word is replaced by text, so a query costs an engine no more than one written out.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from harness.tables.sql_file import SqlFile

# Gives the text of a query, in the words above.
Query = Callable[[], str]

# Kafka's error codes (org.apache.kafka.common.protocol.Errors) that queries name.
ERRORS: Final[Mapping[str, int]] = {
    "NONE": 0,
    "OFFSET_OUT_OF_RANGE": 1,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "OFFSET_METADATA_TOO_LARGE": 12,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "NOT_ENOUGH_REPLICAS": 19,
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "INVALID_GROUP_ID": 24,
    "UNKNOWN_MEMBER_ID": 25,
    "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27,
    "INVALID_COMMIT_OFFSET_SIZE": 28,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "UNSUPPORTED_VERSION": 35,
    "INVALID_PARTITIONS": 37,
    "INVALID_REQUEST": 42,
    "INVALID_PRODUCER_EPOCH": 47,
    "NON_EMPTY_GROUP": 68,
    "GROUP_ID_NOT_FOUND": 69,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
    "MEMBER_ID_REQUIRED": 79,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "GROUP_SUBSCRIBED_TO_TOPIC": 86,
    "UNSTABLE_OFFSET_COMMIT": 88,
    "PRODUCER_FENCED": 90,
    "FENCED_MEMBER_EPOCH": 110,
    "UNRELEASED_INSTANCE_ID": 111,
    "UNSUPPORTED_ASSIGNOR": 112,
    "STALE_MEMBER_EPOCH": 113,
    "INVALID_REGULAR_EXPRESSION": 128,
}

# Pieces of SQL that every query may use.
_PIECES: Final[Mapping[str, str]] = {
    "BEFORE": "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "SO_FAR": "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
}


def _never_null(text: str) -> str:
    literal = text.startswith("'") and text.endswith("'")
    return text if literal else f"coalesce(CAST({text} AS STRING), 'unknown')"


def _clause(*parts: str) -> str:
    return f"concat({', '.join(map(_never_null, parts))})"


def _same(a: str, b: str, *columns: str) -> str:
    return " AND ".join(f"{a}.{each} = {b}.{each}" for each in columns)


_ANY: Final = -1
# What each word with arguments stands for, its arguments by number. How many they are, or any.
_MACROS: Final[Mapping[str, tuple[int, Callable[..., str]]]] = {
    # Numbers of microseconds: Spark's own functions for moments go by way of a calendar, which
    # took most of the time of judging a day.
    "ms_between": (2, "((unix_micros({1}) - unix_micros({0})) / 1e3)".format),
    "after": (
        2,
        "timestamp_micros(unix_micros({1}) + CAST(round(({0}) * 1e3) AS BIGINT))".format,
    ),
    # What came before it was due is guarded from when it came: a window cannot end before it
    # starts.
    "guard_from": (2, "least(after(-:guard_ms, {0}), {1})".format),
    "guard_to": (1, "after(:guard_ms, {0})".format),
    "clause": (_ANY, _clause),
    "same": (_ANY, _same),
    "in_time_of": (
        2,
        "(({0}.since_at IS NULL OR {1} >= {0}.since_at)"
        " AND ({0}.until_at IS NULL OR {1} < {0}.until_at))".format,
    ),
}
_WORD: Final = re.compile(rf"\b({'|'.join(_MACROS)})\(")
_BINDS_CLOSER: Final = re.compile(r"\b(NOT|OR)\s+$")
_CONSTANT: Final = re.compile(r"\{(?P<piece>[A-Z][A-Z_]*)\}|(?<![:\w]):(?P<number>[A-Z][A-Z_]*)\b")


def text_of(query: Query) -> str:
    """The text of a query, with the numbers and pieces that it names in their places.

    Raises ValueError for a piece of SQL that it does not have.
    """
    names = query.names if isinstance(query, SqlFile) else getattr(query, "__globals__", {})
    constants: Mapping[str, object] = {**_PIECES, **names}
    text = query()

    def value(found: re.Match[str]) -> str:
        name = found["piece"] or found["number"]
        if name in constants:
            return str(constants[name])
        if found["number"]:
            return found[0]  # an error code
        raise ValueError(f"a query names {{{name}}}, a piece of SQL that it does not have")

    while (filled := _CONSTANT.sub(value, text)) != text:
        text = filled
    return text


@lru_cache(maxsize=1_024)
def expand(query: str) -> str:
    """The query with every word that has arguments replaced.

    Raises ValueError for a word with too few or too many of them.
    """
    while found := _WORD.search(query):
        name = found[1]
        count, meaning = _MACROS[name]
        arguments, end = _arguments(query, found.end())
        if count not in (_ANY, len(arguments)):
            raise ValueError(f"{name} takes {count} arguments, and has {len(arguments)}")
        if name == "same" and _BINDS_CLOSER.search(query, 0, found.start()):
            raise ValueError("same(…) after NOT or OR needs parentheses: it is a chain of ANDs")
        query = query[: found.start()] + meaning(*arguments) + query[end:]
    return query


def _arguments(query: str, start: int) -> tuple[list[str], int]:
    """The arguments after an opening parenthesis, and where the text goes on after them.

    Raises ValueError where the parenthesis is not closed.
    """
    arguments, depth, begin, quoted = [], 0, start, ""
    for place in range(start, len(query)):
        letter = query[place]
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"`":
            quoted = letter
        elif letter == "(":
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        elif letter in ",)" and not depth:
            arguments.append(query[begin:place].strip())
            begin = place + 1
            if letter == ")":
                return arguments, place + 1
    raise ValueError(f"a parenthesis is not closed: {query[start - 20 : start + 40]!r}")
