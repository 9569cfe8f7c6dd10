"""The compose backend: an experiment on the cluster that `docker compose up` has brought up.

The cluster stays its owner's: a run adds its topic and its group, breaks and heals nodes, and takes
away what it added. What it has not is said before anything is touched: other lanes, other settings
or another number of nodes than docker-compose.yml has.
"""

import fcntl
import io
import tarfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from docker.errors import NotFound
from docker.models.containers import Container

from harness.base.errors import BadInput, ClusterError, SetupError
from harness.base.wait import wait_until
from harness.base.words import plural
from harness.cluster.admin import admin_of, described
from harness.cluster.containers import engine_errors
from harness.cluster.docker import TOXIPROXY, ContainerCluster, check_version
from harness.cluster.plan import (
    GROUP,
    IN_CONTAINERS,
    OUTPUT,
    TOPIC,
    LaneListener,
    Node,
    Plan,
    broker_settings,
)
from harness.cluster.proxies import Toxiproxy
from harness.experiment import Cluster
from harness.provision.cache import cache_dir

PROJECT: Final = "kafka-chaos"  # as docker-compose.yml names it
LANES: Final = ("members", "producers")
_TOXIPROXY_PORT: Final = 8474
_LABEL: Final = f"com.docker.compose.project={PROJECT}"
_SERVICE: Final = "com.docker.compose.service"
_NETWORK: Final = "com.docker.compose.network"
_ONCE: Final = "com.docker.compose.oneoff"
_LOGS: Final = Path("/tmp/kafka-chaos")  # within each container
_LOG_FILES: Final = ("server.log", "requests.log")
# Members that were killed are in the group until their sessions end, of 45 s at most as experiments
# declare them. That of one whose JoinGroup was waiting begins only when that of another, which it
# waited for, has ended. The rest is for a coordinator that is just being found.
_GROUP_S: Final = 2 * 45.0 + 30
_HEALED: Final = "healed "  # before the mark of a cluster whose run never came back


def plan_of(cluster: Cluster, lanes: tuple[str, ...], run: str) -> Plan:
    """The cluster of docker-compose.yml, for a run that it has everything for.

    Raises BadInput naming what the experiment needs and the file has not.
    """
    missing = sorted(set(lanes) - set(LANES))
    if missing:
        raise BadInput(
            f"this experiment needs a lane of its own for {', '.join(missing)}, and the cluster of "
            f"docker-compose.yml has {' and '.join(LANES)}: use --backend docker"
        )
    if (cluster.brokers, cluster.controllers) != (3, 1):
        raise BadInput(
            f"this experiment needs {plural(cluster.brokers, 'broker')} and "
            f"{plural(cluster.controllers, 'controller')}, and the cluster of docker-compose.yml "
            "has 3 and 1: use --backend docker"
        )
    brokers = []
    for number in (1, 2, 3):
        members = LaneListener("members", 9092, 29090 + number)
        producers = LaneListener("producers", 9093, 28090 + number)
        brokers.append(Node(number, "broker", 19090 + number, 9090, (members, producers)))
    return Plan(
        run=run,
        cluster_id="a2Fma2EtY2hhb3MtY29tcA",
        nodes=(Node(101, "controller", 19101), *brokers),
        lanes=LANES,
        toxiproxy_port=_TOXIPROXY_PORT,
        settings=broker_settings(cluster),
        hosts=IN_CONTAINERS,
    )


