"""What tests share: what a command says, and the suites that commands would play."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.base.errors import Exit
from harness.catalogue.cover import Candidate
from harness.cli.main import main
from harness.history.suites import State, Suite
from harness.suite import director

Begun = list[tuple[Suite, Sequence[Candidate]]]
Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Gives a command line, and has what it prints, or on standard error if it does not succeed.

    What is refused is one sentence.
    """

    def answer(line: str, code: Exit = Exit.AS_EXPECTED) -> str:
        assert code == main(shlex.split(line))
        printed, error = capsys.readouterr()
        if code in (Exit.BAD_ARGUMENTS, Exit.NO_DATA):
            assert ("", 1) == (printed, error.count("\n"))
        return error if code else printed

    return answer


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Begun:
    """Suites that would have been played; each is interrupted before its first run is over."""
    found: Begun = []

    def played(
        suite: Suite,
        runs: Sequence[Candidate],
        _results: Any,
        *,
        publish: director.Publish,
        **_: Any,
    ) -> Exit:
        found.append((suite, runs))
        suite.entries[0].state = State.INTERRUPTED
        suite.entries[0].reason = "it was interrupted before it was complete"
        suite.interrupted = True
        suite.save()
        publish(suite)
        return suite.exit_code

    monkeypatch.setattr(director, "play", played)
    return found
