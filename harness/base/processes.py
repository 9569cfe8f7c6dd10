"""Every process of a run carries the run's mark in its environment, so that nothing is ever lost.

The mark is there from the first instant of a process, is inherited by whatever the process starts,
and says whose run it is: a watchdog or a later start can end what a killed harness left, and cannot
touch anything else.

A program may lose its environment: `env -i` clears it, and a title that it gives itself is written
over it. What it prints still goes into a log of its run, and by that it is known then.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil

from harness.base.errors import WaitTimeout
from harness.base.paths import ROOT
from harness.base.priority import SHARES
from harness.base.wait import wait_until

RUN_MARK: Final = "KAFKA_CHAOS_RUN"
OWNER_MARK: Final = "KAFKA_CHAOS_OWNER"
MEMBER_MARK: Final = "KAFKA_CHAOS_MEMBER"  # whose program a process belongs to, children included
_WATCHDOG: Final = "harness.run.watchdog"
_SCRATCH: Final = "kafka-chaos-"  # what the names of scratch folders begin with
_LOGS: Final = "logs"  # the folder of a run in which each of its processes has a log
_LOG: Final = ".log"
_LOOK_S: Final = 0.02
_LINE_CHARS: Final = 400  # of a line in a message
_PATIENCE_S: Final = 30.0  # with a run whose processes go on starting others
# A watchdog's work at its longest: until no process was seen for a while, then two looks for
# containers, of which each may take as long as an engine may (`containers.remove_left`).
WATCHDOG_S: Final = 80.0
_KILLED_S: Final = 10.0  # until a killed process is gone
_UNSAID_S: Final = 2.0  # mostly it is through by then
_OWNER: Final = "owner"  # in each of them, the owner token of the process that made it
_ENDED: Final = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")  # of a process
_TOKEN: Final = re.compile(r"\d+:\d+(\.\d+)?(@[0-9a-fA-F-]*(#\d+)?)?")  # what `owner_token` makes


def owner_token(pid: int | None = None) -> str:
    """Identity of a process (this one by default) that a recycled pid cannot fake: `pid:start`.

    The start is in clock ticks since the boot: the time of day that can be made of them is another
    one after each step of the clock. Containers share a boot and not their pids, so the namespace
    of these is named as well. Raises OSError where there is no such process.
    """
    pid = os.getpid() if pid is None else pid
    return f"{pid}:{_stat(pid)[19]}@{_boot()}{_namespace()}"


def _stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on (proc(5))."""
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    # The command's name is in parentheses, and may hold spaces and parentheses itself.
    return stat.rpartition(")")[2].split()


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

    None outlives its boot. One of another namespace may run, as far as can be seen from here, and
    so may one whose entry in /proc is another user's and hidden (`hidepid`). A zombie has ended.
    """
    process, _, where = token.partition("@")
    boot, elsewhere, namespace = where.partition("#")
    if boot and _boot() and boot != _boot():
        return False
    if elsewhere and f"#{namespace}" != _namespace():
        return True
    number = process.partition(":")[0]
    if not _NUMBER.fullmatch(number):
        return False
    pid = int(number)
    try:
        found, state = owner_token(pid), _stat(pid)[0]
    except PermissionError:
        return True
    except (FileNotFoundError, ProcessLookupError):
        return psutil.pid_exists(pid)  # its entry is hidden
    return token in (found, found.partition("#")[0]) and state not in ("Z", "X")


def owner_dead(token: str) -> bool:
    """Whether a token names a harness, and that harness is gone.

    Not if it names none: what is missing or garbled is no proof that anything may be ended.
    """
    return bool(_TOKEN.fullmatch(token)) and not owner_alive(token)


def spawn(
    arguments: Sequence[str | Path],
    *,
    run: str,
    log: Path,
    stdin: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
) -> subprocess.Popen[bytes]:
    """Start a marked process in a session of its own, its output appended to `log`.

    Our own programs find their modules in `cwd`, wherever the harness was called from.

    A session of its own keeps Ctrl-C for the harness alone, which then ends things in order.
    """
    marks = {RUN_MARK: run, OWNER_MARK: os.environ.get(OWNER_MARK) or owner_token()}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {}), **marks},
            cwd=cwd,
            start_new_session=True,
        )
    SHARES.started(process.pid)
    return process


def python_module(module: str, *arguments: str) -> list[str]:
    """Command line of one of our own programs, by this interpreter.

    Its packages are those of its environment, whatever a PYTHONPATH names for the user's own.
    """
    return [sys.executable, "-E", "-m", module, *arguments]


def marked(run: str | None = None) -> list[tuple[psutil.Process, str, str]]:
    """(process, run, owner) of every living process with a mark; of one run if it is given."""
    return [
        (process, mark.run, mark.owner)
        for process, mark in _living()
        if run is None or mark.run == run
    ]


@dataclass(frozen=True)
class Mark:
    run: str
    owner: str
    member: str  # empty where it is no program's


def mark_of(pid: int) -> Mark | None:
    """The mark of a process; None where it has none, is gone, or is not ours to look at."""
    with suppress(psutil.Error, OSError):
        return _mark_of(psutil.Process(pid))
    return None


def _living() -> Iterator[tuple[psutil.Process, Mark]]:
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            if process.status() in _ENDED:
                continue
            mark = _mark_of(process)
        except (psutil.Error, OSError):
            continue  # gone, or not ours to look at
        if mark is not None:
            yield process, mark


def _mark_of(process: psutil.Process) -> Mark | None:
    environment = process.environ()
    if run := environment.get(RUN_MARK):
        owner, member = environment.get(OWNER_MARK, ""), environment.get(MEMBER_MARK, "")
        return Mark(run, owner, member)
    for number in (1, 2):
        with suppress(OSError):
            log = Path(f"/proc/{process.pid}/fd/{number}").readlink()
            if log.parent.name == _LOGS and log.suffix == _LOG:
                folder = log.parent.parent
                owner = (folder / _OWNER).read_text(encoding="utf-8")
                return Mark(folder.name, owner, log.stem) if _TOKEN.fullmatch(owner) else None
    return None


def of_member(run: str, member: str) -> list[psutil.Process]:
    """Every living process of one member's program, whatever it started, orphans included."""
    return [process for process, mark in _living() if (mark.run, mark.member) == (run, member)]


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

    SIGKILL also ends a process that a fault has stopped. A zombie counts as gone: its exit code is
    its parent's to take, and in a container whose first process does not wait it stays for good.
    """
    ended = []
    for process in processes:
        with suppress(psutil.Error):  # gone, or another process by now
            process.kill()
            ended.append(process)
    with suppress(WaitTimeout):
        wait_until("end of all", lambda: not any(map(_runs, ended)), timeout_s=patience_s)
    return len(ended)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() not in _ENDED
    except psutil.Error:
        return False


def end_run(run: str, *, keep: frozenset[int] = frozenset(), quiet_s: float = 0.0) -> int:
    """End every marked process of a run but those in `keep`, until there is none; how many.

    They are looked for again and again: one may just be starting another, or be between its fork
    and the mark that it gets with its environment. A caller that has not started them cannot know
    what is being started, so it looks on until none was seen for `quiet_s`.
    """
    count, begun = 0, time.monotonic()
    quiet_since = begun
    while time.monotonic() - begun < _PATIENCE_S + quiet_s:
        found = [process for process, _, _ in marked(run) if process.pid not in keep]
        if found:
            count += end(found)
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since >= quiet_s:
            break
        else:
            time.sleep(_LOOK_S)
    return count


def orphans() -> dict[str, list[psutil.Process]]:
    """Processes by run whose harness is gone; none that does not say whose it is."""
    found: dict[str, list[psutil.Process]] = {}
    for process, run, owner in marked():
        if owner_dead(owner):
            found.setdefault(run, []).append(process)
    return found


def scratch_folder(purpose: str) -> Path:
    """A new folder for temporary files, which `sweep_scratch` finds if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{purpose}-"))
    hold(folder)
    return folder


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    folder = scratch_folder(purpose)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hold(folder: Path) -> None:
    """Write down that a folder is this process's; at once, so that no reader finds half of it."""
    written = folder / f".{_OWNER}"
    written.write_text(owner_token(), encoding="utf-8")
    written.replace(folder / _OWNER)


