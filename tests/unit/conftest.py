"""What the tests of commands that play suites share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.base.errors import Exit
from harness.catalogue.cover import Candidate
from harness.history.suites import State, Suite
from harness.suite import director

Begun = list[tuple[Suite, Sequence[Candidate]]]


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
