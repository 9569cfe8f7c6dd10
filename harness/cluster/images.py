"""Images of programs under test: looked up, started as containers of a run, and followed.

They are started through testcontainers' core, with its reaper off: a run's containers carry its
labels, and end with everything else of it. A container is on this machine's own network, as a
process is: brokers, proxies and sinks are where they are for processes.

One thread waits for a container's end, another copies its output as it comes. The engine keeps all
of that, so a stream that breaks is begun anew, and what is still missing is read at the end: no
line is lost, and none is there twice.
"""

import os
import re
import signal
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.types import LogConfig
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from urllib3.exceptions import HTTPError

from harness.base.errors import BadInput, ClusterError, HarnessError, SetupError, VoidRun
from harness.cluster import containers
from harness.cluster.containers import engine_errors, said
from harness.experiment.app import App

PROGRAM_LABEL: Final = "kafka-chaos.program"
OTHERWISE: Final = "name the command that the image runs instead of the image"
_SOCKET: Final = "unix:///var/run/docker.sock"  # the SDK's own, used where no other is named
_HERE: Final = re.compile(r"(unix|npipe)://|tcp://(127\.|localhost\b|\[::1\])")
_TIMEOUT_S: Final = 60
# The whole log is kept until its container is removed, whatever the engine's settings say.
_LOG: Final = LogConfig(
    type=LogConfig.types.JSON, config={"max-size": "1000g", "mode": "blocking", "compress": "false"}
)
_WAIT_S: Final = 60.0  # for one answer about its end; asked again after that
_AGAIN_S: Final = 0.2
_PATIENCE_S: Final = 30.0  # for an engine that does not answer
_LOG_S: Final = 5.0  # for the stream of its output to end by itself
_KILLED: Final = 128 + signal.SIGKILL  # as engines write it
_BROKEN: Final = (DockerException, RequestException, HTTPError, OSError, struct.error)
# It has ended, or is in that state already.
_OVER: Final = re.compile(r"is not running|not paused|already paused|No such container", re.I)
_REMOVED: Final = ("removing", "dead")
_SHOWN: Final = 12  # characters of an id
_PROC: Final = Path("/proc")


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


