"""A Java trust store of the certificates that Python trusts.

The bundled Java runtime knows the public authorities only. Where a company's proxy re-signs
traffic, pip works because Python was told about the company's authority; this tells Java too.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
from collections.abc import Iterable
from pathlib import Path

PASSWORD = "changeit"  # Java's customary one; it guards nothing but integrity
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2

# Where people tell Python's clients about authorities of their own.
BUNDLE_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def trusted_certificates() -> list[bytes]:
    """The certificates (DER) that Python and pip trust here; empty if Python names none."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    files = [Path(os.environ[name]) for name in BUNDLE_VARIABLES if os.environ.get(name)]
    # OpenSSL reads a folder of certificates only as it needs them, so get_ca_certs() would not
    # list them: load each file of it.
    if paths.capath and Path(paths.capath).is_dir() and not context.get_ca_certs():
        files += sorted(Path(paths.capath).iterdir())
    for file in files:
        _load(context, file)
    return sorted(context.get_ca_certs(binary_form=True))


def _load(context: ssl.SSLContext, file: Path) -> None:
    try:
        if file.is_file():
            context.load_verify_locations(cafile=file)
    except (ssl.SSLError, OSError):
        return  # a folder of certificates also holds other things


def jks(certificates: Iterable[bytes], stamp_ms: int = 0) -> bytes:
    """A Java key store (JKS, protected by PASSWORD) that trusts `certificates` (DER)."""
    entries = [_entry(number, der, stamp_ms) for number, der in enumerate(certificates)]
    body = struct.pack(">III", _MAGIC, _VERSION, len(entries)) + b"".join(entries)
    return body + _digest(body)


def _entry(number: int, der: bytes, stamp_ms: int) -> bytes:
    alias, kind = _utf(f"ca{number}"), _utf("X.509")
    header = struct.pack(">I", _TRUSTED) + alias + struct.pack(">Q", stamp_ms) + kind
    return header + struct.pack(">I", len(der)) + der


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


def _digest(body: bytes) -> bytes:
    # The format's own fixed recipe, SHA-1 and the salt included.
    salted = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return hashlib.sha1(salted, usedforsecurity=False).digest()


def java_options(folder: Path) -> list[str]:
    """Options that make a JVM trust what Python trusts; writes the store into `folder`."""
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
