"""Every process of a run carries the run's mark in its environment, so that nothing is ever lost.

The mark is there from the first instant of a process (no list has to be written in time), it is
inherited by whatever the process starts, and it tells whose run it is: a watchdog or a later start
can end what a killed harness left, and cannot touch anything else.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import psutil

RUN_MARK: Final = "KAFKA_CHAOS_RUN"
OWNER_MARK: Final = "KAFKA_CHAOS_OWNER"
MEMBER_MARK: Final = "KAFKA_CHAOS_MEMBER"  # whose program a process belongs to, children included
_WATCHDOG: Final = "harness.run.watchdog"
_SCRATCH: Final = "kafka-chaos-"  # what the names of scratch folders begin with
_OWNER: Final = "owner"  # in each of them, the owner token of the process that made it
_TOKEN: Final = re.compile(r"\d+:\d+(\.\d+)?(@[0-9a-fA-F-]*(#\d+)?)?")  # what `owner_token` makes


def owner_token(pid: int | None = None) -> str:
    """Identity of a process (this one by default) that a recycled pid cannot fake: `pid:start`.

    Linux tells the start in clock ticks since the boot, and they are taken as they are: the time of
    day that can be made of them is another one after each step of the clock. Its containers share a
    boot and not their pids, so theirs name their namespace as well. Raises
    psutil.NoSuchProcess or OSError where there is no such process.
    """
    pid = os.getpid() if pid is None else pid
    if psutil.LINUX:
        return f"{pid}:{_start_ticks(pid)}@{_boot()}{_namespace()}"
    return f"{pid}:{psutil.Process(pid).create_time():.2f}"


def _start_ticks(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    # The command's name is in parentheses, and may hold spaces and parentheses itself.
    return stat.rpartition(")")[2].split()[19]


@cache
def _boot() -> str:
    """Which boot of the machine this is; nothing where that is hidden."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@cache
def _namespace() -> str:
    """In which namespace pids are counted here; nothing where that is hidden."""
    try:
        return f"#{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def owner_alive(token: str) -> bool:
    """Whether the harness that an owner token names still runs.

    None outlives its boot. One of another namespace may run, for all that can be told from here;
    a token that names none is of an older harness, and compared without it.
    """
    process, _, where = token.partition("@")
    boot, elsewhere, namespace = where.partition("#")
    if boot and _boot() and boot != _boot():
        return False
    if elsewhere and f"#{namespace}" != _namespace():
        return True
    try:
        found = owner_token(int(process.partition(":")[0]))
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError, ValueError):
        return False
    return token in (found, found.partition("#")[0])


