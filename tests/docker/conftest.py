"""The docker tests are left out, in one line, where no engine answers; never where they are due."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docker.engine import NEEDED, answers

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ask for an engine once, and only if a test of this folder is to run."""
    ours = [item for item in items if item.path.is_relative_to(_HERE)]
    if not ours or NEEDED in os.environ or answers(os.environ.get("DOCKER_HOST")):
        return
    left_out = pytest.mark.skip(
        reason="no Docker engine answers: `python -m tests.docker.engine run make test` brings one"
    )
    for item in ours:
        item.add_marker(left_out)
