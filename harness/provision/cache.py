"""Where set-up keeps what it made, and how two set-ups stay out of each other's way."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import SetupError

REPOSITORY = Path(__file__).resolve().parents[2]
LOCKS = Path(__file__).resolve().parent / "locks"
# The folder may be shared with other programs, so the name must be of this project alone.
SCRATCH = "kafka-chaos-tmp-"
RECORD = ".kafka-chaos"  # in each folder that set-up makes and `clean --cache` may remove


def cache_dir() -> Path:
    """The cache folder: $KAFKA_CHAOS_CACHE, else below $XDG_CACHE_HOME, else below ~/.cache.

    Absolute, because class paths and environments made in it carry its name.
    """
    own = os.environ.get("KAFKA_CHAOS_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache").absolute() / "kafka-chaos"


def translations() -> Path:
    """The folder of the queries that were translated for DuckDB; nothing else is in it."""
    return cache_dir() / "translated-queries"


def make_cache_dir() -> Path:
    """The cache folder, made if it is not there. SetupError where it cannot be written."""
    cache = cache_dir()
    if os.pathsep in str(cache) or "," in str(cache):
        # One separates the jars of a class path, the other Kafka's log folders.
        raise SetupError(
            f"the cache folder {cache} has a {os.pathsep!r} or ',' in its path, which Java and "
            "Kafka take for a separator; name another folder in KAFKA_CHAOS_CACHE"
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "logs").mkdir(exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"the cache folder {cache} cannot be made ({error.strerror}); "
            "name another one in KAFKA_CHAOS_CACHE"
        ) from error
    return cache


@contextmanager
def exclusive(cache: Path, on_wait: Callable[[], None]) -> Iterator[int]:
    """Hold the set-up lock of `cache`; calls `on_wait` once if another set-up holds it.

    Yields the lock's file descriptor. A child process that inherits it keeps the lock until it
    ends, so a set-up that was killed in the middle of an install still shuts others out for as
    long as that install writes.
    """
    descriptor = os.open(cache / "setup.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """A folder for half-made things, on the cache's own disk: renames out of it are atomic."""
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=cache))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def mark(folder: Path) -> None:
    """Make a folder of the cache, and record that it is this project's."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / RECORD, "made by the set-up of kafka-chaos\n")


def is_marked(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def sweep_scratch(cache: Path) -> None:
    """Remove what killed set-ups left behind. Only for the holder of the set-up lock."""
    for folder in cache.glob(f"{SCRATCH}*"):
        shutil.rmtree(folder, ignore_errors=True)


def write_atomically(path: Path, text: str) -> None:
    """Write `path` so that a reader sees all of `text` or no file at all, a crash included."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
