"""Chromium and its driver, for the tests that look at pages."""

from __future__ import annotations

import shutil
from pathlib import Path


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


def lacking() -> tuple[str, ...]:
    """The packages to be installed where one of the two is missing."""
    return () if there() else ("chromium", "chromium-driver", "fonts-liberation")
