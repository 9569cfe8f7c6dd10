"""Seals: SHA-256 of a run's files, in its manifest, so that a file which is another is noticed.

Parquet's pages have checksums of their own, its footer and page headers have none; a journal's end
and a broker's log have nothing of the sort. And none of them says of which run it is.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from harness.history import manifest

FIELD: Final = "files"  # of the manifest: a seal by each file's path within the run
HISTORY: Final = "history"
# Written by what outlives the run.
_STILL_OPEN: Final = frozenset({"watchdog.log", "watchdog.journal"})


def made(run_dir: Path, *, raw: bool = True) -> dict[str, str]:
    """The seals of the history, and of the journals and logs that it was made from (`raw`)."""
    folders = (HISTORY, "journals", "logs") if raw else (HISTORY,)
    return {
        str(path.relative_to(run_dir)): seal_of(path)
        for folder in folders
        for path in _files(run_dir / folder)
    }


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        if path.is_file() and not path.name.startswith(".") and path.name not in _STILL_OPEN:
            yield path


def seal_of(path: Path) -> str:
    """The seal of one file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_of(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def kept(run_dir: Path) -> Mapping[str, Any]:
    """The seals in a run's manifest; none of a run that was played before there were any."""
    found = json_of(run_dir / manifest.FILE_NAME).get(FIELD)
    return found if isinstance(found, dict) else {}


def changed(run_dir: Path, names: Mapping[str, Any], *paths: str) -> bool | None:
    """Whether one of these files is not the one that was sealed; null where none of them was.

    One that is not there any more is another one too.
    """
    sealed = [path for path in paths if path in names]
    if not sealed:
        return None
    return any(_differs(run_dir / path, names[path]) for path in sealed)


def _differs(path: Path, seal: Any) -> bool:
    try:
        return bool(seal_of(path) != seal)
    except OSError:
        return True


def renew(run_dir: Path) -> None:
    """Seal a history that was made anew; what it was made from stays sealed as it was."""
    if FIELD in manifest.read(run_dir):
        seals = {**kept(run_dir), **made(run_dir, raw=False)}
        manifest.update(run_dir, **{FIELD: seals})
