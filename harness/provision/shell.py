"""Running other programs: their talk goes to a log, their failure becomes one sentence."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.base.errors import SetupError

# Where a network, a proxy or a mirror may be in the way.
FETCH_REMEDY = "check the network and the proxy, then run `make setup` again"

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
        """End what runs, and start nothing more: whoever waits for it gets a SetupError."""
        self._over.set()
        for process in list(self._running):
            process.kill()

    def run(
        self,
        what: str,
        args: Sequence[object],
        *,
        log: str,
        remedy: str = "look there for the reason, then run `make setup` again",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 1800,
    ) -> None:
        """Run `args` (each as a string) to its end, output appended to the log named `log`.

        Raises SetupError "<what> failed …" with the log's path and last line, and the remedy.
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
                process.kill()
            code = _wait(process, timeout_s)
            self._running.discard(process)
        if self._over.is_set():
            raise SetupError(f"{what} was ended, because the set-up was")
        if code is None:
            raise SetupError(
                f"{what} did not end within {timeout_s:.0f} s; its output is in {path}"
            )
        if code:
            raise SetupError(
                f"{what} failed: {_last_line(path, said_from)} (whole output in {path}); {remedy}"
            )


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """The exit code, or None (and the process ended) once `timeout_s` is over."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _last_line(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        lines = file.read().decode(errors="replace").splitlines()
    said = [line for line in lines if re.search(r"\w", line) and not line.startswith(BOILERPLATE)]
    return said[-1].strip(" \t:") if said else "it said nothing"
