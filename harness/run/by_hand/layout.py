"""Clusters by hand: lanes for all that comes, ports that stay, settings for people; which are up.

One is up while its watchdog runs and its `up` lives.
"""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil

from harness.base import processes
from harness.base.errors import BadInput, NoData, SetupError
from harness.base.paths import COMMAND, here
from harness.cluster.plan import PROTOCOLS, protocols_of, share_replicas, within_limits
from harness.experiment import Cluster

NAME: Final = "by-hand"  # of the folder in which each of them has one
LANES: Final = ("members", "producers")
PORT_BASE: Final = 29_091  # as docker-compose.yml has it for members

_WATCHDOG: Final = "harness.run.watchdog"  # its arguments begin with the folder of its run
_OLD: Final = "3."  # its coordinator serves classic groups alone, as experiments have it
# What experiments turn off, since a topic that appears by itself would spoil them.
_EASY: Final = {"auto.create.topics.enable": "true", "num.partitions": "6"}
# As in docker-compose.yml: a group whose timers the brokers have notices a dead member as soon as a
# run's does. A broker that has no groups of some type knows nothing of their settings.
_TIMERS: Final = {
    f"group.{kind}.{which}{timer}.ms": value
    for kind in ("consumer", "share", "streams")
    for which in ("min.", "")
    for timer, value in (("session.timeout", "6000"), ("heartbeat.interval", "2000"))
}


def fitted(cluster: Cluster) -> Cluster:
    """The cluster with what brokers are set to here, unless its owner says otherwise."""
    version = cluster.kafka_version
    offered = {PROTOCOLS: protocols_of(version)}
    if not version.startswith(_OLD):
        offered |= _TIMERS | share_replicas(cluster)
    return replace(cluster, settings={**_EASY, **offered, **within_limits(cluster.settings)})


def standing() -> list[Path]:
    """The folders of all clusters by hand of this user that are up, or just starting or ending."""
    found = set()
    for process, _, _ in processes.marked():
        with suppress(psutil.Error, ValueError, IndexError):  # gone, or no watchdog
            arguments = process.cmdline()
            folder = Path(arguments[arguments.index(_WATCHDOG) + 1])
            if folder.parent.name == NAME and processes.held(folder):
                found.add(folder)
    return sorted(found)


def refuse_a_second(results: Path, port_base: int) -> None:
    """Refuse another one where `fault` would not know which is meant, or ports would be the same.

    Raises SetupError with the folder of the first.
    """
    for folder in standing():
        if folder.parent.parent == results or port_base == PORT_BASE:
            raise SetupError(
                f"a cluster is up already, in {here(folder)}: use that one, end it by "
                f"`{COMMAND} down`, or give this one a --port-base and a --results of its own"
            )


def the_one(results: Path) -> Path:
    """The folder of the cluster that is meant: the one below these results, else the only one.

    Raises NoData where none is up, BadInput where it is not clear which.
    """
    found = standing()
    near = [folder for folder in found if folder.parent.parent == results]
    if near or len(found) == 1:
        return (near or found)[0]
    if not found:
        raise NoData(f"no cluster is up: `{COMMAND} up` brings one up")
    raise BadInput(
        f"{len(found)} clusters are up, and none of them below {here(results)}: name one by "
        f"--results {' or '.join(here(folder.parent.parent) for folder in found)}"
    )
