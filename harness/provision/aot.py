"""AOT caches: what lets the JVMs of Kafka, its client and Spark start in half the time on Java 25.

A cache fits one Java, one set of options and one class path, so its name is made of hashes of
these; a new one replaces the one that the same Java had for the same purpose.
None of them is needed for a run: where training fails, a note keeps it from being tried again
at every start, and `setup` tries again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.base.errors import SetupError
from harness.provision import kafka
from harness.provision.cache import REPOSITORY, cache_dir, scratch, write_atomically
from harness.provision.environment import env_dir, env_python
from harness.provision.java import AOT_SINCE, Java, broker_options, major
from harness.provision.shell import Shell

TRAINING_TIMEOUT_S = 600  # Spark's takes two minutes on two quiet cores
SPARK = "spark"
# What each cache is for: the module that trains it, and what that is called.
TRAINERS = {
    "kafka": ("harness.bench.train_brokers", "the Kafka AOT training"),
    "client": ("harness.bench.train_client", "the Java client's AOT training"),
    SPARK: ("harness.bench.train_spark", "the Spark AOT training"),
}
# The options of each of the last two are in these; Spark's jars come with the environment.
_SOURCES = {
    "client": ("consumers/jvm.py",),
    SPARK: ("harness/bench/train_spark.py", "harness/tables/session.py"),
}


def cache_of(purpose: str, kafka_version: str, java: Java) -> Path | None:
    """Where a cache belongs, made or not; None where this Java has no such caches.

    Spark's is the same for every Kafka. Raises SetupError where Kafka's jars are not known.
    """
    if major(java.version) < AOT_SINCE:
        return None
    sources = _SOURCES.get(purpose, ())
    texts = [(REPOSITORY / path).read_text(encoding="utf-8") for path in sources]
    parts = [str(env_dir()), *texts] if sources else list(broker_options(java.version))
    name = purpose
    if purpose != SPARK:
        name = f"{purpose}-{kafka_version}"
        parts += [kafka.classpath(kafka_version)]
        parts += [jar.sha256 for jar in kafka.read_lock(kafka_version)]
    who = _hash([java.version, str(java.binary)])
    return cache_dir() / f"{name}-{who}-{_hash(parts)}.aot"


def made(purpose: str, kafka_version: str, java: Java) -> Path | None:
    """The cache, if there is one: runs are slower without it, and nothing else."""
    path = cache_of(purpose, kafka_version, java)
    return path if path is not None and path.is_file() else None


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def is_settled(cache: Path | None) -> bool:
    """Whether there is nothing to train: no such caches here, made, or known to fail."""
    return cache is None or cache.is_file() or failure_note(cache).is_file()


def failure_note(cache: Path) -> Path:
    return cache.with_suffix(".failed")


def train(purpose: str, kafka_version: str, java: Java, shell: Shell) -> None:
    """Train a cache; SetupError (and the note) if that fails."""
    cache = cache_of(purpose, kafka_version, java)
    if cache is None:
        return
    module, what = TRAINERS[purpose]
    node: list[object] = []  # what a trainer needs to start one
    if purpose != SPARK:
        template = kafka.controller_template(kafka_version)
        classpath = kafka.classpath(kafka_version)
        node = [java.binary, java.version, kafka_version, classpath, template]
    log = f"{purpose}-aot.log"
    with scratch(cache_dir()) as folder:
        output = folder / cache.name
        command = [env_python(env_dir()), "-P", "-m", module, *node, output]  # not what is here
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
