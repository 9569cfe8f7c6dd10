"""What a run needs, and which of it is there: the answer to "why does it not start here?"."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.base.errors import Exit, SetupError
from harness.base.paths import set_up
from harness.base.priority import cores
from harness.provision import aot, kafka, toxiproxy
from harness.provision.cache import cache_dir
from harness.provision.environment import check_python, env_dir, env_python, is_complete
from harness.provision.java import find_java

Status = Literal["ok", "missing", "broken"]

NEEDED_BYTES = 3_000_000_000  # a cold set-up at its peak, PySpark's build included
ROOM_FOR_RUN_BYTES = 500_000_000
CORES_WANTED = 2
RUNS_ON = "Linux with glibc 2.28 or newer, x86-64 or 64-bit ARM"
TRIED_ON = "Debian 12, x86-64"


@dataclass(frozen=True)
class Diagnosis:
    """One thing looked at. "missing" is what set-up brings by itself, "broken" stops a run."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


def diagnose() -> list[Diagnosis]:
    """Look at everything a run needs; no network, and nothing is changed."""
    return [
        _system(),
        _python(),
        _cores(),
        _disk(),
        _environment(),
        _checked("java", _java),
        _checked(f"kafka {kafka.DEFAULT_VERSION}", _kafka, "fetched"),
        _checked(f"toxiproxy {toxiproxy.VERSION}", _toxiproxy, "built"),
        *map(_aot, aot.TRAINERS),
    ]


def show(findings: list[Diagnosis]) -> int:
    """Print a table; 0 if a run can start, perhaps after a set-up, else 3."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{finding.status:8}{finding.name:{width + 2}}{finding.detail}")
        if finding.remedy:
            print(f"{'':{width + 10}}-> {finding.remedy}")
    cannot_start = any(finding.status == "broken" for finding in findings)
    return Exit.FAILED if cannot_start else Exit.AS_EXPECTED


def _system() -> Diagnosis:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"Linux {platform.release()}"
    has = ", ".join(filter(None, (name, platform.machine(), " ".join(platform.libc_ver()).strip())))
    return Diagnosis("system", "ok", f"{has} (it runs on {RUNS_ON}; tried on {TRIED_ON})")


def _python() -> Diagnosis:
    detail = f"{platform.python_version()} ({sys.executable})"
    try:
        check_python()
    except SetupError as error:
        return Diagnosis("python", "broken", detail, str(error))
    return Diagnosis("python", "ok", detail)


def _cores() -> Diagnosis:
    found = cores()
    if found >= CORES_WANTED:
        return Diagnosis("cores", "ok", str(found))
    few = f"with fewer than {CORES_WANTED} cores, timing rules may end UNKNOWN"
    return Diagnosis("cores", "ok", f"{found}; {few}")


def _disk() -> Diagnosis:
    cache = cache_dir()
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if not os.access(place, os.W_OK):
        remedy = "name a folder you can write in KAFKA_CHAOS_CACHE"
        return Diagnosis("cache", "broken", f"{place} is not writable", remedy)
    free = shutil.disk_usage(place).free
    needed = ROOM_FOR_RUN_BYTES if is_complete(env_dir()) else NEEDED_BYTES
    detail = f"{cache}, {free / 1e9:.1f} GB free"
    if free >= needed:
        return Diagnosis("cache", "ok", detail)
    remedy = (
        f"{needed / 1e9:.1f} GB are needed: make room, or name another disk in KAFKA_CHAOS_CACHE"
    )
    return Diagnosis("cache", "broken", detail, remedy)


def _environment() -> Diagnosis:
    env = env_dir()
    if is_complete(env):
        return Diagnosis("environment", "ok", str(env_python(env)))
    state = "half-made or its Python is gone" if env.exists() else "not made yet"
    return Diagnosis("environment", "missing", f"{env}: {state}", f"`{set_up()}` makes it")


def _checked(name: str, check: Callable[[], str], verb: str = "installed") -> Diagnosis:
    try:
        return Diagnosis(name, "ok", check())
    except SetupError as error:
        # A wrong KAFKA_CHAOS_JAVA is the one thing set-up cannot put right.
        own = name == "java" and "KAFKA_CHAOS_JAVA" in os.environ
        remedy = "" if own else f"`{set_up()}`: it will be {verb}"
        return Diagnosis(name, "broken" if own else "missing", str(error), remedy)


def _java() -> str:
    java = find_java()
    return f"{java.version} ({java.binary})"


def _kafka() -> str:
    kafka.check_jars(kafka.DEFAULT_VERSION)
    return str(kafka.home(kafka.DEFAULT_VERSION))


def _toxiproxy() -> str:
    toxiproxy.check_binary()
    if shutil.which("go") is None:
        return f"{toxiproxy.binary()} (no Go on PATH; not needed any more)"
    return str(toxiproxy.binary())


def _aot(purpose: str) -> Diagnosis:
    name = f"{purpose} aot"
    try:
        cache = aot.cache_of(purpose, kafka.DEFAULT_VERSION, find_java())
    except SetupError:
        return Diagnosis(name, "missing", "waits for java", f"`{set_up()}`")
    if cache is None:
        return Diagnosis(name, "ok", "no AOT cache for this Java; the JVM starts slower")
    if cache.is_file():
        size = f"{cache.stat().st_size / 1e6:.0f} MB"
        return Diagnosis(name, "ok", f"{cache} ({size}, for a faster start of the JVM)")
    if aot.failure_note(cache).is_file():
        reason = aot.failure_note(cache).read_text(encoding="utf-8").strip()
        return Diagnosis(
            name, "missing", f"training failed ({reason}); the JVM starts slower", f"`{set_up()}`"
        )
    return Diagnosis(name, "missing", "not trained yet", f"`{set_up()}` trains it")
