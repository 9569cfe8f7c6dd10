"""How `fault` and `down` reach the cluster that is up: a Unix socket in its folder.

A connection is one request, JSON. The answer is a message for each thing that happens,
`{"say": "…"}`, and then `{"code": 0, "sentence": ""}`: an exit code, and what went wrong. A fault
is healed before its time by one more message, whatever it says, or by the connection's end.

The socket is its owner's alone (mode 600), so no other user can connect.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Final

from harness.base.errors import BadInput, ClusterError, Exit, HarnessError, NoData, SetupError
from harness.run.folder import SCRATCH

NAME: Final = "up.sock"  # among what is thrown away with the cluster
_REQUEST_S: Final = 2.0  # a request follows the connection at once
_ERRORS: Final = {error.exit_code: error for error in (ClusterError, BadInput, NoData)}


class Request:
    def __init__(self, body: dict[str, Any], link: "Connection[Any, Any]") -> None:
        self.body = body
        self._link = link

    def wants_heal(self) -> bool:
        """Whether its fault is to be healed now; so it is once the connection has ended."""
        try:
            return self._link.poll()
        except OSError:
            return True

    def say(self, text: str) -> None:
        self._send({"say": text})

    def end(self, code: int = Exit.AS_EXPECTED, sentence: str = "") -> None:
        self._send({"code": int(code), "sentence": sentence})
        self._link.close()

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # it has gone
            self._link.send_bytes(json.dumps(message).encode())


@contextmanager
def listening(folder: Path) -> Iterator[Callable[[float], Request | None]]:
    """Listen in a folder: what waits so long for the next request. Raises SetupError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        before = os.umask(0o177)  # from its first moment no other user may connect
        try:
            with _short(folder) as address:
                listener.bind(address)
        except OSError as error:
            raise SetupError(
                f"{folder} cannot hold the socket that `fault` speaks to ({error.strerror}): "
                "choose another --results"
            ) from error
        finally:
            os.umask(before)
        listener.listen()

        def next_request(timeout_s: float) -> Request | None:
            listener.settimeout(timeout_s)
            try:
                link, _ = listener.accept()
            except OSError:  # none came, or it has gone again
                return None
            link.setblocking(True)
            return _taken(Connection(link.detach()))

        yield next_request


def _taken(link: "Connection[Any, Any]") -> Request | None:
    with suppress(OSError, EOFError, ValueError):
        if link.poll(_REQUEST_S) and isinstance(body := json.loads(link.recv_bytes()), dict):
            return Request(body, link)
    Request({}, link).end(Exit.BAD_ARGUMENTS, "what came through the socket is no request")
    return None


def ask(folder: Path, body: dict[str, Any], hear: Callable[[str], None]) -> None:
    """Ask the cluster in this folder, and hear what happens until it is over.

    Ctrl-C heals a fault, and then raises KeyboardInterrupt. Raises NoData and what is answered.
    """
    try:
        with _short(folder) as address:
            link = Client(address, "AF_UNIX")
        link.send_bytes(json.dumps(body).encode())
    except OSError as error:
        raise NoData(
            f"the cluster in {folder} does not listen ({error.strerror}): it is just starting "
            "or ending, so try again in some seconds"
        ) from error
    interrupted = False
    with link:
        while True:
            try:
                link.poll(None)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                with suppress(OSError):  # it has just ended, and what comes next says so
                    link.send_bytes(b"heal")
                continue
            try:
                answer = json.loads(link.recv_bytes())
            except (OSError, EOFError):
                raise HarnessError(
                    f"the cluster in {folder} ended before it said how this went: see its up.log"
                ) from None
            if "say" in answer:
                hear(answer["say"])
            elif answer["code"]:
                raise _ERRORS.get(answer["code"], HarnessError)(answer["sentence"])
            elif interrupted:
                raise KeyboardInterrupt
            else:
                return


@contextmanager
def _short(folder: Path) -> Iterator[str]:
    """The address of a folder's socket; its own may be longer than the 107 bytes allowed."""
    number = os.open(folder / SCRATCH, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{NAME}"
    finally:
        os.close(number)
