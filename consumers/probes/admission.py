"""How a probe's connections are let in to a secured cluster: TLS, and a login by SCRAM (RFC 5802).

What a probe sends afterwards is its own affair: here everything is as Kafka's clients do it.
"""

import hashlib
import hmac
import secrets
import socket
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final

from harness.base.codec import answer_on, decoded, encoded
from harness.base.credentials import MECHANISM, Credentials

_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36
_HASH: Final = "sha512"
_UNBOUND: Final = "n,,"  # no channel binding: Kafka has none
_NONCE_BYTES: Final = 24
_ANSWER_S: Final = 10.0

Ask = Callable[[bytes], bytes]  # sends a message, and returns the one that answers it


class NotAdmitted(ConnectionError):
    """The broker does not let the probe in."""


class Admission:
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._context = credentials.context()

    def enter(self, link: socket.socket, host: str) -> socket.socket:
        """The connection, ready for requests. Raises OSError."""
        secure = self._context.wrap_socket(link, server_hostname=host)
        if self._credentials.user:
            try:
                _log_in(secure, self._credentials)
            except BaseException:
                secure.close()
                raise
        return secure


def _log_in(link: socket.socket, credentials: Credentials) -> None:
    name = encoded("mechanism:text", {"mechanism": MECHANISM})
    answer = decoded("error:h", _answer(link, _SASL_HANDSHAKE, 1, name))
    if answer["error"]:
        raise NotAdmitted(f"the broker refuses {MECHANISM} (error {answer['error']})")

    def ask(message: bytes) -> bytes:
        body = encoded("message:octets", {"message": message})
        data = _answer(link, _SASL_AUTHENTICATE, 0, body)
        answer = decoded("error:h why:text message:octets", data)
        if code := answer["error"]:
            raise NotAdmitted(f"the broker refuses the login (error {code}): {answer['why']}")
        return bytes(answer["message"])

    scram(credentials.user, credentials.password, secrets.token_hex(_NONCE_BYTES), ask)


def _answer(link: socket.socket, api: int, version: int, body: bytes) -> bytes:
    """The body of an answer to a request of an old version, whose header ends with a client id."""
    head = {"api": api, "version": version, "number": 1, "client": None}
    whole = encoded("api:h version:h number:i client:text", head) + body
    link.sendall(len(whole).to_bytes(4, "big") + whole)
    return answer_on(link, time.monotonic() + _ANSWER_S)[4:]  # less the correlation id


def scram(user: str, password: str, nonce: str, ask: Ask, digest: str = _HASH) -> None:
    """Log in. Raises NotAdmitted where the other side does not know the password either."""
    begun = f"n={user},r={nonce}"
    challenge = ask((_UNBOUND + begun).encode()).decode()
    given = dict(part.split("=", 1) for part in challenge.split(","))
    if not given["r"].startswith(nonce):
        raise NotAdmitted("the broker answers to a login that was not begun")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), b64decode(given["s"]), int(given["i"]))
    client_key = hmac.digest(salted, b"Client Key", digest)
    unproven = f"c={b64encode(_UNBOUND.encode()).decode()},r={given['r']}"
    agreed = f"{begun},{challenge},{unproven}".encode()
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), agreed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    verdict = ask(f"{unproven},p={b64encode(proof).decode()}".encode()).decode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), agreed, digest)
    if verdict != f"v={b64encode(expected).decode()}":
        raise NotAdmitted("the broker does not know the password of the user")
