"""A Kafka version that this repository does not pin: looked up, fetched, checked, and kept.

What its brokers and its client consist of is asked of the registry once. Every jar is held against
the strongest checksum that the registry has next to it, and only then are the jars put in place
and locked by their SHA-256, in the cache. From then on the version is as good as a pinned one: no
network is needed, and the same hashes are checked at every start.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.provision import ivy
from harness.provision.cache import LOCKS, cache_dir, mark, scratch, write_atomically
from harness.provision.java import Java
from harness.provision.kafka import Jar, digest, home, kept_lock
from harness.provision.shell import Shell

KINDS: Final = {"sha512": 128, "sha256": 64, "sha1": 40}  # digits of each, the strongest first

_HEADER: Final = """# The jars of a Kafka {version} broker: organisation:artifact:version sha256.
# Resolved from org.apache.kafka:kafka_2.13 and org.apache.logging.log4j:log4j-slf4j-impl
# (without the latter brokers log nothing). The order here is the order of the class path.
"""


def adopt(kafka_version: str, java: Java, shell: Shell) -> str:
    """Fetch a version, and keep its jars and their lock in the cache; what was fetched, in words.

    Raises BadInput if the registry has no such version, and SetupError if it cannot be reached or
    a jar is not what it says: then nothing is kept.
    """
    with scratch(cache_dir()) as folder:
        jars, checked = _fetched(kafka_version, java, shell, folder)
        size = sum(path.stat().st_size for path in (folder / "jars").iterdir())
        place = home(kafka_version)
        mark(place)
        shutil.rmtree(place / "jars", ignore_errors=True)
        (folder / "jars").rename(place / "jars")
        write_atomically(kept_lock(kafka_version), _text(kafka_version, jars))
    told = ", ".join(f"{checked[kind]} by {_named(kind)}" for kind in KINDS if checked[kind])
    return (
        f"Kafka {kafka_version}: {len(jars)} files, {size / 1e6:.0f} MB, checked against the "
        f"registry's checksums ({told})"
    )


def pin(kafka_version: str, java: Java, shell: Shell) -> Path:
    """For maintainers: the same lock in this repository, without the jars; where it is."""
    with scratch(cache_dir()) as folder:
        jars, _ = _fetched(kafka_version, java, shell, folder)
    path = LOCKS / f"kafka-{kafka_version}.txt"
    write_atomically(path, _text(kafka_version, jars))
    return path


def _text(kafka_version: str, jars: Sequence[Jar]) -> str:
    lines = (f"{jar.organisation}:{jar.artifact}:{jar.version} {jar.sha256}\n" for jar in jars)
    return _HEADER.format(version=kafka_version) + "".join(lines)


def _fetched(
    kafka_version: str, java: Java, shell: Shell, folder: Path
) -> tuple[list[Jar], Counter[str]]:
    """The jars, now in `folder`/jars, and how many were checked by each kind of checksum."""
    ivy.resolve(kafka_version, java, shell, folder)
    paths = sorted((folder / "jars").iterdir())
    jars = [_jar(path) for path in paths]
    given = ivy.checksums(jars, tuple(KINDS), java, shell, folder)
    checked = Counter(
        agreed(path, given[jar], shell.logs / ivy.LOG)
        for path, jar in zip(paths, jars, strict=True)
    )
    return jars, checked


def _jar(path: Path) -> Jar:
    organisation, artifact, version = path.stem.split("__")
    return Jar(organisation, artifact, version, digest(path) or "")


def agreed(path: Path, given: Mapping[str, str], log: Path) -> str:
    """The kind of checksum that a jar was found to agree with, the strongest that is given.

    Raises SetupError where it does not agree, or none is given.
    """
    kind = next((each for each in KINDS if each in given), None)
    name = path.name.replace("__", ":").removesuffix(".jar")
    see = f"nothing was kept; see {log}, and check which mirror answered"
    if kind is None:
        raise SetupError(f"the registry has no checksum of {name}, so it cannot be trusted: {see}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    # Some registries write the file's name beside it, or capital letters.
    if found not in re.findall(rf"\b[0-9a-f]{{{KINDS[kind]}}}\b", given[kind].lower()):
        raise SetupError(
            f"{name} is not what the registry says it is (its {_named(kind)} differs): {see}"
        )
    return kind


def _named(kind: str) -> str:
    return kind.replace("sha", "SHA-")
