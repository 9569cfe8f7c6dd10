"""Connections to brokers: as they are, or by TLS where the run's cluster is secured.

A process has to do with one cluster at a time, so which of the two it is holds for all of it.
Questions are asked several times a second on a connection each; a connection goes on with the TLS
session of the one before to the same port, which spares both sides most of the work.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.base.credentials import Credentials
from harness.base.ports import LOOPBACK

if TYPE_CHECKING:
    import ssl


@dataclass
class _Tls:
    context: ssl.SSLContext
    sessions: dict[tuple[str, int], ssl.SSLSession] = field(default_factory=dict)


_spoken: list[_Tls] = []  # the last one counts


@contextmanager
def secured(credentials: Credentials | None) -> Iterator[None]:
    """Have connections made inside speak TLS; none, where there are no credentials."""
    if credentials is None:
        yield
        return
    tls = _Tls(credentials.context())
    _spoken.append(tls)
    try:
        yield
    finally:
        _spoken.remove(tls)


def connect(port: int, timeout_s: float, address: str = LOOPBACK) -> socket.socket:
    """A connection to a broker, TLS agreed on. Raises OSError."""
    link = socket.create_connection((address, port), timeout=timeout_s)
    if not _spoken:
        return link
    tls, where = _spoken[-1], (address, port)
    try:
        return tls.context.wrap_socket(
            link, server_hostname=address, session=tls.sessions.get(where)
        )
    except BaseException:
        link.close()
        raise


def answered(link: socket.socket, port: int, address: str = LOOPBACK) -> None:
    """Note that an answer came over a connection: its session is known to both sides now."""
    session: ssl.SSLSession | None = getattr(link, "session", None)  # of TLS
    if _spoken and session is not None:
        _spoken[-1].sessions[address, port] = session
