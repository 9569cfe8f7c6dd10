"""How `fault` and `down` reach the cluster that is up: a Unix socket in its folder.

A connection is one request, a line of JSON. The answer is a line of JSON for each thing that
happens, `{"say": "…"}`, and then `{"code": 0, "sentence": ""}`: an exit code, and what went wrong.
A fault is healed before its time by one more line, whatever it says, or by the connection's end.

The socket is its owner's alone (mode 600), so no other user can connect.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from harness.base.errors import BadInput, ClusterError, Exit, HarnessError, NoData, SetupError
from harness.run.folder import SCRATCH

NAME: Final = "up.sock"  # among what is thrown away with the cluster
_LONGEST: Final = 65_536  # bytes of a request
_REQUEST_S: Final = 2.0  # a request follows the connection at once
_ERRORS: Final = {error.exit_code: error for error in (ClusterError, BadInput, NoData)}


class Request:
    def __init__(self, body: dict[str, Any], link: socket.socket) -> None:
        self.body = body
        self._link = link
        link.setblocking(False)  # `up` never waits for a client that does not read

    def wants_heal(self) -> bool:
        """Whether its fault is to be healed now; so it is once the connection has ended."""
        try:
            self._link.recv(_LONGEST)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def say(self, text: str) -> None:
        self._send({"say": text})

    def end(self, code: int = Exit.AS_EXPECTED, sentence: str = "") -> None:
        self._send({"code": int(code), "sentence": sentence})
        self._link.close()

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # it has gone, or does not read
            self._link.send(json.dumps(message).encode() + b"\n")


@contextmanager
def listening(folder: Path) -> Iterator[Callable[[float], Request | None]]:
    """Listen in a folder. Gives what waits so many seconds for the next request, if there is one.

    Raises SetupError where the folder cannot hold a socket.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            with _short(folder) as address:
                before = os.umask(0o177)  # from its first moment no other user may connect
                try:
                    listener.bind(address)
                finally:
                    os.umask(before)
        except OSError as error:
            raise SetupError(
                f"{folder} cannot hold the socket that `fault` speaks to ({error.strerror}): "
                "choose another --results"
            ) from error
        listener.listen()

        def next_request(timeout_s: float) -> Request | None:
            listener.settimeout(timeout_s)
            try:
                link, _ = listener.accept()
            except OSError:  # none came, or it has gone again
                return None
            return _taken(link)

        yield next_request


def _taken(link: socket.socket) -> Request | None:
    link.settimeout(_REQUEST_S)
    try:
        with link.makefile("rb", buffering=0) as lines:
            body = json.loads(lines.readline(_LONGEST))
        if isinstance(body, dict):
            return Request(body, link)
    except (OSError, ValueError):
        pass
    Request({}, link).end(Exit.BAD_ARGUMENTS, "what came through the socket is no request")
    return None


def ask(folder: Path, body: dict[str, Any], hear: Callable[[str], None]) -> None:
    """Ask the cluster in this folder, and hear what happens until it is over.

    Ctrl-C has a fault healed at once, and raises KeyboardInterrupt once it is. Raises the error
    that is answered, and NoData where `up` does not listen.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        try:
            with _short(folder) as address:
                link.connect(address)
            link.sendall(json.dumps(body).encode() + b"\n")
        except OSError as error:
            raise NoData(
                f"the cluster in {folder} does not listen ({error.strerror}): it is just starting "
                "or ending, so try again in some seconds"
            ) from error
        interrupted, data = False, b""
        while True:
            line, whole, rest = data.partition(b"\n")
            if not whole:
                try:
                    data += _received(folder, link)
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    with suppress(OSError):  # it has just ended, and the next read says so
                        link.sendall(b"heal\n")
                continue
            data, answer = rest, json.loads(line)
            if "say" in answer:
                hear(answer["say"])
            elif answer["code"]:
                raise _ERRORS.get(answer["code"], HarnessError)(answer["sentence"])
            elif interrupted:
                raise KeyboardInterrupt
            else:
                return


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
        yield f"/proc/self/fd/{number}/{NAME}"
    finally:
        os.close(number)
