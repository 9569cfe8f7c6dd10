"""Chromium and its driver, for the tests that look at pages."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.machine.packages import install


def browser() -> Path | None:
    """The browser there is."""
    return _program("chromium", "google-chrome", "chromium-browser")


def driver() -> Path | None:
    """What selenium speaks to."""
    return _program("chromedriver")


def _program(*names: str) -> Path | None:
    found = next(filter(None, map(shutil.which, names)), None)
    return Path(found) if found else None


def there() -> bool:
    """Whether pages can be looked at."""
    return browser() is not None and driver() is not None


def bring() -> None:
    """Install both where they are missing. Raises SetupError where that cannot be done."""
    if not there():
        install("chromium", "chromium-driver", "fonts-liberation")
