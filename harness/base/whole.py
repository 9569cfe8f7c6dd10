"""Files that are there whole or not at all: written under another name, renamed when complete.

The other name says which process writes, as an owner token does: a pid alone is another process in
each container and on each machine that shares a folder of results. So two writers never share a
name, and a sweep knows what a killed one left.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.base import processes

HALVES: Final = ".*.tmp"  # how half-written files may be called
_COLON: Final = "+"  # stands for the token's, which some file systems do not take
_HALF: Final = re.compile(r"\..+\.([0-9]+\+[^.]+)\.tmp")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write what `path` shall hold; it is put there unless the body raises."""
    half = half_of(path)
    try:
        yield half
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def half_of(path: Path) -> Path:
    """Under which name this process writes a file or folder before it is complete."""
    token = processes.owner_token().replace(":", _COLON)
    return path.with_name(f".{path.name.removeprefix('.')}.{token}.tmp")


def writer_gone(half: Path) -> bool:
    """Whether a file is one that `whole` was writing, and the process that wrote it is gone."""
    named = _HALF.fullmatch(half.name)
    return named is not None and processes.owner_dead(named[1].replace(_COLON, ":"))
