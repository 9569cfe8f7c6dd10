"""Set-up as a numbered list:

1. Python environment   2. Java   3. Kafka's jars   4. Toxiproxy   5. controller template
6. AOT cache for brokers   7. AOT cache for Spark

Each step knows whether it is done, cheaply and without network, and how to do itself. A step
leaves either its whole result or nothing: it works in a scratch folder (or behind a completion
marker) and renames last.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import SetupError
from harness.provision import aot, environment, kafka, toxiproxy
from harness.provision.cache import cache_dir, exclusive, make_cache_dir, sweep_scratch
from harness.provision.java import find_java
from harness.provision.shell import Shell


@dataclass(frozen=True)
class Step:
    """One thing to set up. An `optional` one only makes runs faster: its failure is a warning."""

    title: str
    is_done: Callable[[], bool]
    do: Callable[[Shell], None]
    optional: bool = False


def steps(kafka_version: str = kafka.DEFAULT_VERSION) -> list[Step]:
    """What has to be there for runs with this Kafka, in the order it is made."""
    jars = kafka.read_lock(kafka_version)
    env = environment.env_dir()
    return [
        Step(
            "Python environment (about 60 packages, 1.3 GB)",
            lambda: environment.is_complete(env),
            lambda shell: environment.install(env, shell),
        ),
        Step("Java", lambda: _succeeds(find_java), _require_java),
        Step(
            f"Kafka {kafka_version} jars ({len(jars)} files)",
            lambda: not kafka.wrong_jars(kafka.home(kafka_version) / "jars", jars),
            lambda shell: _fetch_jars(kafka_version, shell),
        ),
        Step(
            f"Toxiproxy {toxiproxy.VERSION}",
            lambda: _succeeds(toxiproxy.check_binary),
            toxiproxy.build,
        ),
        Step(
            "controller template",
            lambda: kafka.checkpoint(kafka_version).is_file(),
            lambda shell: kafka.format_template(kafka_version, find_java(), shell),
        ),
        Step(
            "AOT cache for brokers",
            lambda: aot.is_settled(aot.kafka_cache(kafka_version, find_java())),
            lambda shell: aot.train_kafka(kafka_version, find_java(), shell),
            optional=True,
        ),
        Step(
            "AOT cache for the Java client",
            lambda: aot.is_settled(aot.client_cache(kafka_version, find_java())),
            lambda shell: aot.train_client(kafka_version, find_java(), shell),
            optional=True,
        ),
        Step(
            "AOT cache for Spark",
            lambda: aot.is_settled(aot.spark_cache(find_java())),
            lambda shell: aot.train_spark(find_java(), shell),
            optional=True,
        ),
    ]


def _succeeds(check: Callable[[], object]) -> bool:
    try:
        check()
    except SetupError:
        return False
    return True


def _fetch_jars(kafka_version: str, shell: Shell) -> None:
    from harness.provision import ivy  # late: see its docstring

    ivy.fetch_jars(kafka_version, find_java(), shell)


def _require_java(_: Shell) -> None:
    find_java()


def is_complete(kafka_version: str = kafka.DEFAULT_VERSION) -> bool:
    """Whether every step is done. No network, no lock, about 0.1 s."""
    return all(step.is_done() for step in steps(kafka_version))


def ensure(kafka_version: str = kafka.DEFAULT_VERSION) -> list[str]:
    """Do every step that is not done; what was done, one phrase each.

    One set-up at a time: others wait. SetupError if a step that runs need fails.
    """
    cache = make_cache_dir()
    with exclusive(cache, _say_waiting) as lock_fd:
        sweep_scratch(cache)
        shell = Shell(cache / "logs", lock_fd)
        todo = steps(kafka_version)
        done = []
        for number, step in enumerate(todo, 1):
            if not step.is_done():
                done.append(_do(step, f"set-up {number}/{len(todo)}", shell))
        return done


def lock_kafka(kafka_version: str) -> Path:
    """For maintainers: pin the jars of another Kafka version; where the lock was written."""
    from harness.provision import ivy  # late: see its docstring

    ensure()
    cache = make_cache_dir()
    with exclusive(cache, _say_waiting) as lock_fd:
        return ivy.write_lock(kafka_version, find_java(), Shell(cache / "logs", lock_fd))


def _say_waiting() -> None:
    print(
        f"another set-up is running in {cache_dir()}, waiting for it", file=sys.stderr, flush=True
    )


def _do(step: Step, label: str, shell: Shell) -> str:
    print(f"{label}: {step.title} …", end="", file=sys.stderr, flush=True)
    begun = time.monotonic()
    try:
        step.do(shell)
    except SetupError as error:
        print(" failed", file=sys.stderr, flush=True)
        if not step.optional:
            raise
        print(f"warning: {error}; runs start more slowly without it", file=sys.stderr, flush=True)
        return f"{step.title}: failed, going on without"
    took = f"{time.monotonic() - begun:.1f} s"
    print(f" {took}", file=sys.stderr, flush=True)
    return f"{step.title}: {took}"


def forget_failures(kafka_version: str = kafka.DEFAULT_VERSION) -> None:
    """Let trainings that failed be tried again: whoever types `make setup` wants to know."""
    try:
        java = find_java()
    except SetupError:
        return
    for cache in (
        aot.kafka_cache(kafka_version, java),
        aot.client_cache(kafka_version, java),
        aot.spark_cache(java),
    ):
        if cache is not None:
            aot.failure_note(cache).unlink(missing_ok=True)
