"""Set-up as a numbered list:

1. Python environment   2. Java   3. Kafka's jars   4. Toxiproxy   5. controller template
6. AOT cache for brokers   7. AOT cache for the Java client   8. AOT cache for Spark

Each step knows whether it is done, cheaply and without network, and how to do itself. A step
leaves either its whole result or nothing: it works in a scratch folder (or behind a completion
marker) and renames last. Steps that do not need each other are done two at a time. The last one
saves seconds of every start of Spark and takes longer than all others, so it is left for the run
after the first one (`leave_the_rest`, `do_the_rest`).
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

from harness.base.errors import HarnessError, SetupError
from harness.base.paths import set_up
from harness.provision import aot, environment, kafka, toxiproxy, wheels
from harness.provision.cache import (
    cache_dir,
    exclusive,
    make_cache_dir,
    sweep_scratch,
    write_atomically,
)
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
    do: Callable[[Shell], object]
    after: tuple[str, ...] = ()
    optional: bool = False
    late: bool = False


def steps(kafka_version: str = kafka.DEFAULT_VERSION, *, developers: bool = False) -> list[Step]:
    """All steps; for `developers` with an environment that has what tests and checks need too."""
    env, locks = environment.env_dir(), [environment.REQUIREMENTS]
    size = "about 40 packages, 1.2 GB"
    if developers:
        env, size = environment.developers_env(), "about 70 packages, 1.3 GB"
        locks.append(environment.DEVELOPERS)
    many = "not pinned here: looked up, and checked against the registry's checksums"
    if kafka.is_locked(kafka_version):
        many = f"{len(kafka.read_lock(kafka_version))} files"
    return [
        Step(
            f"Python environment ({size})",
            lambda: environment.is_complete(env),
            lambda shell: environment.install(env, locks, shell),
        ),
        Step("Java", lambda: _succeeds(find_java), lambda _: find_java(), after=("Python",)),
        Step(
            f"Kafka {kafka_version} jars ({many})",
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
        _cache("kafka", "brokers", kafka_version, after=("controller",)),
        _cache("client", "the Java client", kafka_version, after=("controller",)),
        _cache(aot.SPARK, "Spark", kafka_version, after=("Java",), late=True),
    ]


def _cache(
    purpose: str, whose: str, kafka_version: str, *, after: tuple[str, ...], late: bool = False
) -> Step:
    def is_done() -> bool:
        try:
            return aot.is_settled(aot.cache_of(purpose, kafka_version, find_java()))
        except SetupError:  # before Java and the jars are there
            return False

    def train(shell: Shell) -> None:
        aot.train(purpose, kafka_version, find_java(), shell)

    return Step(f"AOT cache for {whose}", is_done, train, after=after, optional=True, late=late)


def _succeeds(check: Callable[[], object]) -> bool:
    try:
        check()
    except SetupError:
        return False
    return True


def _fetch_jars(kafka_version: str, shell: Shell) -> None:
    from harness.provision import ivy  # late: see the docstring of ivy

    if kafka.is_locked(kafka_version):
        ivy.fetch_jars(kafka_version, find_java(), shell)
    else:
        _say(f"set-up: {ivy.adopt(kafka_version, find_java(), shell)}")


def is_complete(
    kafka_version: str = kafka.DEFAULT_VERSION, *, late: bool = True, developers: bool = False
) -> bool:
    """Whether every step is done, `late` ones included or not. No network, no lock, about 0.1 s."""
    return all(step.is_done() for step in _wanted(kafka_version, late, developers))


def ensure(
    kafka_version: str = kafka.DEFAULT_VERSION, *, late: bool = True, developers: bool = False
) -> list[str]:
    """Do every step that is not done, `late` ones included or not; what was done, a phrase each.

    One set-up at a time: others wait. SetupError if a step that runs need fails, BadInput for an
    unknown version.
    """
    kafka.check_offered(kafka_version)
    return _ensure(lambda: _wanted(kafka_version, late, developers))


def _wanted(kafka_version: str, late: bool, developers: bool) -> list[Step]:
    return [each for each in steps(kafka_version, developers=developers) if late or not each.late]


def ensure_client(kafka_version: str) -> list[str]:
    """As `ensure`, for the Java client of a Kafka version: it needs the jars and nothing more."""
    kafka.check_client_offered(kafka_version)
    return _ensure(lambda: steps(kafka_version)[:_OF_CLIENT])


def ensure_wheel(version: str) -> list[str]:
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
        return _do(every(), Shell(cache / "logs", lock_fd))


def leave_the_rest() -> None:
    """After a verdict: have the next run begin with the steps that could wait, and say so."""
    if not is_complete():
        with suppress(OSError):  # in a cache that is for reading only nothing is left to be done
            write_atomically(_rest(), "")
            _say(
                "set-up: the next run begins with what is left, two minutes of it, once, so that "
                f"runs are judged sooner; `{set_up()}` does it now"
            )


def do_the_rest() -> None:
    """Before a run: do the steps that an earlier one left."""
    if _rest().exists():
        if not is_complete():
            _say("set-up: what an earlier run left is done now, so that runs are judged sooner")
            ensure()
        _rest().unlink(missing_ok=True)


def _rest() -> Path:
    return cache_dir() / "set-up-has-a-rest"


def lock_kafka(kafka_version: str) -> Path:
    """For maintainers: pin the jars of another Kafka version; where the lock was written."""
    from harness.provision import ivy  # late: see the docstring of ivy

    kafka.check_offered(kafka_version)
    ensure()
    cache = make_cache_dir()
    with exclusive(cache, _say_waiting) as lock_fd:
        return ivy.pin(kafka_version, find_java(), Shell(cache / "logs", lock_fd))


def _say_waiting() -> None:
    print(
        f"another set-up is running in {cache_dir()}, waiting for it", file=sys.stderr, flush=True
    )


_ALIVE_EVERY_S: Final = 10.0  # a sign of life for someone who watches a minute of installing


def _do(every: Sequence[Step], shell: Shell) -> list[str]:
    """Do all steps that are not done; what was done, a phrase each, in their order.

    Two at a time, each when what it needs is there. A late one is done alone: it takes both
    processors.
    """
    if all(step.is_done() for step in every):
        return []
    begun, done = time.monotonic(), dict[str, str]()
    running: dict[Future[str], Step] = {}
    order = TopologicalSorter(
        {
            step: [other for other in every if not other.late]
            if step.late
            else [other for other in every if step.after and other.title.startswith(step.after)]
            for step in every
        }
    )
    order.prepare()
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="set-up") as workers:
        try:
            while order.is_active():
                for step in order.get_ready():
                    running[workers.submit(_one, step, every, shell)] = step
                ended, _ = wait(running, 1 if _drawn() else _ALIVE_EVERY_S, FIRST_COMPLETED)
                if not ended:
                    titles = " and ".join(step.title for step in running.values())
                    _say(f"set-up: {titles}, {time.monotonic() - begun:.0f} s so far", stays=False)
                for future in ended:
                    step = running.pop(future)
                    done[step.title] = future.result()
                    order.done(step)
        except BaseException:
            shell.stop()  # one step failed, or the set-up was interrupted
            raise
    return [done[step.title] for step in every if done[step.title]]


def _one(step: Step, every: Sequence[Step], shell: Shell) -> str:
    """Do a step, if what it needed left something to do; what was done, "" for nothing."""
    if step.is_done():
        return ""
    label = f"set-up {every.index(step) + 1}/{len(every)}: {step.title}"
    _say(f"{label} …")
    begun = time.monotonic()
    try:
        step.do(shell)
    except HarnessError as error:
        if not step.optional:
            _say(f"{label} failed")
            raise
        _say(f"{label} failed\nwarning: {error}; runs start more slowly without it")
        return f"{step.title}: failed, going on without"
    took = f"{time.monotonic() - begun:.1f} s"
    _say(f"{label}: {took}")
    return f"{step.title}: {took}"


def _say(text: str, *, stays: bool = True) -> None:
    """One write, so that lines of two steps never mix; on a terminal the next one may replace it.

    What draws elsewhere (`run.screen`) needs a library, which set-up brings.
    """
    if _drawn():
        wide = shutil.get_terminal_size().columns - 1
        text = f"\r\x1b[K{text if stays else text[:wide]}"
    sys.stderr.write(f"{text}\n" if stays or not _drawn() else text)
    sys.stderr.flush()


def _drawn() -> bool:
    """Whether there is a terminal to draw on; a CI system's log is none."""
    return sys.stderr.isatty() and not os.environ.get("CI")


def forget_failures(kafka_version: str = kafka.DEFAULT_VERSION) -> None:
    """Let trainings that failed be tried again: the command `setup` asks for that."""
    for purpose in aot.TRAINERS:
        with suppress(SetupError):  # nothing of it can have failed
            cache = aot.cache_of(purpose, kafka_version, find_java())
            if cache is not None:
                aot.failure_note(cache).unlink(missing_ok=True)
