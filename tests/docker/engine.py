"""A Docker engine for the tests where there is none, and images where no registry is reachable.

    python -m tests.docker.engine run COMMAND…

runs a command with KAFKA_IMAGE, TOXIPROXY_IMAGE and DOCKER_HOST set, so that the tests of the
docker backend have what they need. An engine that answers already is used as it is. Otherwise one
is installed from Debian's packages (as root) and started with a socket of its own; it is ended with
the command. Images are built from what `make setup` has fetched, on a base made by debootstrap:
they keep the contract of Kafka's own image (`java` on the path, jars in /opt/kafka/libs) and of
Toxiproxy's (its entry point is the server).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import docker
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import RequestException

from harness.errors import SetupError
from harness.provision import kafka
from harness.provision.cache import cache_dir
from harness.provision.java import find_java
from harness.provision.tools import resolve_tools
from harness.wait import wait_until

NEEDED: Final = "KAFKA_CHAOS_NEEDS_DOCKER"  # set: tests of the docker backend may not be left out
_REPOSITORY: Final = "kafka-chaos-test"
_BASE: Final = f"{_REPOSITORY}/base:bookworm"
_PACKAGES: Final = ("docker.io", "iptables", "debootstrap")


def main(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    if arguments[:1] != ["run"] or len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 4
    with _engine() as address:
        environment = {**os.environ, "DOCKER_HOST": address, NEEDED: "1", **images(address)}
        return subprocess.run(arguments[1:], env=environment, check=False).returncode


def answers(address: str | None) -> bool:
    """Whether an engine is there."""
    try:
        engine = docker.DockerClient(base_url=address) if address else docker.from_env()
        return bool(engine.ping())
    except (DockerException, RequestException):
        return False


@contextmanager
def _engine() -> Iterator[str]:
    """The address of an engine: the one there is, or one that lives as long as the body runs."""
    usual = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if answers(usual):
        yield usual
        return
    if shutil.which("dockerd") is None:
        _install()
    state = cache_dir() / "docker-engine"
    state.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-engine-") as folder:
        address = f"unix://{folder}/docker.sock"
        log = state / "dockerd.log"
        command = ["dockerd", "--host", address, "--data-root", str(state / "data")]
        command += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
        with (
            log.open("w") as output,
            subprocess.Popen(command, stdout=output, stderr=output) as daemon,
        ):
            try:
                wait_until(
                    "answer from the Docker engine",
                    lambda: answers(address) or daemon.poll() is not None,
                    timeout_s=60,
                    saw=lambda: log.read_text()[-1_000:],
                )
                if daemon.poll() is not None:
                    raise SetupError(f"the Docker engine did not start: see {log}")
                yield address
            finally:
                daemon.terminate()
                daemon.wait(timeout=30)


def _install() -> None:
    """Debian's packages, by root. Raises SetupError elsewhere."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError("no Docker engine answers, and only root of a Debian can install one")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *_PACKAGES],
    ):
        subprocess.run(command, env=quiet, check=True, stdout=subprocess.DEVNULL)


def images(address: str) -> dict[str, str]:
    """The images that tests use, built where they are not there; by what names them."""
    engine = docker.DockerClient(base_url=address, timeout=300)
    tools = resolve_tools()
    java = find_java()
    version = f"{tools.kafka_version}-{java.version}"
    built = {
        "KAFKA_IMAGE": f"{_REPOSITORY}/kafka:{version}",
        "TOXIPROXY_IMAGE": f"{_REPOSITORY}/toxiproxy:{tools.toxiproxy_version}",
    }
    if all(_present(engine, image) for image in built.values()):
        return built
    if not _present(engine, _BASE):
        _make_base(engine)
    _build(
        engine,
        built["KAFKA_IMAGE"],
        {"java": java.binary.parent.parent, "libs": kafka.home(tools.kafka_version) / "jars"},
        "COPY java /opt/java/openjdk\nCOPY libs /opt/kafka/libs\n"
        "ENV PATH=/opt/java/openjdk/bin:/usr/bin:/bin\n",
    )
    _build(
        engine,
        built["TOXIPROXY_IMAGE"],
        {"toxiproxy": tools.toxiproxy},
        'COPY toxiproxy /toxiproxy\nENTRYPOINT ["/toxiproxy"]\n',
    )
    return built


def _present(engine: docker.DockerClient, image: str) -> bool:
    try:
        engine.images.get(image)
    except ImageNotFound:
        return False
    return True


def _make_base(engine: docker.DockerClient) -> None:
    """A Debian with nothing but what must be there, from this machine's source of packages."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-base-") as folder:
        root, archive = Path(folder) / "root", Path(folder) / "base.tar"
        command = ["debootstrap", "--variant=minbase", "bookworm", str(root), _mirror()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
        name, _, tag = _BASE.partition(":")
        engine.api.import_image_from_file(str(archive), repository=name, tag=tag)


def _mirror() -> str:
    """Where apt gets this machine's packages."""
    sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    text = "\n".join(path.read_text() for path in sources if path.is_file())
    found = re.search(r"^(?:deb\s+(?:\[[^]]*\]\s+)?|URIs:\s*)(\S+)", text, re.MULTILINE)
    if found is None:
        raise SetupError("apt names no place to get packages from")
    return found[1]


def _build(engine: docker.DockerClient, tag: str, files: dict[str, Path], lines: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-image-") as folder:
        for name, source in files.items():
            if source.is_dir():
                shutil.copytree(source, Path(folder) / name, symlinks=True)
            else:
                shutil.copy(source, Path(folder) / name)
        (Path(folder) / "Dockerfile").write_text(f"FROM {_BASE}\n{lines}")
        engine.images.build(path=folder, tag=tag, rm=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
