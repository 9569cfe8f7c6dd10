"""The options every Kafka JVM of the harness starts with.

One place, because an AOT cache only fits the JVM it was trained with: the same options, the
same class path, spelled the same.
"""

from __future__ import annotations

from pathlib import Path

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
