"""Running other programs: their talk goes to a log, their failure becomes one sentence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.base.errors import SetupError
from harness.base.paths import set_up

# Where a network, a proxy or a mirror may be in the way.
FETCH_REMEDY = f"check the network and the proxy, then run `{set_up()}` again"

# What pip and Ivy say last, whatever happened.
BOILERPLATE = ("[notice]", ":: USE VERBOSE")


@dataclass(frozen=True)
class Shell:
    """How a set-up step runs programs: logs go to `logs`, children inherit `lock_fd`."""

    logs: Path
    lock_fd: int | None = None
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End what runs, and start nothing more: those that wait for it get a SetupError."""
        self._over.set()
        for process in list(self._running):
            _kill(process)

    def run(
        self,
        what: str,
        args: Sequence[object],
        *,
        log: str,
        remedy: str = f"look there for the reason, then run `{set_up()}` again",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 1800,
        may_fail: bool = False,
    ) -> str:
        """Run `args` (each as a string) to its end; what it said, which the log named `log` has.

        Raises SetupError "<what> failed …" with the log's path and last line, and the remedy,
        unless it `may_fail`.
        """
        path = self.logs / log
        with path.open("ab") as output:
            output.write(f"\n$ {' '.join(map(str, args))}\n".encode())
            output.flush()
            said_from = output.tell()
            try:
                process = subprocess.Popen(
                    list(map(str, args)),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(env or {})},
                    pass_fds=() if self.lock_fd is None else (self.lock_fd,),
                )
            except OSError as error:
                raise SetupError(f"{what} failed: {args[0]} does not start ({error})") from error
            self._running.add(process)
            if self._over.is_set():
                _kill(process)
            code = _wait(process, timeout_s)
            self._running.discard(process)
        if self._over.is_set():
            raise SetupError(f"{what} was ended, because the set-up was")
        if code is None:
            raise SetupError(
                f"{what} did not end within {timeout_s:.0f} s; its output is in {path}"
            )
        said = path.read_bytes()[said_from:].decode(errors="replace")
        if code and not may_fail:
            raise SetupError(
                f"{what} failed: {_last_line(said)} (whole output in {path}); {remedy}"
            )
        return said


def answer(command: Sequence[object], timeout_s: float = 60) -> str:
    """What a program that ends at once prints. Raises SetupError where it does not run."""
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=timeout_s, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{command[0]} does not run ({error})") from error
    return done.stdout + done.stderr


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """The exit code, or None (and the process ended) once `timeout_s` is over."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _kill(process)
            process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL it and all that it has started, in sessions of their own too.

    A JVM that is being trained writes its cache when its parent is gone, for minutes.
    """
    started = _descendants(process.pid)
    process.kill()
    for pid in started:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """What a process has started, and what that has; nothing where there is no /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            # The command's name is in parentheses, and may hold spaces and parentheses itself.
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found, look_at = [], [pid]
    while look_at:
        below = children.get(look_at.pop(), [])
        found += below
        look_at += below
    return found


def _last_line(said: str) -> str:
    lines = [
        line
        for line in said.splitlines()
        if re.search(r"\w", line) and not line.startswith(BOILERPLATE)
    ]
    return lines[-1].strip(" \t:") if lines else "it said nothing"
