"""One container of a program under test: what it is told, how it is, and all that it prints.

One thread waits for its end, another copies its output as it comes. The engine keeps that output
whole as long as the container is there. So a stream of it that breaks is begun anew and read past
what has been written, and what is still missing at the end is read then: no line is lost, and none
comes twice.
"""

import re
import signal
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import docker
from docker.errors import APIError, DockerException, NotFound
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from harness.base.errors import ClusterError, HarnessError
from harness.cluster.containers import engine_errors, said

_WAIT_S: Final = 60.0  # for one answer about its end; asked again after that
_AGAIN_S: Final = 0.2
_PATIENCE_S: Final = 30.0  # for an engine that does not answer
_LOG_S: Final = 5.0  # for the stream of its output to end by itself
_KILLED: Final = 128 + signal.SIGKILL  # as engines write it
_BROKEN: Final = (DockerException, RequestException, HTTPError, OSError, struct.error)
# It ended meanwhile, or is in that state already.
_OVER: Final = re.compile(r"is not running|not paused|already paused|No such container", re.I)
_REMOVED: Final = ("removing", "dead")
_SHOWN: Final = 12  # characters of an id
_PROC: Final = Path("/proc")


@dataclass(frozen=True)
class _End:
    code: int
    at_us: int


class ProgramContainer:
    """A container that has been started; its output is appended to `log`."""

    def __init__(self, engine: docker.DockerClient, container: str, name: str, log: Path) -> None:
        self._api = engine.api
        self._id = container
        self._name = name
        self._killed = False
        self._end: _End | None = None
        self._failed: HarnessError | None = None
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._written = 0
        self._caught_up = False
        self._log = log.open("ab", buffering=0)
        with engine_errors(f"a look at {name}"):
            self.pid: int = self._inspect()["Pid"]  # on this machine; 0 where it has ended already
        self._copier = threading.Thread(target=self._follow, daemon=True)
        self._copier.start()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def poll(self) -> int | None:
        """Its exit code once it has ended and all its output is in the log; a null while it runs.

        Negative is the signal that ended it. Raises HarnessError where that is not known any more.
        """
        if self._failed is not None:
            raise self._failed
        return None if self._end is None else self._end.code

    @property
    def ended_at(self) -> int | None:
        """When it ended, by the engine, in epoch microseconds."""
        return None if self._end is None else self._end.at_us

    def send_signal(self, number: signal.Signals) -> None:
        self._killed = self._killed or number == signal.SIGKILL
        with self._unless_over(f"{number.name} for {self._name}"):
            self._api.kill(self._id, signal=number.name)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def freeze(self) -> None:
        with self._unless_over(f"to pause {self._name}"):
            self._api.pause(self._id)

    def thaw(self) -> None:
        with self._unless_over(f"to let {self._name} go on"):
            self._api.unpause(self._id)

    @property
    def frozen(self) -> bool:
        with engine_errors(f"a look at {self._name}"):
            return bool(self._inspect()["Paused"])

    @property
    def gone(self) -> bool:
        """Whether nothing of it runs: what is in a container ends with its first process."""
        return self.poll() is not None

    @property
    def left(self) -> int:
        """None is, once its first process has ended."""
        return 0

    def __str__(self) -> str:
        with engine_errors(f"a look at {self._name}"):
            return f"the engine says {self._inspect()['Status']} of container {self._shown}"

    def drops(self, number: signal.Signals) -> bool:
        """Whether the kernel drops this signal: its first process is PID 1, and has no handler.

        No where it cannot be seen, as with an engine whose processes are not this machine's.
        """
        try:
            status = (_PROC / str(self.pid) / "status").read_text()
        except OSError:
            return False
        found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        inside = found.get("NSpid", "").split()
        caught = int(found.get("SigCgt", "0"), 16)
        return len(inside) > 1 and inside[-1] == "1" and not caught >> (number - 1) & 1

    def wait(self, timeout_s: float) -> int | None:
        self._watcher.join(timeout_s)
        return self.poll()

    @property
    def _shown(self) -> str:
        return self._id[:_SHOWN]

    def _inspect(self) -> dict[str, Any]:
        return dict(self._api.inspect_container(self._id)["State"])

    @contextmanager
    def _unless_over(self, doing: str) -> Iterator[None]:
        with engine_errors(doing):
            try:
                yield
            except APIError as error:
                if not _OVER.search(said(error)):
                    raise

    def _watch(self) -> None:
        try:
            state = self._await_end()
            self._over.set()
            self._copier.join(_LOG_S)
            self._catch_up()
        except ClusterError as error:
            self._failed = error
        except Exception as error:  # noqa: BLE001 (handed to whoever follows the run)
            self._failed = ClusterError(f"{self._name} cannot be watched any more: {said(error)}")
        else:
            killed = state["ExitCode"] == _KILLED and (self._killed or state.get("OOMKilled"))
            code = -int(signal.SIGKILL) if killed else int(state["ExitCode"])
            self._end = _End(code, _epoch_us(state["FinishedAt"]))
        finally:
            self._over.set()
            with self._writing:
                self._caught_up = True
                self._log.close()

    def _await_end(self) -> dict[str, Any]:
        """How it is once it has ended. Raises ClusterError where that cannot be had."""
        answered = time.monotonic()
        while True:
            try:
                self._api.wait(self._id, timeout=_WAIT_S)
                state = self._inspect()
                answered = time.monotonic()
                if state["Status"] in _REMOVED:
                    raise self._removed()
                if not state["Running"]:
                    return state
                self._over.wait(_AGAIN_S)
            except NotFound:
                raise self._removed() from None
            except _BROKEN as error:
                # It runs longer than an answer is waited for, or the engine is in trouble.
                if self._answers():
                    answered = time.monotonic()
                elif time.monotonic() - answered > _PATIENCE_S:
                    raise ClusterError(
                        f"the Docker engine has not answered for {_PATIENCE_S:g} s "
                        f"({said(error)}), so nothing is known of {self._name}"
                    ) from error
                self._over.wait(_AGAIN_S)

    def _removed(self) -> ClusterError:
        return ClusterError(
            f"the container {self._shown} of {self._name} was removed by somebody else: leave the "
            "run's containers alone, and run again"
        )

    def _answers(self) -> bool:
        try:
            return bool(self._api.ping())
        except _BROKEN:
            return False

    def _follow(self) -> None:
        while not self._over.is_set():
            with suppress(*_BROKEN):  # the next one goes on where this one broke
                self._copy(follow=True)
            self._over.wait(_AGAIN_S)

    def _catch_up(self) -> None:
        """Copy what is still missing, once it has ended."""
        with self._writing:
            self._caught_up = True  # a stream that is late writes nothing more
        with engine_errors(f"the output of {self._name}"):
            self._copy(follow=False)

    def _copy(self, *, follow: bool) -> None:
        """Copy one stream of its output, from the first byte that is not in the log yet."""
        at = 0
        for piece in self._api.logs(self._id, stdout=True, stderr=True, stream=True, follow=follow):
            with self._writing:
                if follow and self._caught_up:
                    return
                new = piece[max(0, self._written - at) :]
                at += len(piece)
                self._log.write(new)
                self._written += len(new)


def _epoch_us(stamp: str) -> int:
    """A time of the engine's, which has nanoseconds, in epoch microseconds."""
    whole, _, fraction = stamp.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    return round(seconds) * 1_000_000 + int(f"{fraction:0<6}"[:6])
