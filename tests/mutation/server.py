"""A process with a warm Spark session that runs the tests which a changed rule concerns.

`python -m tests.mutation.server SOCKET`, in the copy of the repository whose rules are changed.
Each connection is one question: do the tests pass as the sources are now? It answers with a line,
"passed" or "failed", and what pytest said.
"""

from __future__ import annotations

import io
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import pytest

from harness.tables import session
from tests.conftest import java_and_aot
from tests.mutation.selection import Selection

LIMIT_S: Final = 180  # for the tests of one change; a longer plan is one that has run wild
_KEPT: Final = {"harness.tables", "harness.tables.session", "tests.mutation"}


class _OutOfTime(BaseException):
    """Not caught by a test or a rule that goes on after any failure."""


class Server:
    """Answers one question at a time."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self._selection = Selection(root)
        java, aot = java_and_aot()
        warm = session.start(java, aot, scratch / "spark.log")
        # The tests start and end the session of a run of tests: here it is one for all.
        session.start = lambda *_args, **_more: warm
        session.stop = lambda spark: None
        self._scratch = scratch

    def answer(self) -> str:
        """Whether the tests notice; "failed" is a change that is seen."""
        changed = self._selection.changed()
        if not changed:
            return "passed\nnothing has been changed"
        try:
            reached = self._selection.reached(changed)
        except SyntaxError as error:
            return f"failed\n{error}"
        tests = self._selection.tests(reached)
        if not reached or not tests:
            return f"passed\nno test is about {', '.join(sorted(reached)) or 'what was changed'}"
        said = io.StringIO()
        try:
            with _time_limit(), redirect_stdout(said), redirect_stderr(said):
                code = self._run(tests, reached)
        except _OutOfTime:
            code = "out of time"
        verdict = "passed" if code in (0, 5) else "failed"
        return f"{verdict}\n{', '.join(sorted(reached))}: {code}\n{said.getvalue()[-4_000:]}"

    def _run(self, tests: dict[Path, set[str]], rules: set[str]) -> int | str:
        _forget()
        options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
        options += ["--snapshot-warn-unused"]  # of the tests that cannot notice
        # A plugin that an earlier run of tests in this process has imported is there already.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options += [f"--basetemp={self._scratch / 'pytest'}"]
        chosen = _Chosen(tests, rules, set(self._selection.rules))
        return int(pytest.main([*options, *map(str, tests)], plugins=[chosen]))


class _Chosen:
    """Leaves out the tests that cannot notice."""

    def __init__(self, tests: dict[Path, set[str]], rules: set[str], every: set[str]) -> None:
        self._tests = tests
        self._rules = rules
        self._every = every

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Those chosen; of tests that go through all rules, these rules."""
        items[:] = [item for item in items if self._concerns(item)]

    def _concerns(self, item: Any) -> bool:
        if item.originalname not in self._tests.get(item.path, ()):
            return False
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        named = set(map(str, given)) & self._every
        return not named or bool(named & self._rules)


@contextmanager
def _time_limit() -> Iterator[None]:
    def end(_number: int, _frame: object) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _forget() -> None:
    """Have rules, checks and tests imported anew."""
    for name in list(sys.modules):
        ours = name.startswith(("harness.", "tests.", "test_", "conftest"))
        if ours and name not in _KEPT and not name.startswith("tests.mutation."):
            del sys.modules[name]
            # `from package import module` takes what the package still has of that name.
            package, _, child = name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(child, None)


def main(path: str) -> None:
    """Serve until the process is ended."""
    server = Server(Path.cwd(), Path(path).parent)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(server.answer().encode())


if __name__ == "__main__":
    main(sys.argv[1])
