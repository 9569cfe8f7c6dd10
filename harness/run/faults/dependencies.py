"""Faults of what a program uses besides Kafka, or posts its work to: late answers, or none.

This is how the processing of a program under test is made to stall. The server itself is its
owner's, and is left alone: only the run's proxies in front of it are changed.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from harness.base.errors import BadInput, WaitTimeout
from harness.cluster.dependency_proxies import Dependencies, DependencyLink, refused
from harness.cluster.proxies import Toxic, both_ways
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind, Lever, needs_latency
from harness.run.faults.targets import Target, dependency_in
from harness.run.scene import Scene
from harness.run.sink import Sink

_USE_S: Final = 5.0  # within which a program at work uses what it depends on
_PROBE_S: Final = 1.0
_ECHOES: Final = 3  # without the fault, of which the shortest counts
_SILENT: Final = "silent"
_REFUSED: Final = "refused"
# Of the sink.
_POST_S: Final = 5.0  # within which a program at work posts something
_SOON_S: Final = 5.0
_ANSWER_S: Final = 2.0
_LATE: Final = "late"
_AS_503: Final = "503"
_UNAVAILABLE: Final = 503


def _toxics(fault: Fault) -> list[Toxic]:
    if fault.kind == "slow-dependency":
        # What is asked for goes through at once, and each piece of an answer comes late.
        return [Toxic("latency", "downstream", {"latency": fault.latency_ms or 0, "jitter": 0})]
    return both_ways("timeout", {"timeout": 0})


def _proxies_of(scene: Scene) -> Dependencies:
    assert scene.dependencies is not None  # `with_app` has seen to it
    return scene.dependencies


def _links(scene: Scene, target: Target) -> list[DependencyLink]:
    """Those of one dependency or of all, for every process; or all those of one process."""
    links = _proxies_of(scene).links
    if target.kind == "member":
        lane = scene.fleet.lane_of(target.name)
        return [link for link in links if link.lane == lane]
    name = dependency_in(target.name)
    return [link for link in links if not name or link.dependency == name]


def _inject(scene: Scene, fault: Fault, target: Target) -> None:
    """Wait until the program uses what it depends on, and then change its proxies."""
    links, proxies = _links(scene, target), _proxies_of(scene)

    def used() -> bool:
        scene.in_use[target.name] = proxies.connected(links)
        return bool(scene.in_use[target.name])

    with suppress(WaitTimeout):  # it is for the proof to say so
        scene.wait(f"connection through {target.name}", used, _USE_S)
    names = [link.proxy for link in links]
    if fault.how == _REFUSED:
        proxies.toxiproxy.switch(names, on=False)
    else:
        proxies.toxiproxy.add(names, _toxics(fault))


def _heal(scene: Scene, fault: Fault, target: Target) -> None:
    names = [link.proxy for link in _links(scene, target)]
    if fault.how == _REFUSED:
        _proxies_of(scene).toxiproxy.switch(names, on=True)
    else:
        _proxies_of(scene).toxiproxy.remove(names, _toxics(fault))


def _prove(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """Toxiproxy has taken it; a probe shows what that does; the kernel, that it hits a process."""
    links, used = _links(scene, target), scene.in_use.pop(target.name)
    bit, said = _seen(scene, fault, links)
    using = ", ".join(f"{link.dependency} by {link.lane}" for link in used)
    if using:
        using = f"used: {using}"
    else:
        names = " or ".join(sorted({link.dependency for link in links}))
        using = (
            f"no process had a connection through {names} within {_USE_S:g} s: see that the "
            "program takes the address from there"
        )
    return Evidence(bit and bool(used), f"{said}; {using}")


def _seen(scene: Scene, fault: Fault, links: Sequence[DependencyLink]) -> tuple[bool, str]:
    proxies = _proxies_of(scene)
    if fault.how == _REFUSED:
        open_still = [link.proxy for link in links if not refused(link)]
        return not open_still, (
            f"{', '.join(open_still)} still takes connections"
            if open_still
            else f"new connections through {len(links)} proxies are refused"
        )
    patience_s = _PROBE_S + (fault.latency_ms or 0) * 2 / 1_000
    with_it = proxies.echo_ms(_toxics(fault), patience_s)
    # A machine that stalls makes an echo longer and never shorter, and could hide the fault so.
    quick = [proxies.echo_ms((), patience_s) for _ in range(_ECHOES)]
    without = min((each for each in quick if each is not None), default=None)
    said = (
        f"{len(links)} proxies have the toxics; an echo through one more with the same took "
        f"{_ms(with_it)}, without them {_ms(without)}"
    )
    if without is None:
        return False, said
    if fault.kind == "cut-dependency":
        return with_it is None, said
    # Toxiproxy's own timers may fire a little early; 10 % is proof enough all the same.
    slow = with_it is not None and with_it - without >= 0.9 * (fault.latency_ms or 0)
    return slow, said


def _ms(taken: float | None) -> str:
    return "no answer" if taken is None else f"{taken:.0f} ms"


def _sink_of(scene: Scene) -> Sink:
    assert scene.fleet.sink is not None  # `with_app` has seen to it
    return scene.fleet.sink


def _poster(target: Target) -> str | None:
    """Whose posts are meant; null: those of all processes."""
    return target.name if target.kind == "member" else None


def _inject_sink(scene: Scene, fault: Fault, target: Target) -> None:
    sink, poster = _sink_of(scene), _poster(target)
    scene.posted[target.name] = sink.posts(poster)
    sink.order(poster, delay_ms=fault.latency_ms or 0, refuses=fault.how == _AS_503)


def _settle_sink(scene: Scene, fault: Fault, target: Target) -> None:
    """The order is on its way to the sink: wait until it answers at once again."""

    def answers() -> bool:
        answer = _sink_of(scene).ask(_poster(target), patience_s=_ANSWER_S)
        late = fault.latency_ms is not None and answer.after_ms >= fault.latency_ms
        return answer.status not in (None, _UNAVAILABLE) and not late

    scene.wait("sink that answers again", answers, _SOON_S)


def _prove_sink(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """The harness asks as a process would; and what is on record shows that processes post."""
    before = scene.posted.pop(target.name)
    bit, said = False, ""

    def answers_so() -> bool:
        nonlocal bit, said
        bit, said = _ask_sink(scene, fault, _poster(target))
        return bit

    with suppress(WaitTimeout):  # the order is on its way to the sink
        scene.wait("sink that answers as ordered", answers_so, _SOON_S)
    if fault.how == _AS_503:  # it keeps no posts any more
        return Evidence(bit and before > 0, f"{said}; {before} posts had come before")
    sink = _sink_of(scene)
    with suppress(WaitTimeout):
        scene.wait("post to the sink", lambda: sink.posts(_poster(target)) > before, _POST_S)
    since = sink.posts(_poster(target)) - before
    return Evidence(bit and since > 0, f"{said}; {since} posts have come since then")


def _ask_sink(scene: Scene, fault: Fault, poster: str | None) -> tuple[bool, str]:
    wanted_ms = fault.latency_ms or 0
    patience_s = min(_ANSWER_S, wanted_ms / 500 + 1) if fault.how != _AS_503 else _ANSWER_S
    answer = _sink_of(scene).ask(poster, patience_s=patience_s)
    if answer.status is None:
        said = f"the sink gave the harness no answer within {patience_s:g} s"
        return fault.how != _AS_503 and wanted_ms >= patience_s * 1_000, said
    said = f"the sink answered the harness {answer.status} after {answer.after_ms:.0f} ms"
    if fault.how == _AS_503:
        return answer.status == _UNAVAILABLE, said
    return answer.status != _UNAVAILABLE and answer.after_ms >= wanted_ms, said


def _check_sink(fault: Fault, _experiment: Experiment) -> None:
    if fault.how != _AS_503:
        needs_latency(fault, f", or how={_AS_503!r}")
    elif fault.latency_ms is not None:
        raise BadInput(
            f"{fault.kind} of {fault.target} with {_AS_503} answers at once: leave latency_ms out"
        )


_EFFECTS: Final = Effects(breaks=Breaks.DEPENDENCY)

_OF_DEPENDENCIES: Final = partial(
    Kind,
    targets=("dependency", "member"),
    inject=_inject,
    prove=_prove,
    heal=_heal,
    lever=Lever.DEPENDENCY,
)

KINDS: Final = (
    _OF_DEPENDENCIES(
        "slow-dependency",
        check=lambda fault, _experiment: needs_latency(fault),
        takes=("latency_ms",),
        effects=_EFFECTS,
    ),
    _OF_DEPENDENCIES(
        "cut-dependency",
        # Nothing comes through and connections stay open, as when a cable is cut; or they end and
        # new ones are refused, as when the server is down.
        effects={_SILENT: _EFFECTS, _REFUSED: _EFFECTS},
    ),
    Kind(
        "slow-sink",
        ("sink", "member"),
        _inject_sink,
        _prove_sink,
        lambda scene, _fault, target: _sink_of(scene).order(_poster(target)),
        _settle_sink,
        check=_check_sink,
        takes=("latency_ms",),
        lever=Lever.SINK,
        effects={_LATE: _EFFECTS, _AS_503: _EFFECTS},
    ),
)
