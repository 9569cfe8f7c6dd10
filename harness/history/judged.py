"""The files of a judgement, which take the place of an earlier one's all together.

A judge writes into a folder of its own in the run's, which says whose it is. When all is
written, one rename makes it `READY`, and then its files are put into their places one by one. Who
is killed before that rename has changed nothing. Who is killed after it leaves `READY`, and what
reads or judges the run next, or `clean`, puts the rest into place first. So a run shows one
judgement, or the next one, and never parts of both.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from harness.base.errors import NoData
from harness.base.whole import half_of, writer_gone
from harness.history.derived import VERDICTS_FILE
from harness.history.manifest import FILE_NAME as MANIFEST

TABLES: Final = "tables"
VIOLATIONS: Final = "violations"
PAGES: Final = ("report.html", "timeline.svg", "summary.md", "junit.xml", "trace.json")
READY: Final = ".judged"  # in a run's folder: a judgement that is not all in its place yet
HALVES: Final = f"{READY}.*.tmp"  # one that is being written
_GONE: Final = "gone"  # in READY: the files of before that have no successor, a line each
_REST: Final = (MANIFEST, "history", "logs")  # what pages are made from, besides
_OURS: Final = re.compile(
    rf"(?:{TABLES}|{VIOLATIONS})/[^/]+\.parquet|{re.escape(VERDICTS_FILE)}|"
    + "|".join(map(re.escape, PAGES))
)


@contextmanager
def anew(run_dir: Path, *, pages_only: bool = False) -> Iterator[Path]:
    """A folder for all files of a judgement, or for all its pages; one process at a time has one.

    Manifest, history and logs are there as well. Its files take the place of all that were there
    before, unless the body raises.
    """
    with _alone(run_dir):
        _settle(run_dir)
        for left in run_dir.glob(HALVES):
            if writer_gone(left):
                shutil.rmtree(left, ignore_errors=True)
        folder = half_of(run_dir / READY)
        shutil.rmtree(folder, ignore_errors=True)  # this process, when it was interrupted
        folder.mkdir()
        try:
            for name in _REST:
                (folder / name).symlink_to(Path("..") / name)
            yield folder
            for name in _REST:
                (folder / name).unlink()
            _make_ready(run_dir, folder, pages_only=pages_only)
            # Interruptions are raised in the main thread, and what has begun here has to end.
            with ThreadPoolExecutor(max_workers=1, thread_name_prefix="settle") as worker:
                worker.submit(_settle, run_dir).result()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def settle(run_dir: Path) -> None:
    """Put what a killed process has left ready into its place: before a judged run is read.

    Raises NoData where that cannot be done here.
    """
    if not (run_dir / READY).is_dir():
        return
    try:
        with _alone(run_dir):  # a process that is just doing it needs a moment
            _settle(run_dir)
    except OSError as error:
        raise NoData(
            f"{run_dir} has parts of two judgements, because the process that wrote the second one "
            f"was killed, and they cannot be put in order ({error}): make its folder writable, "
            "with room on its disk"
        ) from error


def _make_ready(run_dir: Path, folder: Path, *, pages_only: bool) -> None:
    new = set(_files_of(folder))
    before = PAGES if pages_only else _files_of(run_dir)
    gone = [name for name in before if name not in new]
    (folder / _GONE).write_text("".join(f"{name}\n" for name in gone), encoding="utf-8")
    for parent in {(run_dir / name).parent for name in new}:
        parent.mkdir(exist_ok=True)  # what follows needs no room on the disk
    folder.rename(run_dir / READY)


def _settle(run_dir: Path) -> None:
    """Go on where anybody has stopped; nothing where nothing is ready."""
    ready = run_dir / READY
    if ready.is_symlink() or not ready.is_dir():
        return
    for name in _files_of(ready):
        with suppress(FileNotFoundError):  # on a file system without locks two may be at it
            (ready / name).replace(run_dir / name)
    with suppress(FileNotFoundError):
        for name in (ready / _GONE).read_text(encoding="utf-8").splitlines():
            if _OURS.fullmatch(name):
                (run_dir / name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        os.utime(run_dir / VERDICTS_FILE)  # the dataset takes what is newer than its own
    shutil.rmtree(ready)


def _files_of(folder: Path) -> list[str]:
    """The files of a judgement in a folder, by their paths from it; the verdicts last."""
    found = [
        f"{part}/{path.name}"
        for part in (TABLES, VIOLATIONS)
        for path in sorted((folder / part).glob("*.parquet"))
        if not path.name.startswith(".")
    ]
    return found + [name for name in (*PAGES, VERDICTS_FILE) if (folder / name).is_file()]


@contextmanager
def _alone(run_dir: Path) -> Iterator[None]:
    """Wait until no other process writes what a judgement of this run comes to."""
    folder = os.open(run_dir, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
