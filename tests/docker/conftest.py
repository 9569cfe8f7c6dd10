"""An engine, commands of the harness that are killed, and images of programs under test.

Images are built here: nothing of them is in any registry.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import psutil
import pytest
from docker.errors import ImageNotFound

from harness.base.paths import ROOT
from harness.cluster import containers
from harness.provision import toxiproxy
from harness.provision.cache import cache_dir
from harness.provision.shell import Shell

SOURCE = Path(__file__).with_name("orders")
MODULES = Path(__file__).resolve().parents[2] / "consumers" / "apps" / "franz-go"
FILES = (SOURCE / "main.go", MODULES / "go.mod", MODULES / "go.sum")


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[docker.DockerClient]:
    client = containers.connect()
    client.api.timeout = 300
    yield client
    client.close()


def in_background(*arguments: str) -> subprocess.Popen[bytes]:
    """A command of the harness, which no Ctrl-C of the tests reaches."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def killed_with_its_watchdog(*arguments: str) -> Iterator[None]:
    """A command of the harness; at the end of the context its watchdog is killed, and then it."""
    with in_background(*arguments) as run:
        ours = psutil.Process(run.pid)
        try:
            yield
        finally:
            watchdogs = [
                each for each in ours.children() if "harness.run.watchdog" in each.cmdline()
            ]
            for process in (*watchdogs, ours):
                process.kill()
    assert 1 == len(watchdogs)


@pytest.fixture(scope="session")
def image_of(
    docker_engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Makes an image of the test's program alone, with such lines; its name."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in FILES))

    def of(lines: str) -> str:
        named = digest.copy()
        named.update(lines.encode())
        tag = f"kafka-chaos-test/orders:{named.hexdigest()[:12]}"
        try:
            docker_engine.images.get(tag)
        except ImageNotFound:
            _build(docker_engine, tmp_path_factory.mktemp("orders"), tag, lines)
        return tag

    return of


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
