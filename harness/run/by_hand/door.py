"""How `fault` and `down` reach the cluster that is up: a Unix socket in its folder.

Each connection asks for one thing, a line of JSON, and is told what happens, a line of JSON each:
`{"say": "…"}` as often as there is something to say, then `{"code": 0, "sentence": ""}`. The code
is an exit code, and the sentence says what went wrong. Whoever asks can have a fault healed before
its time: by one more line, whatever it says, or by going away.

Only processes of the socket's owner are heard.
"""

import json
import os
import selectors
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from harness.base.errors import (
    BadInput,
    ClusterError,
    Exit,
    HarnessError,
    NoData,
    SetupError,
)
from harness.run.folder import SCRATCH

_NAME: Final = "up.sock"  # among what is thrown away with the cluster
_LONGEST: Final = 65_536  # bytes of a request; whoever sends more is not one of ours
_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid (unix(7), SO_PEERCRED)
_ERRORS: Final = {error.exit_code: error for error in (ClusterError, BadInput, NoData)}


class Asked:
    """One connection: what it asks for, and what it is told."""

    def __init__(self, link: socket.socket, forget: Callable[["Asked"], None]) -> None:
        self.link = link
        self._forget = forget
        self._data = b""
        self.request: dict[str, Any] | None = None
        self.enough = False  # it has gone, or wants the heal now

    def take(self) -> bool:
        """Read what there is; whether a whole request has come with it."""
        try:
            data = self.link.recv(_LONGEST)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data or self.request is not None:
            self.enough = True
            self._forget(self)
            return False
        self._data += data
        line, whole, more = self._data.partition(b"\n")
        if whole:
            self.request = _request_in(line)
            self.enough = bool(more)
        if (whole and self.request is None) or len(self._data) >= _LONGEST:
            self.end(Exit.BAD_ARGUMENTS, "what came through the socket is no request")
            return False
        return bool(whole)

    def say(self, text: str) -> None:
        self._send({"say": text})

    def end(self, code: int = Exit.AS_EXPECTED, sentence: str = "") -> None:
        """Tell it how it ended, and hang up."""
        self._send({"code": int(code), "sentence": sentence})
        self.enough = True
        self._forget(self)
        self.link.close()

    def _send(self, message: dict[str, Any]) -> None:
        # Whoever does not read, or has gone, misses it: nobody here waits for that.
        with suppress(OSError):
            self.link.send(json.dumps(message).encode() + b"\n", socket.MSG_DONTWAIT)


def _request_in(line: bytes) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


class Door:
    """The end of the socket at which `up` listens."""

    def __init__(self, folder: Path) -> None:
        """Listen in a folder. Raises SetupError where it cannot hold a socket."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _short(folder) as address:
                before = os.umask(0o177)  # from its first moment nobody else may connect
                try:
                    self._listener.bind(address)
                finally:
                    os.umask(before)
        except OSError as error:
            self._listener.close()
            raise SetupError(
                f"{folder} cannot hold the socket that `fault` speaks to ({error.strerror}): "
                "choose another --results"
            ) from error
        self._listener.listen()
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._links: list[socket.socket] = []

    def asked(self, timeout_s: float) -> list[Asked]:
        """Whoever has asked for something meanwhile; at once if there is somebody."""
        whole = []
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._listener:
                self._let_in()
            elif key.data.take():
                whole.append(key.data)
        return whole

    def _let_in(self) -> None:
        try:
            link, _ = self._listener.accept()
        except OSError:  # it has gone again
            return
        if _uid_of(link) != os.getuid():
            link.close()
            return
        link.setblocking(False)
        self._links = [each for each in self._links if each.fileno() >= 0] + [link]
        self._selector.register(link, selectors.EVENT_READ, Asked(link, self._forget))

    def _forget(self, asked: Asked) -> None:
        with suppress(KeyError, ValueError):  # that is done already
            self._selector.unregister(asked.link)

    def close(self) -> None:
        self._selector.close()
        for link in self._links:
            link.close()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def ask(folder: Path, request: dict[str, Any], hear: Callable[[str], None]) -> None:
    """Ask the cluster in this folder, and hear what happens until it is over.

    Ctrl-C has a fault healed at once, and raises KeyboardInterrupt once it is. Raises the error
    that is told, and NoData where nobody listens any more.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        try:
            with _short(folder) as address:
                link.connect(address)
            link.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise NoData(
                f"the cluster in {folder} does not listen ({error.strerror}): it is just starting "
                "or ending, so try again in some seconds"
            ) from error
        _hear_all(folder, link, hear)


def _hear_all(folder: Path, link: socket.socket, hear: Callable[[str], None]) -> None:
    interrupted, data = False, b""
    while True:
        line, whole, rest = data.partition(b"\n")
        if whole:
            data = rest
            told = json.loads(line)
            if "say" in told:
                hear(told["say"])
                continue
            if told["code"]:
                raise _ERRORS.get(told["code"], HarnessError)(told["sentence"])
            if interrupted:
                raise KeyboardInterrupt
            return
        try:
            data += _received(folder, link)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            with suppress(OSError):  # it has ended meanwhile, and the next read says so
                link.sendall(b"heal\n")


def _received(folder: Path, link: socket.socket) -> bytes:
    with suppress(ConnectionResetError):
        if data := link.recv(_LONGEST):
            return data
    raise HarnessError(
        f"the cluster in {folder} ended before it said how this went: see its up.log"
    )


@contextmanager
def _short(folder: Path) -> Iterator[str]:
    """The address of a folder's socket; its own may be longer than the 107 bytes allowed."""
    number = os.open(folder / SCRATCH, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{_NAME}"
    finally:
        os.close(number)


def _uid_of(link: socket.socket) -> int:
    """Whose process is at the other end."""
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(credentials)
    return int(uid)
