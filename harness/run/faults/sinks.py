"""Faults of the sink that a program posts its work to: it answers late, or with 503."""

from contextlib import suppress
from typing import Final

from harness.base.errors import BadInput, WaitTimeout
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind, Lever, needs_latency
from harness.run.faults.targets import Target
from harness.run.scene import Scene
from harness.run.sink import Sink

_POST_S: Final = 5.0  # within which a program at work posts something
_SOON_S: Final = 5.0
_PROBE_S: Final = 2.0
_LATE: Final = "late"
_REFUSED: Final = "503"
_UNAVAILABLE: Final = 503


def _sink_of(scene: Scene) -> Sink:
    assert scene.fleet.sink is not None  # `with_app` has seen to it
    return scene.fleet.sink


def _poster(target: Target) -> str | None:
    """Whose posts are meant; null: those of all processes."""
    return target.name if target.kind == "member" else None


def _inject(scene: Scene, fault: Fault, target: Target) -> None:
    sink, poster = _sink_of(scene), _poster(target)
    scene.posted[target.name] = sink.posts(poster)
    sink.order(poster, delay_ms=fault.latency_ms or 0, refuses=fault.how == _REFUSED)


def _heal(scene: Scene, _fault: Fault, target: Target) -> None:
    _sink_of(scene).order(_poster(target))


def _settle(scene: Scene, fault: Fault, target: Target) -> None:
    """The order is on its way to the sink: wait until it answers at once again."""

    def answers() -> bool:
        answer = _sink_of(scene).ask(_poster(target), patience_s=_PROBE_S)
        late = fault.latency_ms is not None and answer.after_ms >= fault.latency_ms
        return answer.status not in (None, _UNAVAILABLE) and not late

    scene.wait("sink that answers again", answers, _SOON_S)


def _prove(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """The harness asks as a process would; and what is on record shows that somebody posts."""
    before = scene.posted.pop(target.name)
    bit, said = False, ""

    def answers_so() -> bool:
        nonlocal bit, said
        bit, said = _asked(scene, fault, _poster(target))
        return bit

    with suppress(WaitTimeout):  # the order is on its way to the sink
        scene.wait("sink that answers as it is told", answers_so, _SOON_S)
    if fault.how == _REFUSED:  # it keeps no posts any more
        return Evidence(bit and before > 0, f"{said}; {before} posts had come before")
    sink = _sink_of(scene)
    with suppress(WaitTimeout):
        scene.wait("post to the sink", lambda: sink.posts(_poster(target)) > before, _POST_S)
    since = sink.posts(_poster(target)) - before
    return Evidence(bit and since > 0, f"{said}; {since} posts have come since then")


def _asked(scene: Scene, fault: Fault, poster: str | None) -> tuple[bool, str]:
    wanted_ms = fault.latency_ms or 0
    patience_s = min(_PROBE_S, wanted_ms / 500 + 1) if fault.how != _REFUSED else _PROBE_S
    answer = _sink_of(scene).ask(poster, patience_s=patience_s)
    if answer.status is None:
        said = f"the sink gave the harness no answer within {patience_s:g} s"
        return fault.how != _REFUSED and wanted_ms >= patience_s * 1_000, said
    said = f"the sink answered the harness {answer.status} after {answer.after_ms:.0f} ms"
    if fault.how == _REFUSED:
        return answer.status == _UNAVAILABLE, said
    return answer.status != _UNAVAILABLE and answer.after_ms >= wanted_ms, said


def _check(fault: Fault, _experiment: Experiment) -> None:
    if fault.how != _REFUSED:
        needs_latency(fault, f", or how={_REFUSED!r}")
    elif fault.latency_ms is not None:
        raise BadInput(
            f"{fault.kind} of {fault.target} with {_REFUSED} answers at once: leave latency_ms out"
        )


_EFFECTS: Final = Effects(breaks=Breaks.DEPENDENCY)

KINDS: Final = (
    Kind(
        "slow-sink",
        ("sink", "member"),
        _inject,
        _prove,
        _heal,
        _settle,
        check=_check,
        takes=("latency_ms",),
        lever=Lever.SINK,
        effects={_LATE: _EFFECTS, _REFUSED: _EFFECTS},
    ),
)