def held(folder: Path) -> bool:
    """Whether the folder's owner may still be alive; false if it has none."""
    try:
        token = (folder / _OWNER).read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True  # of another user
    return owner_alive(token)


def has_owner(folder: Path) -> bool:
    """Whether the folder has the owner token of a process, as `hold` writes it."""
    try:
        return bool(_TOKEN.fullmatch((folder / _OWNER).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Keep the folder locked inside the context, as `clean` respects; an existing lock stays."""
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
        if has_owner(owner.parent) and not held(owner.parent):
            with suppress(OSError):  # just being removed
                shutil.rmtree(owner.parent)
                removed += 1
    return removed


def await_watchdogs(say: Callable[[str], None], patience_s: float = WATCHDOG_S) -> None:
    """Wait until the watchdogs of dead harnesses have done their work, or for so long."""
    at_work = {}
    for run, left in orphans().items():
        for process in left:
            with suppress(psutil.Error, OSError):  # it is done
                if _WATCHDOG in process.cmdline():
                    at_work[process] = run
    _, working = psutil.wait_procs(list(at_work), timeout=_UNSAID_S)
    if working:
        runs = ", ".join(sorted({at_work[process] for process in working}))
        say(f"waiting up to {patience_s:g} s for the watchdog of {runs}, which cleans up")
        psutil.wait_procs(working, timeout=patience_s)


def tell(process: subprocess.Popen[bytes], order: str) -> None:
    """Give a process an order, a line on its standard input.

    Raises BrokenPipeError if it is no more.
    """
    assert process.stdin is not None
    process.stdin.write(f"{order}\n".encode())
    process.stdin.flush()


def tell_last(process: subprocess.Popen[bytes], order: str) -> None:
    """As `tell`, and close its standard input; its exit code says whether it was still there."""
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:
        tell(process, order)


def messages(said: Iterable[str | bytes]) -> Iterator[Any]:
    """What a process says, a line of JSON each. A line in which it was killed is left out."""
    for line in said:
        with suppress(ValueError):
            yield json.loads(line)


def wait_exit(process: subprocess.Popen[Any], timeout_s: float) -> int | None:
    """Exit code of a child, or None if it still runs after `timeout_s`."""
    try:
        return process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None


def let_end(process: subprocess.Popen[Any], patience_s: float) -> int:
    """Close the standard input of a child, which ends it, and kill it if it is slow; exit code."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended by itself
        process.stdin.close()
    code = wait_exit(process, patience_s)
    if code is None:
        process.kill()
        code = process.wait(_KILLED_S)
    return code


def last_lines(log: Path, lines: int = 3) -> str:
    """The end of a log, on one line, for an error message."""
    if not log.exists():
        return "(no log)"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4_000))
        tail = file.read().decode(errors="replace").strip().splitlines()
    return " | ".join(line.strip()[-_LINE_CHARS:] for line in tail[-lines:]) or "(empty log)"
