"""A Docker engine, images and `docker compose` for the tests of containers.

An engine that answers already is used as it is. Otherwise one is installed from Debian's packages
(as root) and started with a socket of its own; it is ended with the command. Where no registry can
be reached, images are built from what `make setup` has fetched, on a base made by mmdebstrap: they
keep the contract of Kafka's own image (`java` on the path, jars in /opt/kafka/libs, settings from
KAFKA_ variables by Kafka's own wrapper, volumes), and of Toxiproxy's, which starts the server.
Where there is no `docker compose`, as in Debian 12, that of Debian 13 is unpacked: building it from
source takes some minutes of two cores.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import docker
import psutil
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import RequestException

from harness.base import processes
from harness.base.errors import SetupError
from harness.base.wait import wait_until
from harness.cluster import containers
from harness.provision import kafka
from harness.provision.cache import cache_dir, make_cache_dir
from harness.provision.java import find_java
from harness.provision.tools import resolve_tools
from harness.run.interrupts import uninterrupted
from tests.machine.packages import install

_REPOSITORY: Final = "kafka-chaos-test"
_DEBIAN: Final = "bookworm"
_BASE: Final = f"{_REPOSITORY}/base:{_DEBIAN}"
_USUAL: Final = "unix:///var/run/docker.sock"
_COMPOSE: Final = "2.26.1-4"  # of Debian 13; needs no more of a system than Debian 12 has
_COMPOSE_SHA256: Final = {
    "amd64": "47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea",
    "arm64": "bbafaa666f3e7fa00ad36f2a8bab889f1c791ca8743d674e7267a3d07203869c",
}
_BASE_MAKER: Final = "mmdebstrap"
_PACKAGES: Final = ("docker.io", "iptables", _BASE_MAKER)
_END_S: Final = 30.0  # an engine ends its containers first
_KAFKA: Final = """\
COPY java /opt/java/openjdk
COPY libs /opt/kafka/libs
COPY run /etc/kafka/docker/run
ENV PATH=/opt/java/openjdk/bin:/usr/bin:/bin
RUN mkdir -p /opt/kafka/config /etc/kafka/secrets /var/lib/kafka/data /mnt/shared/config \
    && touch /etc/kafka/docker/log4j2.yaml /etc/kafka/docker/tools-log4j2.yaml \
        /etc/kafka/docker/server.properties
VOLUME ["/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"]
CMD ["/etc/kafka/docker/run"]
"""


@contextmanager
def engine() -> Iterator[dict[str, str]]:
    """An engine for as long as the body runs; the variables by which it and its images are found.

    Raises SetupError where there is none and none can be had.
    """
    with _engine() as address:
        yield {"DOCKER_HOST": address, "DOCKER_CONFIG": str(_compose()), **images(address)}


def lacking() -> tuple[str, ...]:
    """The packages to be installed before an engine can be had."""
    usual = os.environ.get("DOCKER_HOST", _USUAL)
    return () if answers(usual) or shutil.which("dockerd") else _PACKAGES


def answers(address: str | None) -> bool:
    """Whether an engine is there; where it usually is if `address` is None."""
    address = address or _USUAL
    if address.startswith("unix://"):  # the SDK leaves a socket open without an answer
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                attempt.connect(address.removeprefix("unix://"))
            except OSError:
                return False
    try:
        with closing(docker.APIClient(base_url=address)) as engine:  # which asks for its version
            return bool(engine.ping())
    except (DockerException, RequestException):
        return False


@contextmanager
def _engine() -> Iterator[str]:
    """The address of an engine: the one there is, or one that lives as long as the body runs."""
    usual = os.environ.get("DOCKER_HOST", _USUAL)
    if answers(usual):
        yield usual
        return
    install(*lacking())
    state = cache_dir() / "docker-engine"
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one engine at a time has the images
        data = state / "data"
        end_left(data)
        folder = processes.scratch_folder("engine")
        address = f"unix://{folder}/docker.sock"
        log = state / "dockerd.log"
        # Whatever ends this process, SIGKILL included, the kernel ends the engine in order.
        command = ["setpriv", "--pdeathsig", "TERM", "--", "dockerd"]
        command += ["--host", address, "--data-root", str(data)]
        command += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
        with (
            log.open("w") as output,
            # Out of the terminal's Ctrl-C: what is tested still cleans up with it.
            subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True
            ) as daemon,
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
                with uninterrupted(lambda text: print(text, file=sys.stderr)):
                    with suppress(psutil.NoSuchProcess):  # it did not start
                        _end(psutil.Process(daemon.pid))
                    _remove(folder)


def end_left(data: Path) -> None:
    """End an engine whose command is gone, and remove the folders of such ones.

    With the lock held: no other command can be using an engine on this data.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            name, *arguments = process.cmdline() or [""]
            if Path(name).name == "dockerd" and str(data) in arguments:
                _end(process)
    for folder in Path(tempfile.gettempdir()).glob("kafka-chaos-engine-*"):
        if processes.has_owner(folder) and not processes.held(folder):
            _remove(folder)


