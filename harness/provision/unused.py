"""What is in the cache and this version of the project does not use any more.

A change of a lock or of Python makes a new environment of more than 1 GB, and a new Java new AOT
caches. An environment of users is not used any more once there is one of developers.
The folder may be shared with other programs, so only what set-up made is offered: folders with the
file that `mark` writes, and AOT caches by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.provision import aot, environment, kafka, toxiproxy, tree, wheels
from harness.provision.cache import (
    REPOSITORY,
    cache_dir,
    exclusive,
    is_marked,
    scratch,
    translations,
)
from harness.provision.java import find_java

# What a folder of set-up is, by how its name begins.
_FOLDERS: Final = {
    "env-": "Python environment of other locks, of another Python, or beside that of developers",
    "kafka-": "a Kafka version that is not pinned here, which is fetched again when it is named",
    "toxiproxy-": "Toxiproxy of another version",
    tree.PREFIX: "code of an installed kafka-chaos, which copies it again when it is used",
    f"{wheels.PACKAGE}-": "a version of confluent-kafka, which is fetched again when it is named",
    translations().name: "queries translated for DuckDB, which are translated anew when needed",
}
_AOT: Final = re.compile(r"(spark|(kafka|client)-[\d.]+)-[0-9a-f]{12}-[0-9a-f]{12}\.aot")
_AOT_WHAT: Final = (
    "AOT cache of another Java, of other options, or of a Kafka version that is not pinned"
)


@dataclass(frozen=True)
class Unused:
    path: Path
    what: str  # a noun phrase
    size: int  # bytes


def unused() -> list[Unused]:
    """What can go, in the order of names. Nothing is changed."""
    cache = cache_dir()
    if not cache.is_dir():
        return []
    current = _current()
    found = []
    for path in sorted(cache.iterdir()):
        if path not in current and not path.is_symlink():
            with suppress(OSError):  # not ours to read, or just being removed
                what = _what(path)
                found += [Unused(path, what, _size(path))] if what else []
    return found


def remove(
    offered: Iterable[Unused], in_use: Callable[[Path], bool], on_wait: Callable[[], None]
) -> list[Unused]:
    """Remove what no process uses; what was removed. `on_wait` is called if a set-up goes on.

    Each leaves its place in one step, so that nothing half-removed looks whole.
    """
    removed = []
    cache = cache_dir()
    with exclusive(cache, on_wait):
        current = _current()  # a set-up may have made one of them anew
        for each in offered:
            if each.path in current or in_use(each.path) or not each.path.exists():
                continue
            with scratch(cache) as folder:
                each.path.replace(folder / each.path.name)
            removed.append(each)
    return removed


def _current() -> set[Path]:
    """What this version of the project uses, or would make."""
    versions = kafka.kafka_versions()
    used: set[Path | None] = {REPOSITORY, environment.env_dir(), toxiproxy.home()}
    used.add(environment.developers_env())
    used |= {kafka.home(version) for version in versions}
    try:
        java = find_java()
    except SetupError:
        # Which AOT caches are in use is unknown without the Java that they are for.
        used |= set(cache_dir().glob("*.aot"))
    else:
        for version in versions:
            used |= {aot.cache_of(purpose, version, java) for purpose in aot.TRAINERS}
    return {path for path in used if path is not None}


def _what(path: Path) -> str:
    if path.is_file():
        return _AOT_WHAT if _AOT.fullmatch(path.name) else ""
    named = (what for start, what in _FOLDERS.items() if path.name.startswith(start))
    return next(named, "") if is_marked(path) else ""


def _size(path: Path) -> int:
    """The bytes that go with it; what two names share counts once."""
    seen = {}
    for each in (path, *path.rglob("*")):
        about = each.lstat()
        seen[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(seen.values())
