"""What is in the cache and this version of the project does not use any more.

A change of a lock or of Python makes a new environment beside the old one, 1.3 GB each, and a new
Java makes new AOT caches. The folder that KAFKA_CHAOS_CACHE names may be shared with other
programs, so only what set-up recorded as its own is offered: a folder with the file that `mark`
writes, or, of earlier versions, one that has what set-up alone puts there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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

_HASH = "[0-9a-f]{12}"
_AOT_MAGIC = bytes.fromhex("a2ab0bf0")  # of an archive of a JVM, 0xf00baba2 in little-endian order


@dataclass(frozen=True)
class Unused:
    """A file or folder of the cache that can go."""

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
                what = _folder(path) if path.is_dir() else _file(path)
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
    used |= {kafka.home(version) for version in versions}
    try:
        java = find_java()
    except SetupError:
        # Which AOT caches are in use cannot be told without the Java that they are for.
        used |= set(cache_dir().glob("*.aot"))
    else:
        used.add(aot.spark_cache(java))
        for version in versions:
            used |= {aot.kafka_cache(version, java), aot.client_cache(version, java)}
    return {path for path in used if path is not None}


def _folder(path: Path) -> str:
    """What a folder of ours is; empty for all others."""
    has = {each.name for each in path.iterdir()}
    if re.fullmatch(f"env-{_HASH}", path.name):
        ours = {"pyvenv.cfg", environment.COMPLETE} <= has
        what = "Python environment of other locks, or of another Python"
    elif re.fullmatch(f"mutation-{_HASH}", path.name):
        ours = "pyvenv.cfg" in has and (path / "bin" / "cosmic-ray").is_file()
        what = "environment of the mutation tests of earlier versions"
    elif re.fullmatch(r"kafka-\d+\.\d+\.\d+", path.name):
        ours = _has_jars(path / "jars")
        what = "a Kafka version that is not pinned here, which is fetched again when it is named"
    elif re.fullmatch(r"toxiproxy-\d+\.\d+\.\d+", path.name):
        ours = {toxiproxy.BINARY, "sha256"} <= has
        what = "Toxiproxy of another version"
    elif re.fullmatch("tmp-[a-z0-9_]{8}", path.name):
        ours = {"modules", "build-cache"} <= has or {"ivy.xml", "ivy-cache"} <= has
        what = "temporary folder of a set-up that was killed"
    elif re.fullmatch(f"{tree.PREFIX}{_HASH}", path.name):
        ours = False  # only by its mark
        what = "code of a kafka-chaos that was installed, which copies it again when it is used"
    elif wheels.is_ours(path):
        ours = False  # only by its mark
        what = "a version of confluent-kafka, which is fetched again when it is named"
    elif path == translations():
        ours = False  # only by its mark
        what = "queries translated for DuckDB, which are translated anew when they are needed"
    else:
        return ""
    return what if ours or is_marked(path) else ""


def _has_jars(folder: Path) -> bool:
    """Whether all files are named as set-up names jars, by organisation, artifact and version."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return bool(names) and all(re.fullmatch(r".+__.+__.+\.jar", name) for name in names)


def _file(path: Path) -> str:
    name = rf"(spark|(kafka|client)-[\d.]+)-{_HASH}-{_HASH}\.aot"
    if not re.fullmatch(name, path.name):
        return ""
    with path.open("rb") as file:
        ours = file.read(len(_AOT_MAGIC)) == _AOT_MAGIC
    what = "AOT cache of another Java, of other options, or of a Kafka version that is not pinned"
    return what if ours else ""


def _size(path: Path) -> int:
    """The bytes that go with it; what two names share counts once."""
    seen = {}
    for each in (path, *path.rglob("*")):
        about = each.lstat()
        seen[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(seen.values())
