"""`make watch RULE=R01`: judges an edit by the tests that it concerns, within seconds.

One process keeps the libraries and what queries have given, and runs the chosen tests again
whenever a file of the rules, the tables or the tests changes. Only the queries that an edit has
changed, and those that read what they give, are computed again. What is edited elsewhere (the
engines, this file) needs a new start.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from harness.provision.cache import REPOSITORY
from harness.rules.rule_names import NAMES, id_of
from tests import remembering
from tests.cases import SUFFIX
from tests.mutation.selection import Selection

_FOLDERS: Final = ("harness/check", "harness/rules", "harness/tables", "tests")
_KINDS: Final = (".py", ".sql", ".ambr", SUFFIX)
_LOOK_S: Final = 0.2
_FRESH: Final = ("harness.", "tests.", "experiments.", "test_", "conftest")
_KEPT: Final = ("harness.tables.engines", "tests.mutation", "tests.remembering", "tests.watch")
_OPTIONS: Final = (
    *("-q", "--no-header", "--tb=short", "--snapshot-warn-unused"),
    # What an earlier run of tests in this process has imported is there already.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


def main(arguments: Sequence[str]) -> int:
    """Run until Ctrl-C; 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.watch", description=__doc__)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--rule", metavar="NAME", help="the tests of this rule: a name or an id")
    chosen.add_argument("--file", type=Path, help="the tests of this file")
    given = parser.parse_args(arguments)
    if given.rule and id_of(given.rule) not in NAMES:
        parser.error(f"there is no rule {given.rule}; see `make list`")
    if given.file and not given.file.is_file():
        parser.error(f"there is no file {given.file}")
    engine = remembering.Remembering(REPOSITORY / ".pytest_cache" / "d" / "sql")
    engine.most = None
    remembering.Remembering = lambda _folder=None: engine  # type: ignore[assignment,misc]
    engine.close = lambda: None  # type: ignore[method-assign]  # one for all runs of the tests
    try:
        for _ in _changes():
            _run(given.rule and id_of(given.rule), given.file)
    except KeyboardInterrupt:
        return 0
    return 0


def _run(rule: str | None, file: Path | None) -> None:
    began = time.monotonic()
    _forget()
    plugins: list[Any] = []
    paths = [str(file)]
    if rule is not None:
        plugins = [_Chosen(rule)]
        try:
            paths = [str(path) for path in Selection(REPOSITORY).tests([rule])]
        except SyntaxError as error:
            print(f"{error.filename}:{error.lineno}: {error.msg}", flush=True)
            return
        except ValueError as error:
            print(error, flush=True)
            return
    pytest.main([*_OPTIONS, *paths], plugins=plugins)
    print(f"{time.monotonic() - began:.1f} s; waiting for a change", flush=True)


class _Chosen:
    """Leaves out the cases of other rules."""

    def __init__(self, rule: str) -> None:
        self._rule = rule

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Those of this rule."""
        items[:] = [item for item in items if getattr(item, "rule", None) == self._rule]


def _changes() -> Iterator[None]:
    """Once now, and whenever a watched file is another than it was."""
    before: dict[Path, int] = {}
    while True:
        now = {
            path: path.stat().st_mtime_ns
            for folder in _FOLDERS
            for path in (REPOSITORY / folder).rglob("*")
            if path.suffix in _KINDS
        }
        if now != before:
            before = now
            yield
        time.sleep(_LOOK_S)


def _forget() -> None:
    """Have rules, tables, checks and tests imported anew."""
    for name in list(sys.modules):
        if name.startswith(_FRESH) and not name.startswith(_KEPT):
            del sys.modules[name]
            # `from package import module` takes what the package still has of that name.
            package, _, child = name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(child, None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