def spawn(
    arguments: Sequence[str | Path],
    *,
    run: str,
    log: Path,
    stdin: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a marked process in a session of its own, its output appended to `log`.

    A session of its own keeps Ctrl-C for the harness alone, which then ends things in order.
    """
    marks = {RUN_MARK: run, OWNER_MARK: os.environ.get(OWNER_MARK) or owner_token()}
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(argument) for argument in arguments],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {}), **marks},
            cwd=cwd,
            start_new_session=True,
        )


def python_module(module: str, *arguments: str) -> list[str]:
    """Command line of one of our own programs, by this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def marked(run: str | None = None) -> list[tuple[psutil.Process, str, str]]:
    """(process, run, owner) of every living process with a mark; of one run if it is given."""
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            environment = process.environ()
        except (psutil.Error, OSError):
            continue  # gone, or not ours to look at
        mark = environment.get(RUN_MARK)
        if mark and (run is None or mark == run):
            found.append((process, mark, environment.get(OWNER_MARK, "")))
    return found


def of_member(run: str, member: str) -> list[psutil.Process]:
    """Every living process of one member's program, whatever it started, orphans included."""
    found = []
    for process, _, _ in marked(run):
        with suppress(psutil.Error, OSError):
            if process.environ().get(MEMBER_MARK) == member:
                found.append(process)
    return found


def uses(path: Path) -> bool:
    """Whether a living process was started from a file or folder, or with it in an argument."""
    for process in psutil.process_iter():
        try:
            started = [process.exe(), *process.cmdline()]
        except (psutil.Error, OSError):
            continue  # gone, or not ours to look at
        if any(str(path) in argument for argument in started):
            return True
    return False


def end(processes: Iterable[psutil.Process], *, patience_s: float = 5.0) -> int:
    """SIGKILL processes and wait until they are gone; returns how many there were.

    SIGKILL also ends a process that a fault has stopped.
    """
    ended = []
    for process in processes:
        try:
            process.kill()
            ended.append(process)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(ended, timeout=patience_s)
    return len(ended)


def end_run(run: str, *, keep: frozenset[int] = frozenset()) -> int:
    """End every marked process of a run but those in `keep`; twice, for what was just starting."""
    count = 0
    for _ in range(2):
        count += end(process for process, _, _ in marked(run) if process.pid not in keep)
    return count


def orphans() -> dict[str, list[psutil.Process]]:
    """Processes by run whose harness is gone."""
    found: dict[str, list[psutil.Process]] = {}
    for process, run, owner in marked():
        if not owner_alive(owner):
            found.setdefault(run, []).append(process)
    return found


def scratch_folder(purpose: str) -> Path:
    """A new folder for temporary files, which `sweep_scratch` finds if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{purpose}-"))
    hold(folder)
    return folder


def hold(folder: Path) -> None:
    """Write down that a folder is this process's; at once, for whoever reads it meanwhile."""
    written = folder / f".{_OWNER}"
    written.write_text(owner_token(), encoding="utf-8")
    written.replace(folder / _OWNER)


def held(folder: Path) -> bool:
    """Whether the process that a folder is of may still run; not where nobody holds it."""
    try:
        token = (folder / _OWNER).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True  # somebody else's
    return not token or owner_alive(token)  # an older harness writes it bit by bit


def has_owner(folder: Path) -> bool:
    """Whether the folder has the owner token of a process, as `hold` writes it."""
    try:
        return bool(_TOKEN.fullmatch((folder / _OWNER).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold a folder meanwhile, so that `clean` leaves it; whoever holds it already goes on to."""
    if held(folder):
        yield
        return
    hold(folder)
    try:
        yield
    finally:
        (folder / _OWNER).unlink(missing_ok=True)


def let_go(folder: Path) -> None:
    """Remove the owner token of a process that is gone."""
    if has_owner(folder) and not held(folder):
        (folder / _OWNER).unlink(missing_ok=True)


def sweep_scratch() -> int:
    """Remove scratch folders whose process is gone; returns how many."""
    removed = 0
    for owner in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*/{_OWNER}"):
        if not has_owner(owner.parent) or held(owner.parent):
            continue
        with suppress(OSError):  # just being removed
            shutil.rmtree(owner.parent)
            removed += 1
    return removed


def await_watchdogs(patience_s: float = 15.0) -> None:
    """Wait until the watchdogs of dead harnesses have done their work, or for so long."""
    at_work = []
    for process in (each for left in orphans().values() for each in left):
        try:
            at_work += [process] if _WATCHDOG in process.cmdline() else []
        except (psutil.Error, OSError):
            continue  # it is done
    psutil.wait_procs(at_work, timeout=patience_s)


def tell(process: subprocess.Popen[bytes], order: str) -> None:
    """Give a process an order, a line on its standard input.

    Raises BrokenPipeError if it is no more.
    """
    assert process.stdin is not None
    process.stdin.write(f"{order}\n".encode())
    process.stdin.flush()


def tell_last(process: subprocess.Popen[bytes], order: str) -> None:
    """As `tell`, and close its standard input; whether it is still there, its exit code tells."""
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:
        tell(process, order)


def wait_exit(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Exit code of a child, or None if it still runs after `timeout_s`."""
    try:
        return process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None


def last_lines(log: Path, lines: int = 3) -> str:
    """The end of a log, on one line, for an error message."""
    if not log.exists():
        return "(no log)"
    tail = log.read_bytes()[-4_000:].decode(errors="replace").strip().splitlines()
    return " | ".join(line.strip() for line in tail[-lines:]) or "(empty log)"
