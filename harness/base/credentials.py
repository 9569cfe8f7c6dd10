"""What a client proves itself by to a secured cluster, in the words of each library.

A run keeps it in a file of its scratch folder that only its user can read, and hands on the file's
name: so it is in no configuration, journal or manifest.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    import ssl

MECHANISM: Final = "SCRAM-SHA-512"
LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Whom to trust, and who one is: a user with a password, the owner of a certificate, or no one.

    `ca` is a file with the certificate that has signed all others, `certificate` one with a
    private key and its certificate; both are PEM.
    """

    ca: str
    user: str = ""
    password: str = field(default="", repr=False)
    certificate: str = ""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote. Raises OSError, ValueError or TypeError where that is damaged."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))

    def save(self, path: Path) -> None:
        """Write it where nothing is yet, for the eyes of this user alone. Raises OSError."""
        write_private(path, json.dumps(asdict(self)))

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.user else "SSL"

    def of_librdkafka(self) -> dict[str, str]:
        settings = {"security.protocol": self.protocol, "ssl.ca.location": self.ca}
        if self.user:
            settings |= {
                "sasl.mechanism": MECHANISM,
                "sasl.username": self.user,
                "sasl.password": self.password,
            }
        if self.certificate:
            settings |= {
                "ssl.certificate.location": self.certificate,
                "ssl.key.location": self.certificate,
            }
        return settings

    def of_java(self) -> dict[str, str]:
        """Settings of a client of Kafka's own, whose PEM files are understood from 2.7 on."""
        settings = {
            "security.protocol": self.protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
        }
        if self.user:
            login = f'{LOGIN} required username="{self.user}" password="{self.password}";'
            settings |= {"sasl.mechanism": MECHANISM, "sasl.jaas.config": login}
        if self.certificate:
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.certificate}
        return settings

    def context(self) -> ssl.SSLContext:
        """TLS as Python speaks it; the host asked for must be in the broker's certificate."""
        import ssl  # late: it takes 6 ms of a start, which only secured runs need

        context = ssl.create_default_context(cafile=self.ca)
        if self.certificate:
            context.load_cert_chain(self.certificate)
        return context


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can ever read. Raises OSError where there is one already."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600), "w") as file:
        file.write(text)
