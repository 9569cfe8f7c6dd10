"""Kafka's jars: locked by version and SHA-256, fetched by Ivy, checked at every start.

Locks of some versions are pinned in this repository. That of any other release is made when the
release is first named, and kept in the cache (harness/provision/ivy.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import BadInput, SetupError
from harness.base.paths import set_up
from harness.provision.cache import LOCKS, cache_dir, scratch
from harness.provision.java import Java, broker_options
from harness.provision.shell import Shell

DEFAULT_VERSION = "4.4.0"
OLDEST = (3, 7)  # whose brokers log and answer as the harness reads it
OLDEST_CLIENT = (2, 5)  # whose KafkaConsumer has all that ours is asked to do

_READ_BY_ALL = 0o644
CONTROLLER_PROPERTIES = """process.roles=controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:9093
listener.security.protocol.map=CONTROLLER:PLAINTEXT
log.dirs={data}
"""
# How a snapshot of the metadata has a feature's level (FeatureLevelRecord): frame version 1, type
# 12, version 0; then its name with a length one more than it has, two bytes, no tagged fields.
_LEVEL = re.compile(rb"\x01\x0c\x00([\x02-\x7f])([a-z.]+)(..)\x00", re.DOTALL)
# 22 characters, as Kafka wants; runs have their own.
TEMPLATE_CLUSTER_ID = "kafkaChaosTemplate0000"


@dataclass(frozen=True)
class Jar:
    organisation: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its name in the cache, with organisation and version; sorts."""
        return f"{self.organisation}__{self.artifact}__{self.version}.jar"


def kafka_versions() -> list[str]:
    return sorted(path.stem.removeprefix("kafka-") for path in LOCKS.glob("kafka-*.txt"))


def check_offered(kafka_version: str) -> None:
    """Raise BadInput for what is no release of Kafka, or one too old for brokers of a run."""
    _check_release(f"Kafka {kafka_version}", kafka_version, OLDEST)


def check_client_offered(kafka_version: str) -> None:
    """Raise BadInput for what is no release of Kafka, or one whose Java client is too old."""
    _check_release(f"the Java client of Kafka {kafka_version}", kafka_version, OLDEST_CLIENT)


def _check_release(what: str, version: str, oldest: tuple[int, int]) -> None:
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})\.\d{1,4}", version, re.ASCII)
    if match is None:
        raise BadInput(f"{what} is not a release: write three numbers, such as {DEFAULT_VERSION}")
    if (int(match[1]), int(match[2])) < oldest:
        first = ".".join(map(str, oldest))
        raise BadInput(f"{what} is too old: choose {first}.0 or newer, such as {DEFAULT_VERSION}")


def kept_lock(kafka_version: str) -> Path:
    """Where the lock of a version that is not pinned is kept, once there is one."""
    return home(kafka_version) / "lock.txt"


def is_locked(kafka_version: str) -> bool:
    """Whether it is known which jars this Kafka version has, and their hashes."""
    return kafka_version in kafka_versions() or kept_lock(kafka_version).is_file()


def lock_path(kafka_version: str) -> Path:
    if kafka_version in kafka_versions():
        return LOCKS / f"kafka-{kafka_version}.txt"
    if not is_locked(kafka_version):
        raise SetupError(
            f"Kafka {kafka_version} was never set up; run `{set_up(kafka_version)}`, which fetches "
            "it"
        )
    return kept_lock(kafka_version)


def read_lock(kafka_version: str) -> list[Jar]:
    """The jars of this Kafka version, in the order of the class path."""
    path = lock_path(kafka_version)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        parse_line(line, f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]


def parse_line(line: str, where: str) -> Jar:
    """A lock line "organisation:artifact:version sha256"; SetupError if it is anything else."""
    match = re.fullmatch(r"([\w.-]+):([\w.-]+):([\w.-]+) ([0-9a-f]{64})", line)
    if match is None:
        raise SetupError(
            f"{where} reads {line!r}, not `organisation:artifact:version sha256`; "
            "restore the file from git, or remove it if it is in the cache"
        )
    return Jar(*match.groups())


def home(kafka_version: str) -> Path:
    return cache_dir() / f"kafka-{kafka_version}"


