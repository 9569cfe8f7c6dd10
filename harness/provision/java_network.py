"""JVM options by which Java reaches what Python reaches: certificates, proxies, timeouts.

The bundled Java runtime knows the public authorities only. Where a company's proxy re-signs
traffic, pip works because Python knows the company's authority; a trust store passes it to Java.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
import urllib.parse
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

PASSWORD: Final = "changeit"  # Java's customary one; it guards nothing but integrity
# Java waits without end for an address that answers nothing.
_TIMEOUTS: Final = (
    "-Dsun.net.client.defaultConnectTimeout=30000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)
# Where people name authorities of their own for Python's clients.
BUNDLE_VARIABLES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def options(folder: Path) -> list[str]:
    """All of them; the trust store is written into `folder`."""
    return [*_trust(folder), *proxies(), *_TIMEOUTS]


def _trust(folder: Path) -> list[str]:
    certificates = trusted_certificates()
    if not certificates:
        return []  # Java's own list of public authorities is better than an empty one
    store = folder / "trust.jks"
    store.write_bytes(jks(certificates))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=jks",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]


def trusted_certificates() -> list[bytes]:
    """The certificates (DER) that Python and pip trust here; empty if Python names none."""
    context = ssl.create_default_context()
    files = [Path(os.environ[name]) for name in BUNDLE_VARIABLES if os.environ.get(name)]
    folder = Path(ssl.get_default_verify_paths().capath or os.devnull)
    # OpenSSL reads a folder of certificates only as it needs them, so get_ca_certs() does not list
    # them: load each file of it.
    if folder.is_dir() and not context.get_ca_certs():
        files += sorted(folder.iterdir())
    for file in files:
        with suppress(OSError):  # not a certificate, as ssl.SSLError, or not there
            context.load_verify_locations(cafile=file)
    return sorted(context.get_ca_certs(binary_form=True))


def jks(certificates: Iterable[bytes]) -> bytes:
    """A Java key store (JKS, protected by PASSWORD) that trusts `certificates` (DER)."""
    entries = [_entry(f"ca{number}", der) for number, der in enumerate(certificates)]
    body = struct.pack(">III", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    # The format's own fixed recipe, SHA-1 and the salt included.
    salted = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(salted, usedforsecurity=False).digest()


def _entry(alias: str, der: bytes) -> bytes:
    trusted, made_at = struct.pack(">I", 2), struct.pack(">Q", 0)
    head = trusted + _utf(alias) + made_at + _utf("X.509")
    return head + struct.pack(">I", len(der)) + der


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


def proxies() -> list[str]:
    found = []
    for scheme, address in urllib.request.getproxies().items():
        proxy = urllib.parse.urlsplit(address if "//" in address else f"//{address}")
        if scheme in ("http", "https") and proxy.hostname:
            port = proxy.port or (443 if proxy.scheme == "https" else 80)
            found += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={port}"]
    return found
