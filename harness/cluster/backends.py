"""The backends there are: how a cluster's nodes are started, and how what is left is removed."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.base.ports import Ports
from harness.cluster.backend import RunningCluster
from harness.cluster.plan import IN_CONTAINERS, ON_LOOPBACK, Plan, draw_plan
from harness.experiment import Cluster, Experiment
from harness.provision.tools import Tools

_SOCKET: Final = Path("/var/run/docker.sock")
_ON_COMPOSE: Final = "on docker-compose.yml"


@dataclass(frozen=True)
class Backend:
    """`plan` draws a cluster for an experiment, and `make` gives one that is not started yet.

    `remove` ends what a run left that is no marked process, and returns how much.
    """

    plan: Callable[[Cluster, tuple[str, ...], str, Ports], Plan]
    make: Callable[[Plan, Tools, Path, Path], RunningCluster]
    remove: Callable[[str], int]


def backend_of(name: str, *, images: bool = False) -> Backend:
    """The backend of this name, which an experiment has checked.

    With `images` a run has containers whatever its brokers are: those of the program under test.
    """
    found = {"embedded": _embedded, "docker": _docker, "compose": _compose}[name]()
    return replace(found, remove=_remove_containers) if images and name == "embedded" else found


def _embedded() -> Backend:
    from harness.cluster.embedded import EmbeddedCluster

    return Backend(partial(draw_plan, hosts=ON_LOOPBACK), EmbeddedCluster, lambda _run: 0)


def _remove_containers(run: str) -> int:
    from harness.cluster import containers  # imports the SDK, which embedded runs do without

    return containers.remove_left(containers.connect(), [run])[run]


def _docker() -> Backend:
    from harness.cluster import containers
    from harness.cluster.docker import DockerCluster

    def make(plan: Plan, tools: Tools, folder: Path, logs: Path) -> RunningCluster:
        return DockerCluster(plan, tools, folder, logs, containers.kafka_image(tools.kafka_version))

    return Backend(partial(draw_plan, hosts=IN_CONTAINERS), make, _remove_containers)


def _compose() -> Backend:
    from harness.cluster import compose, containers

    return Backend(
        lambda cluster, lanes, run, _ports: compose.plan_of(cluster, lanes, run),
        lambda plan, tools, _folder, logs: compose.ComposeCluster(plan, logs, tools.kafka_version),
        lambda _run: compose.sweep(containers.connect()),
    )


def check_engines(
    experiments: Iterable[Experiment],
    elsewhere: Callable[[Experiment], bool] = lambda each: "embedded" in each.backends,
) -> None:
    """See, before runs begin, that their containers can be had; missing images are pulled.

    `elsewhere`: whether an experiment could be played without them. Raises SetupError, which
    otherwise every run would meet on its own, and BadInput for an image that runs nothing.
    """
    experiments = list(experiments)
    if apps := {each.app.image: each.app for each in experiments if each.app and each.app.image}:
        from harness.cluster import images

        with closing(images.connect()) as engine:
            for app in apps.values():
                images.look_up(engine, app)
    wanted = {(each.cluster.backend, each.cluster.kafka_version) for each in experiments}
    wanted = {(backend, version) for backend, version in wanted if backend != "embedded"}
    if not wanted:
        return
    from harness.cluster import containers

    needed = any(each.cluster.backend != "embedded" and not elsewhere(each) for each in experiments)
    otherwise = containers.NOT_HERE if needed else containers.EMBEDDED
    with closing(containers.connect(otherwise)) as engine:
        for version in sorted(version for backend, version in wanted if backend == "docker"):
            containers.fetch(engine, containers.kafka_image(version), "KAFKA_IMAGE")
            containers.fetch(engine, containers.toxiproxy_image(), "TOXIPROXY_IMAGE")


def sweep_backends(*, dry: bool = False) -> dict[str, int]:
    """Remove containers and networks of runs whose harness is gone; how many of each run.

    What one broke of the cluster of docker-compose.yml is healed, and counted too. If `dry`,
    nothing is changed. Nothing where no engine answers. Raises ClusterError where one refuses.
    """
    if "DOCKER_HOST" not in os.environ and not _SOCKET.exists():
        return {}
    from harness.cluster import containers

    try:
        engine = containers.connect()
    except SetupError:
        return {}
    from harness.cluster import compose

    left = containers.left(engine)
    removed = left if dry else containers.remove_left(engine, left)
    healed = compose.sweep(engine, dry=dry)
    return {**removed, **({_ON_COMPOSE: healed} if healed else {})}
