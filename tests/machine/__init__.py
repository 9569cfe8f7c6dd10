"""What some tests need of a machine: a Docker engine, a browser.

    python -m tests.machine run COMMAND…

runs a command with both, and brings what is missing (as root of a Debian). Tests that need what is
not there are left out in one line otherwise, and never under this command.
"""

import os
from collections.abc import Callable
from typing import Final

REQUIRED: Final = "KAFKA_CHAOS_TEST_EVERYTHING"  # set: no test may be left out


def _engine_answers() -> bool:
    from tests.machine import engine

    return engine.answers(os.environ.get("DOCKER_HOST"))


def _browser_there() -> bool:
    from tests.machine import browser

    return browser.there()


# By the marker of the tests that need it: whether it is there, and what to say where it is not.
NEEDS: Final[dict[str, tuple[Callable[[], bool], str]]] = {
    "docker": (_engine_answers, "no Docker engine answers"),
    "browser": (_browser_there, "there is no Chromium with its driver"),
}
