"""Set-up as a numbered list:

1. Python environment   2. Java   3. Kafka's jars   4. Toxiproxy   5. controller template
6. AOT cache for brokers   7. AOT cache for the Java client   8. AOT cache for Spark

Each step knows whether it is done, cheaply and without network, and how to do itself. A step
leaves either its whole result or nothing: it works in a scratch folder (or behind a completion
marker) and renames last. Steps that do not need each other are done two at a time. The last one
saves seconds of every start of Spark and takes longer than all others, so the first experiment
does it after its verdict (`finish`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import HarnessError, SetupError
from harness.base.paths import set_up
from harness.provision import aot, environment, kafka, toxiproxy, wheels
from harness.provision.cache import cache_dir, exclusive, make_cache_dir, sweep_scratch
from harness.provision.java import find_java
from harness.provision.shell import Shell

_OF_CLIENT: Final = 3  # the first steps, which are all that a client's jars need


@dataclass(frozen=True)
class Step:
    """One thing to set up, once the steps whose titles begin with those in `after` are done.

    Whether it is done is asked once more when they are: an old Java on the PATH does for "Java" and
    needs no AOT cache, until "Python" has brought the one to use.

    An `optional` one only makes runs faster: its failure is a warning. A `late` one can wait until
    there is a verdict.
    """

    title: str
    is_done: Callable[[], bool]
    do: Callable[[Shell], None]
    after: tuple[str, ...] = ()
    optional: bool = False
    late: bool = False


def steps(kafka_version: str = kafka.DEFAULT_VERSION) -> list[Step]:
    """What has to be there for runs with this Kafka, in the order it is made."""
    env = environment.env_dir()
    return [
        Step(
            "Python environment (about 70 packages, 1.3 GB)",
            lambda: environment.is_complete(env),
            lambda shell: environment.install(env, shell),
        ),
        Step("Java", lambda: _succeeds(find_java), _require_java, after=("Python",)),
        Step(
            f"Kafka {kafka_version} jars ({_how_many(kafka_version)})",
            lambda: _succeeds(lambda: kafka.check_jars(kafka_version)),
            lambda shell: _fetch_jars(kafka_version, shell),
            after=("Java",),
        ),
        Step(
            f"Toxiproxy {toxiproxy.VERSION}",
            lambda: _succeeds(toxiproxy.check_binary),
            toxiproxy.build,
            after=("Python",),  # which brings a Go where this machine has none
        ),
        Step(
            "controller template",
            lambda: kafka.has_template(kafka_version),
            lambda shell: kafka.format_template(kafka_version, find_java(), shell),
            after=("Kafka",),
        ),
        Step(
            "AOT cache for brokers",
            lambda: _settled(lambda: aot.kafka_cache(kafka_version, find_java())),
            lambda shell: aot.train_kafka(kafka_version, find_java(), shell),
            after=("controller",),
            optional=True,
        ),
        Step(
            "AOT cache for the Java client",
            lambda: _settled(lambda: aot.client_cache(kafka_version, find_java())),
            lambda shell: aot.train_client(kafka_version, find_java(), shell),
            after=("controller",),
            optional=True,
        ),
        Step(
            "AOT cache for Spark",
            lambda: _settled(lambda: aot.spark_cache(find_java())),
            lambda shell: aot.train_spark(find_java(), shell),
            after=("Java",),
            optional=True,
            late=True,
        ),
    ]


def _succeeds(check: Callable[[], object]) -> bool:
    try:
        check()
    except SetupError:
        return False
    return True


def _settled(where: Callable[[], Path | None]) -> bool:
    """Whether there is nothing to train; there is, before Java and the jars are there."""
    try:
        return aot.is_settled(where())
    except SetupError:
        return False


def _how_many(kafka_version: str) -> str:
    if not kafka.is_locked(kafka_version):
        return "not pinned here: looked up, and checked against the registry's checksums"
    return f"{len(kafka.read_lock(kafka_version))} files"


def _fetch_jars(kafka_version: str, shell: Shell) -> None:
    from harness.provision import ivy, unpinned  # late: see the docstring of ivy

    if kafka.is_locked(kafka_version):
        ivy.fetch_jars(kafka_version, find_java(), shell)
    else:
        _say(f"set-up: {unpinned.adopt(kafka_version, find_java(), shell)}")


def _require_java(_: Shell) -> None:
    find_java()


def is_complete(kafka_version: str = kafka.DEFAULT_VERSION, *, late: bool = True) -> bool:
    """Whether every step is done, `late` ones included or not. No network, no lock, about 0.1 s."""
    return all(step.is_done() for step in steps(kafka_version) if late or not step.late)


def ensure(kafka_version: str = kafka.DEFAULT_VERSION, *, late: bool = True) -> list[str]:
    """Do every step that is not done, `late` ones included or not; what was done, a phrase each.

    One set-up at a time: others wait. SetupError if a step that runs need fails, BadInput for a
    version that there is not.
    """
    kafka.check_offered(kafka_version)
    return _ensure(lambda: [step for step in steps(kafka_version) if late or not step.late])


def ensure_client(kafka_version: str) -> list[str]:
    """As `ensure`, for the Java client of a Kafka version: it needs the jars and nothing more."""
    kafka.check_client_offered(kafka_version)
    return _ensure(lambda: steps(kafka_version)[:_OF_CLIENT])


def ensure_wheel(version: str) -> list[str]:
    """As `ensure`, for a version of confluent-kafka that members are to have."""
    wheels.check_offered(version)
    only = Step(
        f"{wheels.PACKAGE} {version}",
        lambda: wheels.is_set_up(version),
        lambda shell: _say(f"set-up: {wheels.install(version, shell)}"),
    )
    return _ensure(lambda: [only])


def _ensure(every: Callable[[], list[Step]]) -> list[str]:
    cache = make_cache_dir()
    with exclusive(cache, _say_waiting) as lock_fd:
        sweep_scratch(cache)
        return _Work(every(), Shell(cache / "logs", lock_fd)).do()


def finish(kafka_version: str = kafka.DEFAULT_VERSION) -> None:
    """Do what the set-up left for after the first verdict; a failure of that is a warning only."""
    if not is_complete(kafka_version):
        _say(
            "set-up goes on, so that later runs are judged sooner; Ctrl-C leaves it to "
            f"`{set_up()}`"
        )
        ensure(kafka_version)


def lock_kafka(kafka_version: str) -> Path:
    """For maintainers: pin the jars of another Kafka version; where the lock was written."""
    from harness.provision import unpinned  # late: see the docstring of ivy

    kafka.check_offered(kafka_version)
    ensure()
    cache = make_cache_dir()
    with exclusive(cache, _say_waiting) as lock_fd:
        return unpinned.pin(kafka_version, find_java(), Shell(cache / "logs", lock_fd))


def _say_waiting() -> None:
    print(
        f"another set-up is running in {cache_dir()}, waiting for it", file=sys.stderr, flush=True
    )


_ALIVE_EVERY_S: Final = 10.0  # a sign of life for someone who watches a minute of installing


class _Work:
    """Does steps, two at a time and each when what it needs is there."""

    def __init__(self, every: Sequence[Step], shell: Shell) -> None:
        self._every = every
        self._shell = shell
        undone = [step for step in every if not step.is_done()]
        self._todo = [
            step for step in every if any(each in undone for each in (step, *self._needs(step)))
        ]
        self._running: dict[Future[str], Step] = {}

    def do(self) -> list[str]:
        """Do them all; what was done, a phrase each, in their order."""
        if not self._todo:
            return []
        begun = time.monotonic()
        waiting, done = list(self._todo), dict[str, str]()
        with (
            ThreadPoolExecutor(max_workers=2, thread_name_prefix="set-up") as workers,
            self._ended(),
        ):
            while waiting or self._running:
                for step in [each for each in waiting if self._may_begin(each, done)]:
                    waiting.remove(step)
                    self._running[workers.submit(self._one, step)] = step
                ended, _ = wait(self._running, _ALIVE_EVERY_S, FIRST_COMPLETED)
                if not ended:
                    titles = " and ".join(step.title for step in self._running.values())
                    _say(f"set-up: {titles}, {time.monotonic() - begun:.0f} s so far")
                for future in ended:
                    step = self._running.pop(future)
                    done[step.title] = future.result()
        return [done[step.title] for step in self._todo if done[step.title]]

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """End what runs, should one step fail or somebody interrupt the set-up."""
        try:
            yield
        except BaseException:
            self._shell.stop()
            raise

    def _may_begin(self, step: Step, done: Collection[str]) -> bool:
        """A late one is done alone: it takes both processors."""
        left = [each for each in self._todo if each.title not in done and each is not step]
        if step.late:
            return not left
        needs = self._needs(step)
        return not any(each in needs for each in left)

    def _needs(self, step: Step) -> list[Step]:
        """The steps that have to be done before, and what those need."""
        direct = [each for each in self._every if step.after and each.title.startswith(step.after)]
        return [*direct, *(further for each in direct for further in self._needs(each))]

    def _one(self, step: Step) -> str:
        """Do it, if what it needed left something to do; what was done, "" for nothing."""
        if step.is_done():
            return ""
        label = f"set-up {self._every.index(step) + 1}/{len(self._every)}: {step.title}"
        _say(f"{label} …")
        begun = time.monotonic()
        try:
            step.do(self._shell)
        except HarnessError as error:
            if not step.optional:
                _say(f"{label} failed")
                raise
            _say(f"{label} failed\nwarning: {error}; runs start more slowly without it")
            return f"{step.title}: failed, going on without"
        took = f"{time.monotonic() - begun:.1f} s"
        _say(f"{label}: {took}")
        return f"{step.title}: {took}"


def _say(text: str) -> None:
    """One write, so that lines of two steps never mix."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def forget_failures(kafka_version: str = kafka.DEFAULT_VERSION) -> None:
    """Let trainings that failed be tried again: whoever types `make setup` wants to know."""
    try:
        java = find_java()
        caches = [aot.spark_cache(java)]
        if kafka.is_locked(kafka_version):  # else nothing of it can have failed
            caches += [
                aot.kafka_cache(kafka_version, java),
                aot.client_cache(kafka_version, java),
            ]
    except SetupError:
        return
    for cache in caches:
        if cache is not None:
            aot.failure_note(cache).unlink(missing_ok=True)
