"""How long a program under test may take: what its owner declares, else what is on record.

How long a program takes to start is unknown. But once it has asked to join, the coordinator keeps
it waiting no longer than the others have announced, and a killed one is missed for as long as it
announced.
"""

from typing import Final

from harness.run.scene import Patience, Scene

START_S: Final = 90.0  # of a Java Virtual Machine with a framework in it, beside other work
_STEADY_S: Final = 90.0
_COMMITS_S: Final = 30.0
_SLACK_S: Final = 60.0  # to be well again, once the last that was missed is given up
_LEAST_S: Final = 60.0
# From the end of a session to what it leads to: the rebalance, and a heartbeat that hears of it.
_EVICTED_S: Final = 5.0


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
