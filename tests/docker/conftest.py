"""Images of programs under test, built here: nothing of them is in any registry."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound

from harness.cluster import containers
from harness.provision import toxiproxy
from harness.provision.cache import cache_dir
from harness.provision.shell import Shell

SOURCE = Path(__file__).with_name("orders")
MODULES = Path(__file__).resolve().parents[2] / "consumers" / "apps" / "franz-go"
FILES = (SOURCE / "main.go", MODULES / "go.mod", MODULES / "go.sum")


@pytest.fixture(scope="session")
def image_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], str]]:
    """Makes an image of the test's program alone, with such lines; its name."""
    engine = containers.connect()
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in FILES))

    def of(lines: str) -> str:
        named = digest.copy()
        named.update(lines.encode())
        tag = f"kafka-chaos-test/orders:{named.hexdigest()[:12]}"
        try:
            engine.images.get(tag)
        except ImageNotFound:
            _build(engine, tmp_path_factory.mktemp("orders"), tag, lines)
        return tag

    yield of
    engine.close()


@pytest.fixture(scope="session")
def orders(image_of: Callable[[str], str]) -> str:
    """The image of a consumer, which has no shell."""
    return image_of('ENTRYPOINT ["/orders"]\n')


def _build(engine: docker.DockerClient, folder: Path, tag: str, lines: str) -> None:
    for file in FILES:
        shutil.copy(file, folder)
    go = toxiproxy.find_go(folder, Shell(cache_dir() / "logs"))
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-modcacherw", "GOWORK": "off"}
    subprocess.run(
        [str(go), "build", "-trimpath", "-o", "orders", "."],
        cwd=folder,
        env=environment,
        check=True,
    )
    (folder / "context").mkdir()
    (folder / "orders").rename(folder / "context" / "orders")
    (folder / "context" / "Dockerfile").write_text(f"FROM scratch\nCOPY orders /orders\n{lines}")
    engine.images.build(path=str(folder / "context"), tag=tag, rm=True)
