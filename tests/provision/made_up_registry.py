"""A Maven registry on loopback with a made-up Kafka, for tests of what is looked up and checked."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.provision.ivy import LOGGING

KAFKA = ("org.apache.kafka", "kafka_2.13")
CLIENTS = ("org.apache.kafka", "kafka-clients")

_SETTINGS = """<ivysettings><settings defaultResolver="made-up"/>
<property name="ivy.checksums" value=""/>
<resolvers><ibiblio name="made-up" m2compatible="true" root="{url}"/></resolvers></ivysettings>
"""
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version>
<dependencies>{3}</dependencies></project>
"""
_NEEDS = """<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId>
<version>{2}</version></dependency>
"""


@dataclass
class Registry:
    """A folder that is served, and what was asked of it."""

    folder: Path
    settings: Path  # for KAFKA_CHAOS_IVY_SETTINGS
    asked: list[str] = field(default_factory=list)

    def has(
        self,
        organisation: str,
        artifact: str,
        version: str,
        *,
        needs: tuple[tuple[str, str, str], ...] = (),
        sums: tuple[str, ...] = ("sha1",),
    ) -> Path:
        """Put an artifact into it, with these checksums next to it; its jar."""
        folder = self.folder / organisation.replace(".", "/") / artifact / version
        folder.mkdir(parents=True)
        stem = f"{artifact}-{version}"
        wanted = "".join(_NEEDS.format(*need) for need in needs)
        (folder / f"{stem}.pom").write_text(_POM.format(organisation, artifact, version, wanted))
        jar = folder / f"{stem}.jar"
        jar.write_bytes(f"made up: {organisation}:{stem}".encode())
        for kind in sums:
            (folder / f"{jar.name}.{kind}").write_text(
                hashlib.new(kind, jar.read_bytes()).hexdigest()
            )
        return jar

    def has_kafka(self, version: str) -> Path:
        """Put a whole Kafka into it, three jars with one kind of checksum each; that of clients."""
        clients = self.has(*CLIENTS, version, sums=("sha512", "sha1"))
        self.has(*KAFKA, version, needs=((*CLIENTS, version),), sums=("sha256",))
        self.has(*LOGGING)
        return clients


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, asked: list[str], *args: object, **options: object) -> None:
        self._asked = asked
        super().__init__(*args, **options)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Nothing: what was asked is kept."""
        self._asked.append(self.path)


@contextmanager
def serving(tmp_path: Path) -> Iterator[Registry]:
    """An empty registry, for as long as the body runs."""
    folder = tmp_path / "registry"
    folder.mkdir()
    registry = Registry(folder, tmp_path / "ivysettings.xml")
    handler = partial(_Handler, registry.asked, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        registry.settings.write_text(
            _SETTINGS.format(url=f"http://127.0.0.1:{server.server_port}/")
        )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
