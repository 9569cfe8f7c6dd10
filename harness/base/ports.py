"""Loopback ports that stay ours for the length of a run.

A port that is merely found free can be taken by any outgoing connection while its broker is down.
So each one is held by a bound socket that never listens: with SO_REUSEADDR the broker listens
beside it. Where the number was asked for, its twin of UDP is held as well, and never shared.
"""

import socket
from types import TracebackType
from typing import Final, Self

from harness.base.errors import ClusterError

LOOPBACK: Final = "127.0.0.1"
LAST_PORT: Final = 65_535
_REMEDY: Final = "choose another --port-base, or leave it out to let the harness find free ports"


class Ports:
    """A set of held ports; use as a context manager."""

    def __init__(self, base: int | None = None, remedy: str = _REMEDY) -> None:
        """With `base`, hand out base, base + 1, …; else whatever the kernel finds free.

        `remedy` says what to do where one is taken.
        """
        self._next = base
        self._remedy = remedy
        self._held: list[socket.socket] = []

    def take(self) -> int:
        """One more port. Raises ClusterError if one counted from the base is taken, or is none."""
        wanted = 0 if self._next is None else self._next
        if wanted > LAST_PORT:
            raise ClusterError(
                f"there is no port after {LAST_PORT}: choose a lower --port-base, or leave it out "
                "to let the harness find free ports"
            )
        if wanted:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.settimeout(1)
                if probe.connect_ex((LOOPBACK, wanted)) == 0:
                    raise self._taken(wanted)
        holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind((LOOPBACK, wanted))
        except OSError as error:
            holder.close()
            raise self._taken(wanted) from error
        self._held.append(holder)
        if self._next is not None:
            # Another run with the same base could bind its holders beside ours, but not this.
            twin = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._held.append(twin)
            try:
                twin.bind((LOOPBACK, wanted))
            except OSError as error:
                raise self._taken(wanted) from error
            self._next += 1
        return int(holder.getsockname()[1])

    def _taken(self, port: int) -> ClusterError:
        return ClusterError(
            f"port {port} on {LOOPBACK} is taken by another program: {self._remedy}"
        )

    def release(self) -> None:
        while self._held:
            self._held.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