class ComposeCluster(ContainerCluster):
    """The containers of the compose project, for as long as a run lasts.

    Logs are copied out at the end: what was written since the start, from stopped containers too.
    """

    def __init__(self, plan: Plan, logs: Path, version: str) -> None:
        super().__init__(plan, logs, _LABEL)
        self._version = version
        self._lock: IO[str] | None = None
        self._taken = False  # it is on disk that a run has the cluster
        self._lengths: dict[str, int] = {}

    def start(self) -> None:
        """Take the cluster over as it is. Raises SetupError if it is not up, or not to be taken."""
        self._lock = _alone()
        left = _left(self._engine, self._lock)
        if left == "broken":
            _heal_left(self._engine, self._lock)
        self._find()
        self._await_proxies(lambda: self._is_up(TOXIPROXY), lambda: self._last_words(TOXIPROXY))
        for node in self.plan.nodes:
            self.await_serving(node.id)
            check_version(node.name, partial(self._read, node.name, "server.log"), self._version)
        self._check_settings()
        if left:
            self._forget_run()
        else:
            self._refuse_what_is_not_ours()
        identity = _identity(self._engine)
        self._taken = True  # from before the mark on: `stop` takes it away
        _mark(self._lock, identity)
        self.proxies.clear()
        for node in self.plan.nodes:
            for file in _LOG_FILES:
                before = _whole_lines(self._read(node.name, file))
                self._lengths[f"{node.name}.{file}"] = len(before)

    def _find(self) -> None:
        with engine_errors("a look at the compose project"):
            for container in _ours(self._engine):
                self._containers[container.labels[_SERVICE]] = container
            for network in self._engine.networks.list(filters={"label": _LABEL}):
                self._networks[network.attrs["Labels"][_NETWORK]] = network
        wanted = {TOXIPROXY, *(node.name for node in self.plan.nodes)}
        states = self._states()
        down = sorted(name for name in wanted if states.get(name) != "running")
        if down:
            paused = all(states.get(name) == "paused" for name in down)
            first = "docker compose unpause" if paused else "docker compose up --wait"
            raise SetupError(
                f"{', '.join(down)} of docker-compose.yml {'is' if len(down) == 1 else 'are'} not "
                f"running: `{first}` first"
            )

    def _check_settings(self) -> None:
        """Refuse a cluster whose brokers are set otherwise than the experiment declares."""
        found = described(self.plan)
        differing = [
            f"{name} is {found[name].value if name in found else 'not known'} and not {value}"
            for name, value in self.plan.settings.items()
            if name not in found or found[name].value != value
        ]
        if differing:
            raise SetupError(
                f"the cluster of docker-compose.yml has other settings than this experiment needs "
                f"({'; '.join(differing)}): use --backend docker, or change the file"
            )

    def _refuse_what_is_not_ours(self) -> None:
        """Refuse a cluster that has topics or a group of a run's names: they are its owner's."""
        admin = admin_of(self.plan)
        try:
            topics = set(admin.list_topics(timeout=10).topics) & {TOPIC, OUTPUT}
            groups = {each.group_id for each in admin.list_consumer_groups().result(30).valid}
        except (KafkaException, TimeoutError) as error:
            raise ClusterError(
                f"the brokers did not list their topics and groups: {error}"
            ) from error
        found = [f"topic {name}" for name in sorted(topics)]
        found += [f"group {GROUP}"] if GROUP in groups else []
        if found:
            raise SetupError(
                f"{' and '.join(found)} on the cluster of docker-compose.yml has a name that a run "
                "needs, and no run left it: remove it or rename it, or use --backend docker"
            )

    def _forget_run(self) -> None:
        admin = admin_of(self.plan)
        for done in admin.delete_topics([TOPIC, OUTPUT], operation_timeout=20).values():
            with suppress(KafkaException):  # it is not there
                done.result(timeout=30)

        self._forget_group(admin)

        def there() -> set[str]:
            return set(admin.list_topics(timeout=10).topics) & {TOPIC, OUTPUT}

        wait_until(
            "end of a run's topics on the cluster of docker-compose.yml",
            lambda: not there(),
            timeout_s=30,
            saw=lambda: ", ".join(there()),
        )

    def _forget_group(self, admin: AdminClient) -> None:
        """Delete the group. Raises WaitTimeout with the brokers' last word why it is there."""
        said = ""

        def gone() -> bool:
            nonlocal said
            [done] = admin.delete_consumer_groups([GROUP], request_timeout=20).values()
            try:
                done.result(timeout=30)
            except KafkaException as error:
                said = error.args[0].str()
                return bool(error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND)
            except TimeoutError:
                said = "no answer"
                return False
            return True

        wait_until(
            f"end of the group {GROUP} on the cluster of docker-compose.yml",
            gone,
            timeout_s=_GROUP_S,
            saw=lambda: said,
            every_s=1,
        )

    def _read(self, name: str, file: str) -> bytes:
        with engine_errors(f"to read the log of {name}"):
            try:
                parts, _ = self._containers[name].get_archive(f"{_LOGS}.{file}")
            except NotFound:
                return b""
            packed = io.BytesIO(b"".join(parts))
        with tarfile.open(fileobj=packed) as archive:
            found = archive.extractfile(archive.getmembers()[0])
            return found.read() if found else b""

    def stop(self) -> None:
        """Copy the logs out, and leave the cluster as it was found.

        Raises ClusterError naming what could not be copied: a record with a part missing is none.
        """
        try:
            self._give_back()
        finally:
            if self._lock is not None:
                self._lock.close()

    def _give_back(self) -> None:
        """Whatever becomes of the logs, on a full disk for one: the cluster is its owner's."""
        problems = self._copy_logs()
        if not self._taken:  # refused
            return
        heal(self._engine)
        for node in self.plan.nodes:
            self.await_serving(node.id)
        self._forget_run()
        assert self._lock is not None
        _mark(self._lock, "")
        self._taken = False
        if problems:
            raise ClusterError(
                f"the record lacks logs of the cluster of docker-compose.yml ({problems[0]}): see "
                "that the engine answers and the disk has room, and run again"
            )

    def _copy_logs(self) -> list[str]:
        """Copy out what was written since the start; what could not be copied, and why.

        In whole lines: brokers go on, so the last one may be half there.
        """
        problems = []
        for node in self.plan.nodes:
            if node.name not in self._containers:
                continue
            for file in _LOG_FILES:
                name = f"{node.name}.{file}"
                try:
                    text = self._read(node.name, file)[self._lengths.get(name, 0) :]
                    (self._logs / name).write_bytes(_whole_lines(text))
                except (ClusterError, OSError) as error:
                    problems.append(f"{name}: {error}")
        return problems


