"""Faults of brokers and controllers: kill and restart, pause and resume."""

from typing import Final

from harness import probe
from harness.errors import BadInput
from harness.experiment import Experiment, Fault
from harness.faults.kind import Evidence, Kind
from harness.faults.targets import Target
from harness.scene import Scene
from harness.wait import wait_until

_PROBE_S: Final = 1.0
_STOPPED_S: Final = 5.0


def _kill(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.kill(target.id)


def _prove_killed(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """A connection to its direct listener is refused: nobody is there."""
    answer = probe.ask(scene.cluster.plan.node(target.id).port, timeout_s=_PROBE_S)
    return Evidence(answer.outcome == "refused", f"direct listener of {target.name}: {answer}")


def _restart(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.restart(target.id)


def _pause(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.pause(target.id)


def _prove_paused(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """The kernel still takes connections for it, but no request is answered.

    The threads of a process stop one by one within milliseconds of the signal, and one of them may
    answer until then: an answer is asked for again.
    """
    answers: list[probe.Answer] = []

    def silent() -> bool:
        port = scene.cluster.plan.node(target.id).port
        answers.append(probe.ask(port, timeout_s=_PROBE_S))
        return answers[-1].outcome == "silent"

    wait_until(
        f"silence of {target.name}",
        silent,
        timeout_s=_STOPPED_S,
        saw=lambda: f"its direct listener {answers[-1]}",
        every_s=0.005,
    )
    return Evidence(True, f"direct listener of {target.name}: {answers[-1]}")


def _check_pause(fault: Fault, experiment: Experiment) -> None:
    """A paused coordinator can evict nobody, so the rules about evictions cannot be asked."""
    session_timeout_ms = experiment.group.session_timeout_ms
    asked = {expect.rule for expect in experiment.rules} & {"R01", "R02"}
    if asked and (fault.lasts_s or 0) * 1_000 >= session_timeout_ms:
        raise BadInput(
            f"the pause of {fault.lasts_s:g} s outlasts session_timeout_ms of "
            f"{session_timeout_ms / 1_000:g} s, and a paused coordinator evicts nobody, so "
            f"{' and '.join(sorted(asked))} cannot be told: leave them out, or pause shorter"
        )


def _resume(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.resume(target.id)


def _await_serving(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.await_serving(target.id)


KINDS: Final = (
    Kind(
        "kill-broker",
        ("broker", "controller"),
        True,
        _kill,
        _prove_killed,
        _restart,
        _await_serving,
    ),
    Kind(
        "pause-broker",
        ("broker", "controller"),
        True,
        _pause,
        _prove_paused,
        _resume,
        _await_serving,
        _check_pause,
    ),
)
