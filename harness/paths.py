"""Paths as people read them."""

from pathlib import Path


def here(path: Path) -> str:
    """A path as one would type it: below the folder one is in, from there."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