class ProgramContainer:
    """A container that has been started; its output is appended to `log`."""

    def __init__(self, engine: docker.DockerClient, container: str, name: str, log: Path) -> None:
        self._api = engine.api
        self._id = container
        self._name = name
        self._killed = False
        self._end: tuple[int, int] | None = None  # its exit code, and epoch microseconds
        self._failed: HarnessError | None = None
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._written = 0
        self._caught_up = False
        self._log = log.open("ab", buffering=0)
        with engine_errors(f"a look at {name}"):
            self.pid: int = self._inspect()["Pid"]  # on this machine; 0 where it has ended already
        self._copier = threading.Thread(target=self._follow, daemon=True)
        self._copier.start()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def poll(self) -> int | None:
        """Its exit code once it has ended and all its output is in the log; a null while it runs.

        Negative is the signal that ended it. Raises HarnessError where that is not known any more.
        """
        if self._failed is not None:
            raise self._failed
        return None if self._end is None else self._end[0]

    @property
    def ended_at(self) -> int | None:
        """When it ended, by the engine, in epoch microseconds."""
        return None if self._end is None else self._end[1]

    def send_signal(self, number: signal.Signals) -> None:
        self._killed = self._killed or number == signal.SIGKILL
        with self._unless_over(f"{number.name} for {self._name}"):
            self._api.kill(self._id, signal=number.name)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def freeze(self) -> None:
        with self._unless_over(f"to pause {self._name}"):
            self._api.pause(self._id)

    def thaw(self) -> None:
        with self._unless_over(f"to let {self._name} go on"):
            self._api.unpause(self._id)

    @property
    def frozen(self) -> bool:
        with engine_errors(f"a look at {self._name}"):
            return bool(self._inspect()["Paused"])

    @property
    def gone(self) -> bool:
        """Whether nothing of it runs: what is in a container ends with its first process."""
        return self.poll() is not None

    @property
    def left(self) -> int:
        """None is, once its first process has ended."""
        return 0

    def __str__(self) -> str:
        with engine_errors(f"a look at {self._name}"):
            return f"the engine says {self._inspect()['Status']} of container {self._id[:_SHOWN]}"

    def drops(self, number: signal.Signals) -> bool:
        """Whether the kernel drops this signal: its first process is PID 1, and has no handler.

        No where it cannot be seen, as with an engine whose processes are not this machine's.
        """
        try:
            status = (_PROC / str(self.pid) / "status").read_text()
        except OSError:
            return False
        found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        inside = found.get("NSpid", "").split()
        caught = int(found.get("SigCgt", "0"), 16)
        return len(inside) > 1 and inside[-1] == "1" and not caught >> (number - 1) & 1

    def wait(self, timeout_s: float) -> int | None:
        self._watcher.join(timeout_s)
        return self.poll()

    def _inspect(self) -> dict[str, Any]:
        return dict(self._api.inspect_container(self._id)["State"])

    @contextmanager
    def _unless_over(self, doing: str) -> Iterator[None]:
        with engine_errors(doing):
            try:
                yield
            except APIError as error:
                if not _OVER.search(said(error)):
                    raise

    def _watch(self) -> None:
        try:
            state = self._await_end()
            self._over.set()
            self._copier.join(_LOG_S)
            self._catch_up()
        except ClusterError as error:
            self._failed = error
        except Exception as error:  # noqa: BLE001 (handed to the thread of the run)
            self._failed = ClusterError(f"{self._name} cannot be watched any more: {said(error)}")
        else:
            killed = state["ExitCode"] == _KILLED and (self._killed or state.get("OOMKilled"))
            code = -int(signal.SIGKILL) if killed else int(state["ExitCode"])
            self._end = code, _epoch_us(state["FinishedAt"])
        finally:
            self._over.set()
            with self._writing:
                self._caught_up = True
                self._log.close()

    def _await_end(self) -> dict[str, Any]:
        """How it is once it has ended. Raises ClusterError where that cannot be had."""
        answered = time.monotonic()
        while True:
            try:
                self._api.wait(self._id, timeout=_WAIT_S)
                state = self._inspect()
                answered = time.monotonic()
                if state["Status"] in _REMOVED:
                    raise self._removed()
                if not state["Running"]:
                    return state
                self._over.wait(_AGAIN_S)
            except NotFound:
                raise self._removed() from None
            except _BROKEN as error:
                # It runs longer than an answer is waited for, or the engine is in trouble.
                if self._answers():
                    answered = time.monotonic()
                elif time.monotonic() - answered > _PATIENCE_S:
                    raise ClusterError(
                        f"the Docker engine has not answered for {_PATIENCE_S:g} s "
                        f"({said(error)}), so nothing is known of {self._name}"
                    ) from error
                self._over.wait(_AGAIN_S)

    def _removed(self) -> ClusterError:
        return ClusterError(
            f"the container {self._id[:_SHOWN]} of {self._name} was removed by another program: "
            "leave the run's containers alone, and run again"
        )

    def _answers(self) -> bool:
        try:
            return bool(self._api.ping())
        except _BROKEN:
            return False

    def _follow(self) -> None:
        while not self._over.is_set():
            with suppress(*_BROKEN):  # the next one goes on where this one broke
                self._copy(follow=True)
            self._over.wait(_AGAIN_S)

    def _catch_up(self) -> None:
        with self._writing:
            self._caught_up = True  # a stream that is late writes nothing more
        with engine_errors(f"the output of {self._name}"):
            self._copy(follow=False)

    def _copy(self, *, follow: bool) -> None:
        """Copy one stream of its output, from the first byte that is not in the log yet."""
        at = 0
        for piece in self._api.logs(self._id, stdout=True, stderr=True, stream=True, follow=follow):
            with self._writing:
                if follow and self._caught_up:
                    return
                new = piece[max(0, self._written - at) :]
                at += len(piece)
                self._log.write(new)
                self._written += len(new)


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
        # No reaper, and the engine and image that were looked up, whatever a user's file says.
        testcontainers_config.ryuk_disabled = True
        testcontainers_config.tc_properties = {}
        testcontainers_config.hub_image_name_prefix = ""
        os.environ.setdefault("DOCKER_HOST", _SOCKET)
        self._asked = True
        try:
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
            with closing(made.get_docker_client().client):
                started = made.start().get_container_id()
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

    def remove(self) -> None:
        """Remove the containers of the run's program, and leave the engine alone from then on.

        Raises what `containers.remove_run` does.
        """
        containers.remove_run(self.engine, self.run, PROGRAM_LABEL)
        if self._asked:  # an interrupted harness asked for what the engine may make a moment later
            time.sleep(containers.IN_FLIGHT_S)
            containers.remove_run(self.engine, self.run, PROGRAM_LABEL)
        self.engine.close()


def _epoch_us(stamp: str) -> int:
    """A time of the engine's, which has nanoseconds, in epoch microseconds."""
    whole, _, fraction = stamp.removesuffix("Z").partition(".")
    seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    return round(seconds) * 1_000_000 + int(f"{fraction:0<6}"[:6])
