"""What DuckDB and Spark have been seen to agree on, so that it need not be shown again each time.

What an engine makes of a history follows from the queries, the rows, the settings, the code that
runs them and the versions of both engines, and from nothing else. A digest of all of these stands
in `agreed.txt` once both have agreed. What is not there is judged by both engines. The judge is not
in it: it makes the same of the same rows, whoever gave them, and in whichever order
(tests/check/test_rows.py). Nor are comments and the white space of queries, which no engine sees.

So is another part of the rest each day, in case that a digest should lack something after all. What
it has is all that tells one judgement from another; what it could lack (Java, the machine, a module
that is not named here) is shared by many, and shows in any hundred of them. So a 32nd is enough for
a day, and each has its turn within five weeks.

Where a query has changed, a test of it asks for one judgement by both engines, with the first of
its parameters: what may differ is the translation of the query, and not whether 1,999 or 2,000 ms
are too long. `make agreed` asks for all.
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
from typing import Any, Final

from harness.base.paths import ROOT
from harness.rules import RULES
from harness.tables.engines.base import tables_in
from harness.tables.machine import late_ticks
from harness.tables.recipes import recipes_of
from harness.tables.views import VIEWS
from harness.tables.vocabulary import ERRORS, Query, expand, text_of

AGREED: Final = Path(__file__).parent / "agreed.txt"
# The tests that ask.
JUDGED: Final = ("tests/rules", "tests/tables", "tests/check", "tests/recorded")
DAYS: Final = 32
# What stands between a query and its rows, besides the query.
_CODE: Final = (
    "harness/history/column_types.py",
    "harness/history/schema.py",
    "harness/tables/base.py",
    "harness/tables/engines",
)
_ENGINES: Final = ("pyspark", "duckdb", "sqlglot", "pyarrow")
# A text in a query; or what stands between two of its words.
_TEXT_OR_SPACE: Final = re.compile(r"('(?:[^'\\]|\\.|'')*')|(?:\s|--[^\n]*)+")


class Digest(str):
    """The digest of a judgement; `queries` is that of its queries alone, whatever the rows."""

    queries: str = ""


class Agreements:
    """Those that are on record, and what the tests have asked of them.

    `asked` has every digest that a test came upon, and `agreed` those that both engines judged
    alike in this run of the tests. With `every` each is judged that is not on record, and
    otherwise one of each test and its queries.
    """

    def __init__(self, known: Iterable[str], today: int, *, every: bool = True) -> None:
        self._known = frozenset(known)
        self._today = today % DAYS
        self._every = every
        self._begun: set[tuple[str, str]] = set()
        self.asked: set[str] = set()
        self.agreed: set[str] = set()

    def settled(self, digest: Digest, test: str) -> bool:
        """Whether both engines need not judge this anew.

        They did and it is not its day, or they do by the same queries in this test, whatever its
        parameters.
        """
        self.asked.add(digest)
        if digest in self._known and int(digest, 16) % DAYS != self._today:
            return True
        begun = (test, digest.queries) in self._begun
        self._begun.add((test, digest.queries))
        return begun and not self._every

    def agree(self, digest: str) -> None:
        """Both engines were seen to agree."""
        self.agreed.add(digest)

    def worth_keeping(self, *, all_asked: bool) -> list[str]:
        """What `agreed.txt` should hold after these tests.

        What no test asks for any more is left out, but only if all tests have asked.
        """
        found = self._known | self.agreed
        return sorted(found & self.asked if all_asked else found)


def on_record(*, every: bool) -> Agreements:
    """Those in `agreed.txt`, on the day that it is."""
    lines = AGREED.read_text(encoding="utf-8").split() if AGREED.exists() else []
    return Agreements(lines, datetime.now(UTC).toordinal(), every=every)


def keep(digests: Iterable[str]) -> None:
    """Write `agreed.txt`."""
    AGREED.write_text("".join(f"{each}\n" for each in sorted(set(digests))), encoding="utf-8")


def digest_of(
    rules: Iterable[str], client: str, rows: Iterable[object], comparing: Callable[..., object]
) -> Digest:
    """The digest of judging these rules by these rows, compared by this function.

    `rows` are whatever else decides the verdict: the history, the manifest, or their bytes.
    """
    queries = [late_ticks, *(RULES[rule].examine for rule in sorted(rules))]
    return digest_of_queries(queries, client, rows, comparing)


def digest_of_tables(
    tables: Iterable[str], client: str, rows: Iterable[object], comparing: Callable[..., object]
) -> Digest:
    """The digest of deriving these tables from these rows, compared by this function.

    A table that is a file of the history is among the rows.
    """
    recipes = {**VIEWS, **recipes_of(client)}
    queries = [recipes[each] for each in sorted(tables) if each in recipes]
    return digest_of_queries(queries, client, rows, comparing)


def digest_of_queries(
    queries: Iterable[Query],
    client: str,
    rows: Iterable[object],
    comparing: Callable[..., object],
) -> Digest:
    """The digest of running these queries on these rows, compared by this function."""
    found = hashlib.sha256()
    asked = [text for query in queries for text in texts(query, client)]
    _take(found, [_code(), inspect.getsource(comparing), *asked])
    so_far = found.hexdigest()
    _take(found, rows)
    digest = Digest(found.hexdigest()[:16])
    digest.queries = so_far
    return digest


def _take(found: Any, parts: Iterable[object]) -> None:
    """Each as a digest of its own, of equal length, so that none runs into the next."""
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        found.update(hashlib.sha256(data).digest())


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
    """The query with a space for each stretch of white space and comments outside its texts."""
    return _TEXT_OR_SPACE.sub(lambda found: found[1] or " ", query).strip()


def _closure(query: Query, recipes: dict[str, Query], seen: set[str]) -> Iterator[str]:
    text = expand(text_of(query))
    yield as_engines_see(text)
    for table in tables_in(text):
        if table in recipes and table not in seen:
            seen.add(table)
            yield table
            yield from _closure(recipes[table], recipes, seen)
