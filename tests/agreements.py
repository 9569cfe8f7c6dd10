"""By which queries DuckDB and Spark have been seen to agree, so that it need not be shown again.

What may differ between the engines is the translation of a query, and not whether 1,999 or 2,000 ms
are too long. So one judgement by both engines is enough of each test and query, with the first of
the test's parameters. A digest of the test's name, the query, the code that runs it and the
versions of both engines stands in `agreed.txt` once both have agreed; what is not there is judged
by both. A file of cases has one digest. The judge is not in it: it makes the same of the same rows,
from either engine, in any order (tests/check/test_rows.py). Nor are comments and the white space of
queries. `make agreed` writes the record.

A 96th of the tests is judged by both each day, in case that a digest lacks something: what it could
lack (Java, the machine, a module that is not named here) is shared by many.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from harness.base.paths import ROOT
from harness.rules import RULES
from harness.tables.engines.base import tables_in
from harness.tables.recipes import RECIPES, VIEWS, recipes_of
from harness.tables.vocabulary import ERRORS, Query, expand, text_of

AGREED: Final = Path(__file__).parent / "agreed.txt"
# The tests that ask.
JUDGED: Final = ("tests/rules", "tests/tables", "tests/check", "tests/recorded")
DAYS: Final = 96
# What stands between a query and its rows, besides the query.
_CODE: Final = (
    "harness/history/column_types.py",
    "harness/history/schema.py",
    "harness/tables/base.py",
    "harness/tables/engines",
)
_ENGINES: Final = ("pyspark", "duckdb", "sqlglot", "pyarrow")
# A text in a query; or what stands between two of its words, around a bracket or comma or not.
_SPACE: Final = r"(?:\s|--[^\n]*+)*+"
_TEXT_OR_SPACE: Final = re.compile(
    rf"('(?:[^'\\]|\\.|'')*')|{_SPACE}([(),]){_SPACE}|(?:\s|--[^\n]*+)++"
)


# What asks a query of many runs at once, as of the cases of a file.
LIFTED: Final = hashlib.sha256(
    b"".join((ROOT / "harness/tables" / name).read_bytes() for name in ("lift.py", "many_runs.py"))
).hexdigest()

Queries = frozenset[str]  # digests of queries and of what runs them


class Agreements:
    """Those that are on record, and what the tests have asked of them.

    `asked` has every test and query that came, and `agreed` those by which both engines judged
    alike in this run of the tests.
    """

    def __init__(self, known: Iterable[str], today: int) -> None:
        self._known = frozenset(known)
        self._today = today % DAYS
        self._begun: set[str] = set()
        self.asked: set[str] = set()
        self.agreed: set[str] = set()

    def due(self, queries: Queries, test: str) -> frozenset[str]:
        """What both engines have to judge now; nothing where they need not."""
        pairs = frozenset(_sum([test, query]) for query in queries)
        self.asked |= pairs
        turn = int(_sum([test]), 16) % DAYS == self._today
        found = pairs - self._begun - (frozenset() if turn else self._known)
        self._begun |= found
        return found

    def agree(self, pairs: Iterable[str]) -> None:
        """Both engines were seen to agree."""
        self.agreed.update(pairs)

    def worth_keeping(self, *, all_asked: bool) -> list[str]:
        """What `agreed.txt` should hold after these tests.

        What no test asks for any more is left out, but only if all tests have asked.
        """
        found = self._known | self.agreed
        return sorted(found & self.asked if all_asked else found)


def on_record() -> Agreements:
    """Those in `agreed.txt`, on the day that it is."""
    lines = AGREED.read_text(encoding="utf-8").split() if AGREED.exists() else []
    return Agreements(lines, datetime.now(UTC).toordinal())


def keep(digests: Iterable[str]) -> None:
    """Write `agreed.txt`."""
    AGREED.write_text("".join(f"{each}\n" for each in sorted(set(digests))), encoding="utf-8")


def queries_of_rules(
    rules: Iterable[str], client: str, comparing: Callable[..., object]
) -> Queries:
    """What judges these rules, compared by this function."""
    queries = [RECIPES["late_ticks"], *(RULES[rule].examine for rule in sorted(rules))]
    return _queries(queries, client, comparing)


def queries_of_tables(
    tables: Iterable[str], client: str, comparing: Callable[..., object]
) -> Queries:
    """What derives these tables, compared by this function. Files of the history need no query."""
    recipes = {**VIEWS, **recipes_of(client)}
    queries = [recipes[each] for each in sorted(tables) if each in recipes]
    return _queries(queries, client, comparing)


def as_one(queries: Queries) -> Queries:
    """One digest of all of these, for tests whose judgements agree together."""
    return frozenset([_sum(sorted(queries))])


def _queries(queries: Iterable[Query], client: str, comparing: Callable[..., object]) -> Queries:
    how = [_code(), inspect.getsource(comparing)]
    return frozenset(_sum([*how, *texts(query, client)]) for query in queries)


def _sum(parts: Iterable[object]) -> str:
    """Of each as a digest of its own, of equal length, so that none runs into the next."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        found.update(hashlib.sha256(data).digest())
    return found.hexdigest()[:16]


@cache
def _code() -> str:
    """The code between queries and rows, and what runs it."""
    found = hashlib.sha256()
    for name in _CODE:
        path = ROOT / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            found.update(file.read_bytes())
    found.update(" ".join(f"{each} {version(each)}" for each in _ENGINES).encode())
    found.update(repr(sorted(ERRORS.items())).encode())
    return found.hexdigest()


@cache
def texts(query: Query, client: str) -> tuple[str, ...]:
    """The text of a query, and of every table that it is made from."""
    return tuple(_closure(query, {**VIEWS, **recipes_of(client)}, set()))


def as_engines_see(query: str) -> str:
    """The query with a space, or none beside brackets, for all space and comments outside texts."""
    return _TEXT_OR_SPACE.sub(lambda found: found[1] or found[2] or " ", query).strip()


def _closure(query: Query, recipes: dict[str, Query], seen: set[str]) -> Iterator[str]:
    text = expand(text_of(query))
    yield as_engines_see(text)
    for table in tables_in(text):
        if table in recipes and table not in seen:
            seen.add(table)
            yield table
            yield from _closure(recipes[table], recipes, seen)
