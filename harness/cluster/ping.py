"""One ApiVersions request, timed: does the broker answer, and how long does an answer take?

It sees a broker or a link by a path that has nothing to do with how a fault was injected.
"""

import time
from dataclasses import dataclass

from harness.base.ports import LOOPBACK
from harness.cluster import links, wire


@dataclass(frozen=True)
class Ping:
    """What one probe saw; `ms` is the time to the answer, or to giving up."""

    outcome: str  # answered | silent | refused | cut
    ms: float

    def __str__(self) -> str:
        return f"{self.outcome} after {self.ms:.0f} ms"


def ask(port: int, *, timeout_s: float, padding_bytes: int = 0, address: str = LOOPBACK) -> Ping:
    """Ask a broker for its API versions over a new connection.

    `padding_bytes` makes the request longer (as a client id, so at most 32,000), to time a narrow
    link. Never raises for what the other side does.
    """
    client_id = "probe" + "-" * padding_bytes
    started = time.monotonic()
    try:
        wire.ask(port, wire.API_VERSIONS, {}, timeout_s, address, client_id)
        outcome = "answered"
    except ConnectionRefusedError:
        outcome = "refused"
    except TimeoutError:
        outcome = "silent"
    except OSError:
        outcome = "cut"
    return Ping(outcome, (time.monotonic() - started) * 1_000)


class Witness:
    """An idle connection to a broker, made before something that may end it.

    Raises OSError if the broker does not answer over it within `timeout_s`.
    """

    def __init__(self, port: int, *, timeout_s: float) -> None:
        self._link = links.connect(port, timeout_s)
        try:
            wire.ask_over(self._link, wire.API_VERSIONS, {}, timeout_s, "probe")
        except OSError:
            self.close()
            raise

    def ended(self, *, timeout_s: float) -> bool:
        """Whether the other side has ended the connection, or does so within this time."""
        self._link.settimeout(timeout_s)
        try:
            return not self._link.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        self._link.close()