def _end(engine: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        engine.terminate()
        try:
            engine.wait(timeout=_END_S)
        except psutil.TimeoutExpired:
            engine.kill()
            engine.wait(timeout=_END_S)


def _remove(folder: Path) -> None:
    _unmount(folder.resolve())
    shutil.rmtree(folder, ignore_errors=True)


def _unmount(folder: Path) -> None:
    """Take away what the engine has mounted there and left: a host's network, for one."""
    mounts = [Path(each.mountpoint) for each in psutil.disk_partitions(all=True)]
    for mount in sorted((each for each in mounts if each.is_relative_to(folder)), reverse=True):
        subprocess.run(["umount", str(mount)], check=True)


def _compose() -> Path:
    """A folder of settings for the docker program, with `docker compose` in it."""
    if _has_compose(None):
        return Path(os.environ.get("DOCKER_CONFIG", Path.home() / ".docker"))
    home = cache_dir() / f"docker-compose-{_COMPOSE}"
    if not home.is_dir():
        _unpack_compose(home)
    if not _has_compose(home):
        raise SetupError(f"the docker program does not take the compose in {home}")
    return home


def _unpack_compose(home: Path) -> None:
    machine = _output("dpkg", "--print-architecture")
    if machine not in _COMPOSE_SHA256:
        raise SetupError(f"no `docker compose` is pinned for {machine}: install one")
    address = f"{_mirror()}pool/main/d/docker-compose/docker-compose_{_COMPOSE}_{machine}.deb"
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-compose-", dir=make_cache_dir()) as folder:
        pinned = f"SHA256:{_COMPOSE_SHA256[machine]}"
        package, files = Path(folder) / "compose.deb", Path(folder) / "files"
        # As apt fetches a package: through the proxies that its settings name.
        fetched = subprocess.run(
            ["/usr/lib/apt/apt-helper", "download-file", address, str(package), pinned],
            capture_output=True,
            text=True,
            check=False,
        )
        if fetched.returncode:
            raise SetupError(f"{address} cannot be fetched: {fetched.stderr.strip()}")
        subprocess.run(["dpkg-deb", "--extract", str(package), str(files)], check=True)
        (files / "usr/libexec/docker").rename(home)  # it has cli-plugins/docker-compose


def _has_compose(settings: Path | None) -> bool:
    options = ["--config", str(settings)] if settings else []
    try:
        asked = subprocess.run(
            ["docker", *options, "compose", "version"], capture_output=True, check=False
        )
    except OSError:
        return False
    return asked.returncode == 0


def images(address: str) -> dict[str, str]:
    """The images that tests use, by what names them: those that are named, else the default ones.

    Where neither is here nor can be pulled, some are built.
    """
    engine = docker.DockerClient(base_url=address, timeout=300)
    tools = resolve_tools()
    usual = {
        "KAFKA_IMAGE": containers.kafka_image(tools.kafka_version),
        "TOXIPROXY_IMAGE": containers.toxiproxy_image(),
    }
    with suppress(SetupError):
        for variable, image in usual.items():
            containers.fetch(engine, image, variable)
        return usual
    java = find_java()
    starts = Path(__file__).with_name("kafka-run.sh")
    digest = hashlib.sha256(starts.read_bytes() + _KAFKA.encode()).hexdigest()[:8]
    version = f"{tools.kafka_version}-{java.version}-{digest}"
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
        {
            "java": java.binary.parent.parent,
            "libs": kafka.home(tools.kafka_version) / "jars",
            "run": starts,
        },
        _KAFKA,
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
    if shutil.which(_BASE_MAKER) is None:
        install(_BASE_MAKER)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-base-") as folder:
        archive = Path(folder) / "base.tar"
        command = [_BASE_MAKER, "--quiet", "--variant=minbase", _DEBIAN, str(archive), _mirror()]
        subprocess.run(command, check=True)
        name, _, tag = _BASE.partition(":")
        engine.api.import_image_from_file(str(archive), repository=name, tag=tag)


def _mirror() -> str:
    """Where apt gets this machine's Debian from."""
    wanted = ["Origin: Debian", f"Codename: {_DEBIAN}", "Component: main", "Created-By: Packages"]
    found = _output("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted).split()
    if not found:
        raise SetupError(f"apt knows no source of Debian {_DEBIAN} to make a base image from")
    return found[0]


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _build(engine: docker.DockerClient, tag: str, files: dict[str, Path], lines: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-image-") as folder:
        for name, source in files.items():
            if source.is_dir():
                shutil.copytree(source, Path(folder) / name, symlinks=True)
            else:
                shutil.copy(source, Path(folder) / name)
        (Path(folder) / "Dockerfile").write_text(f"FROM {_BASE}\n{lines}")
        engine.images.build(path=folder, tag=tag, rm=True)
