"""The docker tests are left out, in one line, where no engine answers; never where they are due."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docker.engine import NEEDED, answers

_HERE = Path(__file__).parent
_LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ask for an engine once, and only if a test of this folder is to run."""
    ours = [item for item in items if item.path.is_relative_to(_HERE)]
    if ours and NEEDED not in os.environ and not answers(os.environ.get("DOCKER_HOST")):
        items[:] = [item for item in items if item not in ours]
        config.hook.pytest_deselected(items=ours)
        config.stash[_LEFT_OUT] = len(ours)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say so."""
    if config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{config.stash[_LEFT_OUT]} tests of containers were left out, for no Docker engine "
            "answers: docs/containers.md says how to bring one",
            yellow=True,
        )
