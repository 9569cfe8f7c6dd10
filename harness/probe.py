"""The smallest possible Kafka client: one ApiVersions request, timed.

It sees a broker or a link by a path that has nothing to do with how a fault was injected, and needs
no client library whose own retries would hide what it looks for.
"""

import socket
import struct
import time
from dataclasses import dataclass

from harness.ports import LOOPBACK

_API_VERSIONS = 18


@dataclass(frozen=True)
class Answer:
    """What one probe saw; `ms` is the time to the answer, or to giving up."""

    outcome: str  # answered | silent | refused | cut
    ms: float

    def __str__(self) -> str:
        return f"{self.outcome} after {self.ms:.0f} ms"


def ask(port: int, *, timeout_s: float, padding_bytes: int = 0, address: str = LOOPBACK) -> Answer:
    """Ask a broker for its API versions over a new connection.

    `padding_bytes` makes the request longer (as a client id, so at most 32,000), to time a narrow
    link. Never raises for what the other side does.
    """
    client_id = b"probe" + b"-" * padding_bytes
    body = struct.pack(">hhih", _API_VERSIONS, 0, 1, len(client_id)) + client_id
    request = struct.pack(">i", len(body)) + body
    started = time.monotonic()

    def answer(outcome: str) -> Answer:
        return Answer(outcome, (time.monotonic() - started) * 1_000)

    try:
        with socket.create_connection((address, port), timeout=timeout_s) as link:
            link.sendall(request)
            while True:
                left_s = started + timeout_s - time.monotonic()
                if left_s <= 0:
                    return answer("silent")
                link.settimeout(left_s)
                if not link.recv(4_096):
                    return answer("cut")
                return answer("answered")
    except ConnectionRefusedError:
        return answer("refused")
    except TimeoutError:
        return answer("silent")
    except OSError:
        return answer("cut")
