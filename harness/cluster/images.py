"""Images of programs under test: looked up, and started as containers of a run.

They are started through testcontainers' core, with its reaper off: what a run starts carries the
run's labels, and is ended by whoever ends everything else of it. A container is on this machine's
own network, as a process is: brokers, proxies and sinks are where they are for processes, and
nothing of ours has to listen off loopback.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import docker
from docker.errors import DockerException
from docker.types import LogConfig
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from harness.base.errors import BadInput, SetupError, VoidRun
from harness.cluster import containers
from harness.cluster.program_container import ProgramContainer
from harness.experiment.app import App

PROGRAM_LABEL: Final = "kafka-chaos.program"
OTHERWISE: Final = "name the command that the image runs instead of the image"
_SOCKET: Final = "unix:///var/run/docker.sock"  # the SDK's own, said where nobody names another
_HERE: Final = re.compile(r"(unix|npipe)://|tcp://(127\.|localhost\b|\[::1\])")
_TIMEOUT_S: Final = 60
# The whole log is kept until its container is removed, whatever the engine's settings say.
_LOG: Final = LogConfig(
    type=LogConfig.types.JSON, config={"max-size": "1000g", "mode": "blocking", "compress": "false"}
)


@dataclass(frozen=True)
class Image:
    """One image, as it is here now: a name may mean another one tomorrow."""

    name: str
    id: str
    digests: tuple[str, ...]  # by which registries know it; none of one that was built here
    ports: tuple[str, ...]  # that its programs listen on, by its own word

    @property
    def record(self) -> dict[str, Any]:
        return {"name": self.name, "id": self.id, "digests": list(self.digests)}


def connect() -> docker.DockerClient:
    """The engine, whose containers can be on this machine's own network. Raises SetupError."""
    engine = containers.connect(OTHERWISE)
    where = os.environ.get("DOCKER_HOST") or _SOCKET
    with containers.engine_errors("to tell how it runs"):
        system = str(engine.info().get("OperatingSystem", ""))
        elsewhere = (
            not _HERE.match(where)
            or "name=rootless" in containers.security_of(engine)
            or "Docker Desktop" in system
        )
    if elsewhere:
        raise SetupError(
            f"containers of the Docker engine at {where} are not on this machine's own network "
            "(it is rootless, in a virtual machine, or elsewhere), so they could not reach the "
            f"run's brokers: use an engine that root runs here, or {OTHERWISE}"
        )
    return engine


def look_up(engine: docker.DockerClient, app: App) -> Image:
    """The image of an app, pulled where it is not here.

    Raises SetupError where it cannot be had, and BadInput where it says nothing that can be run.
    """
    containers.fetch(engine, app.image, "image in app.toml, or --image")
    with containers.engine_errors(f"a look at the image {app.image}"):
        found = engine.images.get(app.image)
    settings = found.attrs.get("Config") or {}
    if not (app.command or app.entrypoint or settings.get("Cmd") or settings.get("Entrypoint")):
        raise BadInput(
            f"the image {app.image} has neither an entry point nor a command: name one, as in "
            'command = ["/consumer"]'
        )
    return Image(
        app.image,
        str(found.id),
        tuple(sorted(found.attrs.get("RepoDigests") or ())),
        tuple(sorted(settings.get("ExposedPorts") or ())),
    )


class ProgramImage:
    def __init__(self, app: App, run: str) -> None:
        self.app, self.run = app, run
        self._asked = False  # for a container, and not answered yet
        self.engine = connect()
        self.image = look_up(self.engine, app)
        with containers.engine_errors("to tell how it runs"):
            remapped = "name=userns" in containers.security_of(self.engine)
        # Users that are remapped cannot be on the machine's own network.
        self._users = {"userns_mode": "host"} if remapped else {}

    def start(
        self,
        name: str,
        entrypoint: Sequence[str],
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        readable: Sequence[str] = (),
    ) -> ProgramContainer:
        """Start a container for the process of this name. Raises VoidRun where it cannot be.

        It may read the files `readable`, by the names that they have on this machine.
        """
        self._asked = True
        try:
            started = self._start(name, entrypoint, command, environment, readable)
            self._asked = False
        except (DockerException, RequestException) as error:
            self._asked = False
            # As it was declared: what is filled in may be secret.
            named = " ".join([*self.app.entrypoint, *self.app.command]) or "what it runs"
            raise VoidRun(
                f"{self.app.name} cannot be started from the image {self.app.image} "
                f"({containers.said(error)}): see that {named!r} is in it"
            ) from error
        return ProgramContainer(self.engine, started, name, log)

    def _start(
        self,
        name: str,
        entrypoint: Sequence[str],
        command: Sequence[str],
        environment: Mapping[str, str],
        readable: Sequence[str] = (),
    ) -> str:
        _configure()
        made = DockerContainer(
            self.image.id,
            docker_client_kw={"timeout": _TIMEOUT_S},
            env=dict(environment),
            name=f"kafka-chaos-{self.run}-{name}",
        ).with_kwargs(
            labels={**containers.labels(self.run), PROGRAM_LABEL: name},
            network="host",
            hostname=name,
            detach=True,
            log_config=_LOG,
            **({"entrypoint": list(entrypoint)} if entrypoint else {}),
            **self._users,
        )
        for file in readable:
            made.with_volume_mapping(file, file, "ro")
        if command:
            made.with_command(list(command))
        try:
            return made.start().get_container_id()
        finally:
            made.get_docker_client().client.close()

    def remove(self) -> None:
        """Remove the containers of the run's program, and leave the engine alone from then on.

        Raises what `containers.remove_run` does.
        """
        containers.remove_run(self.engine, self.run, PROGRAM_LABEL)
        if self._asked:  # an interrupted harness asked for what the engine may make a moment later
            time.sleep(containers.IN_FLIGHT_S)
            containers.remove_run(self.engine, self.run, PROGRAM_LABEL)
        self.engine.close()


def _configure() -> None:
    """No reaper, and the engine and the image that were looked up, whatever a user's file says."""
    testcontainers_config.ryuk_disabled = True
    testcontainers_config.tc_properties = {}
    testcontainers_config.hub_image_name_prefix = ""
    os.environ.setdefault("DOCKER_HOST", _SOCKET)
