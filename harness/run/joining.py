"""How the group of a run comes together: its first members start, join, and consume."""

import time
from collections.abc import Sequence
from typing import Final

from harness.base.errors import VoidRun, WaitTimeout
from harness.run import patience
from harness.run.member import Member
from harness.run.scene import Scene

_START_S: Final = 90.0
# The system gives each process as much as another, the brokers and the observer included. Two
# hundred that started at once left the observer without a look for 5.4 s, and in a deploy threads
# of all three brokers without a processor for 9 to 11 s.
_AT_ONCE: Final = 8


def start_ready(scene: Scene) -> list[Member]:
    """Start the members that join all at once, and wait until each is ready to.

    A JVM takes seconds to start, and not all of them as many: members that came after the first
    rebalance would be let in at the others' next heartbeats.
    """
    group = scene.experiment.group
    if scene.experiment.app is not None or group.arrive_every_ms:
        return []
    members: list[Member] = []
    for name in _first_members(scene):
        members.append(scene.fleet.start_member(name, joins_when_told=True))
        await_room(scene, members)
    scene.wait("start of the members", lambda: not _starting(members), _START_S)
    return members


def await_room(scene: Scene, members: Sequence[Member]) -> None:
    """Wait until one more of our own members may start beside these. Raises WaitTimeout.

    How far a program under test is, is unknown.
    """
    if _starting(members) >= _AT_ONCE:
        scene.wait("start of a member", lambda: _starting(members) < _AT_ONCE, _START_S)


def _starting(members: Sequence[Member]) -> int:
    return sum(not (each.started or each.foreign) for each in members)


def start(scene: Scene) -> None:
    apart_s = scene.experiment.group.arrive_every_ms / 1_000
    for name in _first_members(scene):
        if apart_s and name != "member-1":
            scene.pass_time(time.monotonic() + apart_s)
        scene.fleet.start_member(name)


def _first_members(scene: Scene) -> list[str]:
    return [f"member-{number}" for number in range(1, scene.experiment.group.members + 1)]


def await_group(scene: Scene) -> None:
    """Wait until the group is steady and consumes. Raises VoidRun if a program never does."""
    steady = False
    try:
        scene.wait("steady state", scene.well, patience.steady_s(scene))
        steady = True
        before = scene.fleet.processed()
        scene.wait(
            "records from every partition",
            lambda: scene.consuming(before),
            patience.commits_s(scene),
        )
        scene.fleet.settled = True
    except WaitTimeout as timeout:
        if why := scene.experiment.app and scene.fleet.why_not_joined(steady=steady):
            raise VoidRun(f"{why} ({timeout})") from timeout
        raise