def is_set_up(kafka_version: str) -> bool:
    """Whether brokers of this version were set up; no jar is looked at, as `check_jars` does."""
    return has_jars(kafka_version) and has_template(kafka_version)


def has_jars(kafka_version: str) -> bool:
    """Whether the jars of this version were fetched, which is all that a client needs."""
    return is_locked(kafka_version) and (home(kafka_version) / "jars").is_dir()


def classpath(kafka_version: str) -> str:
    """All jars, in the lock's order and never as `*`: an AOT cache fits one spelling only."""
    jars = home(kafka_version) / "jars"
    return os.pathsep.join(str(jars / jar.file_name) for jar in read_lock(kafka_version))


def check_jars(kafka_version: str) -> None:
    """SetupError that names the first jar that is missing or not the locked one."""
    wrong = wrong_jars(home(kafka_version) / "jars", read_lock(kafka_version))
    if wrong:
        raise SetupError(f"{wrong[0]}; run `{set_up(kafka_version)}`, which fetches it")


def wrong_jars(folder: Path, jars: Sequence[Jar]) -> list[str]:
    """What is wrong with the jars in `folder`, one phrase each; empty if all are as locked."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        digests = list(pool.map(digest, (folder / jar.file_name for jar in jars)))
    return [
        f"the Kafka jar {folder / jar.file_name} is "
        + ("missing" if digest is None else "not the one that was pinned (its SHA-256 differs)")
        for jar, digest in zip(jars, digests, strict=True)
        if digest != jar.sha256
    ]


def digest(path: Path) -> str | None:
    """The file's SHA-256, None where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def escaped(value: str) -> str:
    """A value as a properties file has it: Java reads those as Latin-1, with escapes."""
    units = struct.iter_unpack(">H", value.encode("utf-16-be"))
    return "".join(
        chr(unit) if 0x20 <= unit < 0x7F and unit != ord("\\") else f"\\u{unit:04x}"
        for (unit,) in units
    )


def format_template(kafka_version: str, java: Java, shell: Shell) -> None:
    """Format a controller's folder once and keep what every run's controller starts from.

    Runs copy the template and write their own `meta.properties`: no run starts a JVM to format.
    What there is in it depends on the version: up to 4.3 it is a `bootstrap.checkpoint`, from 4.4
    on a snapshot of the metadata.
    """
    with scratch(cache_dir()) as folder:
        properties = folder / "controller.properties"
        text = CONTROLLER_PROPERTIES.format(data=escaped(str(folder / "data")))
        properties.write_text(text, encoding="ascii")
        java_command = [java.binary, *broker_options(java.version), "-cp", classpath(kafka_version)]
        tool = ["kafka.tools.StorageTool", "format", "-t", TEMPLATE_CLUSTER_ID, "-c", properties]
        shell.run("formatting the controller template", [*java_command, *tool], log="kafka.log")
        (folder / "data" / "meta.properties").unlink()
        for path in _files_of(folder / "data"):
            path.chmod(_READ_BY_ALL)
        shutil.rmtree(controller_template(kafka_version), ignore_errors=True)
        (folder / "data").replace(controller_template(kafka_version))


def controller_template(kafka_version: str) -> Path:
    """The folder of a controller that has been formatted, but for its `meta.properties`."""
    return home(kafka_version) / "controller-template"


def has_template(kafka_version: str) -> bool:
    """Whether there is one that every user of this machine may read, not only the one who set up.

    Kafka 4.4 writes its snapshot for the owner alone.
    """
    folder = controller_template(kafka_version)
    modes = [path.stat().st_mode for path in _files_of(folder)]
    return folder.is_dir() and all(mode & _READ_BY_ALL == _READ_BY_ALL for mode in modes)


def _files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def formatted_levels(kafka_version: str) -> dict[str, int]:
    """The levels of features that a new cluster of this version has: what Kafka's tool formatted.

    That of the quorum's voters (kraft.version) is not among them, as long as these are static.
    """
    found = {}
    for snapshot in sorted(controller_template(kafka_version).rglob("*.checkpoint")):
        for length, name, level in _LEVEL.findall(snapshot.read_bytes()):
            if length[0] == len(name) + 1:
                found[name.decode()] = int.from_bytes(level, "big")
    return dict(sorted(found.items()))