def _whole_lines(text: bytes) -> bytes:
    return text[: text.rfind(b"\n") + 1]


def _alone() -> IO[str]:
    """A lock that is held as long as the file is open. Raises SetupError if another run has it."""
    file = (cache_dir() / "compose.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise SetupError(
            "another run is on the cluster of docker-compose.yml: wait for its end, or use "
            "--backend docker"
        ) from error
    return file


def _mark(lock: IO[str], identity: str) -> None:
    """Write down which cluster a run has taken over; nothing once it has given it back."""
    lock.seek(0)
    lock.truncate()
    lock.write(identity)
    lock.flush()


def _left(engine: Any, lock: IO[str]) -> str:
    """Whether a run took this very cluster over and never gave it back: "broken", or "healed"."""
    lock.seek(0)
    mark = lock.read()
    identity = mark.removeprefix(_HEALED)
    if not identity or identity != _identity(engine):
        return ""
    return "healed" if mark.startswith(_HEALED) else "broken"


def _heal_left(engine: Any, lock: IO[str]) -> int:
    """Heal what a run broke that never gave the cluster back, and mark that; how many nodes.

    Once: what is broken after that, its owner broke.
    """
    healed = heal(engine)
    _mark(lock, f"{_HEALED}{_identity(engine)}")
    return healed


def _identity(engine: Any) -> str:
    """The containers of the cluster: brought up anew, it is another one."""
    with engine_errors("a look at the compose project"):
        return " ".join(sorted(str(container.id) for container in _ours(engine)))


def sweep(engine: Any, *, dry: bool = False) -> int:
    """Heal, once, what a run broke that cannot heal it any more; how many nodes.

    Nothing while a run is on the cluster. Where it is `dry`, nothing is healed: 1 if something
    would be. Raises ClusterError.
    """
    try:
        lock = _alone()
    except SetupError:
        return 0
    with lock:
        if _left(engine, lock) != "broken":
            return 0
        return 1 if dry else _heal_left(engine, lock)


def heal(engine: Any) -> int:
    """Put the file's nodes back as `docker compose up` left them; how many were not so.

    What else its owner has added to the project is left alone. Raises ClusterError.
    """
    healed = 0
    with engine_errors("to heal the compose project"):
        found = _ours(engine)
        for network in engine.networks.list(filters={"label": _LABEL}):
            short = network.attrs["Labels"][_NETWORK]
            for container in found:
                name = container.labels[_SERVICE]
                container.reload()
                there = container.attrs["NetworkSettings"]["Networks"]
                if short in _networks_of(name) and network.name not in there:
                    network.connect(container, aliases=[IN_CONTAINERS.of(name, short)])
                    healed += 1
        for container in found:
            if container.status == "paused":
                container.unpause()
            elif container.status != "running":
                container.start()
            else:
                continue
            healed += 1
    with suppress(ClusterError):
        Toxiproxy(_TOXIPROXY_PORT).clear()
    return healed


def _ours(engine: Any) -> list[Container]:
    """The containers of the file's own services, and no tool that runs once beside them."""
    services = {TOXIPROXY, *(node.name for node in plan_of(Cluster(), LANES, "").nodes)}
    return [
        container
        for container in engine.containers.list(all=True, filters={"label": _LABEL})
        if container.labels[_SERVICE] in services and container.labels.get(_ONCE) != "True"
    ]


def _networks_of(service: str) -> tuple[str, ...]:
    if service == TOXIPROXY:
        return ("outside", "lanes")
    return ("outside", "peers", "lanes") if service.startswith("broker") else ("outside", "peers")
