"""How the group of a run comes together: its first members start, join, and consume.

And how long a program under test may take: what its owner declares, else what is on record. How
long a program takes to start is unknown. But once it has asked to join, the coordinator keeps it
waiting no longer than the others have announced, and a killed one is missed for as long as it
announced.
"""

import time
from collections.abc import Sequence
from typing import Final

from harness.base.errors import VoidRun, WaitTimeout
from harness.run.member import Member
from harness.run.scene import Patience, Scene

# The system gives each process as much as another, the brokers and the observer included. Two
# hundred that started at once left the observer without a look for 5.4 s, and in a deploy threads
# of all three brokers without a processor for 9 to 11 s.
_AT_ONCE: Final = 8
START_S: Final = 90.0  # of a Java Virtual Machine, with a framework in it, beside other work
_STEADY_S: Final = 90.0
_COMMITS_S: Final = 30.0
_SLACK_S: Final = 60.0  # to be well again, once the last that was missed is given up
_LEAST_S: Final = 60.0
# From the end of a session to what it leads to: the rebalance, and a heartbeat that hears of it.
_EVICTED_S: Final = 5.0


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
    scene.wait("start of the members", lambda: not _starting(members), START_S)
    return members


def await_room(scene: Scene, members: Sequence[Member]) -> None:
    """Wait until one more of our own members may start beside these. Raises WaitTimeout."""
    if _starting(members) >= _AT_ONCE:
        scene.wait("start of a member", lambda: _starting(members) < _AT_ONCE, START_S)


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
        scene.wait("steady state", scene.well, steady_s(scene))
        steady = True
        before = scene.fleet.processed()
        scene.wait(
            "records from every partition",
            lambda: scene.consuming(before),
            commits_s(scene),
        )
        scene.fleet.settled = True
    except WaitTimeout as timeout:
        if why := scene.experiment.app and scene.fleet.why_not_joined(steady=steady):
            raise VoidRun(f"{why} ({timeout})") from timeout
        raise


def start_s(scene: Scene) -> float:
    """From the start of a process until it asks to join."""
    assert scene.experiment.app is not None
    said = scene.experiment.app.start_s
    return START_S if said is None else said


def join_s(scene: Scene) -> float:
    """From the start of a process until it is in the group."""
    return start_s(scene) + scene.fleet.brokers.held_up_s()


def steady_s(scene: Scene) -> Patience:
    """From the start of the first processes until the group is steady."""
    if scene.experiment.app is None:
        return _STEADY_S
    said = scene.experiment.app.steady_s
    if said is None:
        return lambda: join_s(scene)
    return max(said, scene.experiment.app.start_s or 0.0)


def commits_s(scene: Scene) -> float:
    """From then on until each partition has been processed."""
    app = scene.experiment.app
    return max(_COMMITS_S, (app.steady_s or 0.0) if app is not None else 0.0)


def recover_s(scene: Scene) -> Patience:
    """From the end of a fault until the group is well again."""
    experiment = scene.experiment
    if experiment.app is None:
        return _SLACK_S + experiment.group.max_poll_interval_ms / 1_000
    said = experiment.app.steady_s or 0.0
    return lambda: max(said, _SLACK_S + max(_LEAST_S, scene.fleet.brokers.held_up_s()))


def missed_s(scene: Scene, name: str) -> float:
    """How long the group misses a program's process that was killed; 0: not on record."""
    session_s = scene.fleet.brokers.session_s(name)
    return 0.0 if session_s is None else session_s + _EVICTED_S
