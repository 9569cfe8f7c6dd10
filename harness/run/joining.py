"""How the group of a run comes together: its first members start, join, and consume."""

import time

from harness.base.errors import VoidRun, WaitTimeout
from harness.run.member import Member
from harness.run.scene import Scene


def start_ready(scene: Scene) -> list[Member]:
    """Start the members that join all at once, and wait until each is ready to.

    A Java Virtual Machine takes seconds to start, and not all of them as many. Whoever came
    after the first rebalance would be let in at its members' next heartbeats.
    """
    group = scene.experiment.group
    if scene.experiment.app is not None or group.arrive_every_ms:
        return []
    names = _first_members(scene)
    members = [scene.fleet.start_member(name, joins_when_told=True) for name in names]
    scene.wait("start of the members", lambda: all(each.started for each in members), 90)
    return members


def start(scene: Scene) -> None:
    """Start the group's first members, who join as soon as they can."""
    apart_s = scene.experiment.group.arrive_every_ms / 1_000
    for name in _first_members(scene):
        if apart_s and name != "member-1":
            scene.pass_time(time.monotonic() + apart_s)
        scene.fleet.start_member(name)


def _first_members(scene: Scene) -> list[str]:
    return [f"member-{number}" for number in range(1, scene.experiment.group.members + 1)]


def await_group(scene: Scene) -> None:
    """Wait until the group is steady and consumes. Raises VoidRun if a program never does."""
    try:
        scene.wait("steady state", scene.well, 90)
        before = scene.fleet.processed()
        scene.wait("records from every partition", lambda: scene.consuming(before), 30)
        scene.fleet.settled = True
    except WaitTimeout as timeout:
        if why := scene.experiment.app and scene.fleet.why_not_joined():
            raise VoidRun(f"{why} ({timeout})") from timeout
        raise
