"""What a wheel carries, copied to where it is run from: a folder of the cache.

Site-packages may be read-only, are another version's after an upgrade, and an installer's own
environment may be gone while a watchdog still cleans up. In the copy, example programs can be
built.
"""

from __future__ import annotations

import compileall
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from harness.provision.cache import RECORD, exclusive, make_cache_dir, mark, scratch

PREFIX: Final = "tree-"
_COMPILED: Final = "__pycache__"


def settle(source: Path, on_wait: Callable[[], None]) -> Path:
    """The copy of a wheel's tree, made if it is not there; `on_wait` is called if a set-up goes on.

    Raises SetupError or OSError for a cache that is no use.
    """
    cache = make_cache_dir()
    copy = cache / f"{PREFIX}{digest(source)}"
    if not copy.is_dir():
        with exclusive(cache, on_wait):
            if not copy.is_dir():  # else another set-up was faster
                _copy(source, copy)
    return copy


def _copy(source: Path, copy: Path) -> None:
    with scratch(copy.parent) as folder:
        half = folder / copy.name
        shutil.copytree(source, half, ignore=shutil.ignore_patterns(_COMPILED))
        mark(half)
        # Here and not by what runs: a cache that was filled ahead may be read-only then.
        compileall.compile_dir(half, ddir=str(copy), quiet=2)
        half.replace(copy)


def digest(tree: Path) -> str:
    """Twelve digits for the contents of a tree, whatever was compiled or built in it."""
    found = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        if path.is_file() and path.name != RECORD and _COMPILED not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(tree)}\0{len(content)}\0".encode())
            found.update(content)
    return found.hexdigest()[:12]
