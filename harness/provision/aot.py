"""AOT caches: what lets the JVMs of Kafka, its client and Spark start in half the time on Java 25.

A cache fits one Java, one set of options and one class path, so its name is made of hashes of
these; a new one replaces the one that the same Java had for the same purpose.
None of them is needed for a run: where training fails, a note keeps it from being tried again
at every start, and `make setup` tries again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.base.errors import SetupError
from harness.provision import kafka
from harness.provision.cache import REPOSITORY, cache_dir, scratch, write_atomically
from harness.provision.environment import env_dir, env_python
from harness.provision.java import Java
from harness.provision.jvm import AOT_SINCE, broker_options, major
from harness.provision.shell import Shell

TRAINING_TIMEOUT_S = 600  # Spark's takes two minutes on two quiet cores
_SPARK_SOURCES = ("harness/bench/train_spark.py", "harness/tables/session.py")


def kafka_cache(kafka_version: str, java: Java) -> Path | None:
    """Where the brokers' cache belongs, made or not; None where this Java has no such caches."""
    if major(java.version) < AOT_SINCE:
        return None
    parts = [*broker_options(java.version), kafka.classpath(kafka_version)]
    parts += [jar.sha256 for jar in kafka.read_lock(kafka_version)]
    return _place(f"kafka-{kafka_version}", java, parts)


def client_cache(kafka_version: str, java: Java) -> Path | None:
    """Where the Java client's cache belongs, as `kafka_cache`: its machine has other options."""
    if major(java.version) < AOT_SINCE:
        return None
    machine = (REPOSITORY / "consumers" / "jvm.py").read_text(encoding="utf-8")
    parts = [str(env_dir()), machine, kafka.classpath(kafka_version)]
    parts += [jar.sha256 for jar in kafka.read_lock(kafka_version)]
    return _place(f"client-{kafka_version}", java, parts)


def spark_cache(java: Java) -> Path | None:
    """Where Spark's cache belongs; None where this Java has no such caches."""
    if major(java.version) < AOT_SINCE:
        return None
    # Spark's jars come with the environment; its options are in these modules.
    sources = ((REPOSITORY / path).read_text(encoding="utf-8") for path in _SPARK_SOURCES)
    return _place("spark", java, [str(env_dir()), *sources])


def _place(purpose: str, java: Java, parts: list[str]) -> Path:
    who, what = _hash([java.version, str(java.binary)]), _hash(parts)
    return cache_dir() / f"{purpose}-{who}-{what}.aot"


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def is_settled(cache: Path | None) -> bool:
    """Whether there is nothing to train: no such caches here, made, or known to fail."""
    return cache is None or cache.is_file() or failure_note(cache).is_file()


def failure_note(cache: Path) -> Path:
    """The note that says training failed."""
    return cache.with_suffix(".failed")


def train_kafka(kafka_version: str, java: Java, shell: Shell) -> None:
    """Train the brokers' cache; SetupError (and the note) if that fails."""
    cache = kafka_cache(kafka_version, java)
    if cache is not None:
        args = ["harness.bench.train_brokers", *_node(kafka_version, java)]
        _train("the Kafka AOT training", args, cache, shell, "kafka-aot.log")


def train_client(kafka_version: str, java: Java, shell: Shell) -> None:
    """Train the Java client's cache; SetupError (and the note) if that fails."""
    cache = client_cache(kafka_version, java)
    if cache is not None:
        args = ["harness.bench.train_client", *_node(kafka_version, java)]
        _train("the Java client's AOT training", args, cache, shell, "client-aot.log")


def _node(kafka_version: str, java: Java) -> list[object]:
    """What a trainer needs to start a node."""
    classpath = kafka.classpath(kafka_version)
    template = kafka.controller_template(kafka_version)
    return [java.binary, java.version, kafka_version, classpath, template]


def train_spark(java: Java, shell: Shell) -> None:
    """Have the checker train Spark's cache; SetupError (and the note) if that fails."""
    cache = spark_cache(java)
    if cache is not None:
        _train(
            "the Spark AOT training", ["harness.bench.train_spark"], cache, shell, "spark-aot.log"
        )


def _train(what: str, args: list[object], cache: Path, shell: Shell, log: str) -> None:
    with scratch(cache_dir()) as folder:
        output = folder / cache.name
        command = [env_python(env_dir()), "-m", *args, output]
        variables = {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder)}
        try:
            shell.run(what, command, log=log, env=variables, timeout_s=TRAINING_TIMEOUT_S)
            if not output.is_file():
                raise SetupError(f"{what} left no cache (its output is in {shell.logs / log})")
        except SetupError as error:
            write_atomically(failure_note(cache), f"{error}\n")
            raise
        output.replace(cache)
    replaced = cache.stem.rpartition("-")[0]  # same purpose, same Java, older contents
    for old in cache.parent.glob(f"{replaced}-*"):
        if old != cache:
            old.unlink()
