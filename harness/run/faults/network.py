"""Faults of a lane, by Toxiproxy: latency, bandwidth, isolation, connections that end.

Isolation is a blackhole, not a refusal: connections stay open and nothing comes through, as when a
cable is cut. Healing it closes those connections, and what was in them is lost.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from harness.base.errors import BadInput
from harness.cluster import ping
from harness.cluster.plan import proxy_name
from harness.cluster.proxies import Toxic, both_ways
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects, Proof
from harness.run.faults.kind import TELLABLE_MS, Evidence, Kind, outlasts_session
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_PROBE_S: Final = 1.0
_ASK_S: Final = 2.0
# Of a bandwidth's probe, at most; what a narrow link carries in a second and a half is enough.
_PADDING_BYTES: Final = 30_000
_PADDING_MS: Final = 1_500


def _toxics(fault: Fault) -> list[Toxic]:
    match fault.kind:
        case "latency":
            # Half each way, so that a round trip takes latency_ms longer.
            return both_ways("latency", {"latency": (fault.latency_ms or 0) // 2, "jitter": 0})
        case "bandwidth":
            return both_ways("bandwidth", {"rate": fault.bandwidth_kb_per_s or 0})
        case _:
            return both_ways("timeout", {"timeout": 0})


def _brokers_of(scene: Scene, target: Target) -> list[int]:
    return [target.id] if target.id else [node.id for node in scene.cluster.plan.brokers]


def _proxies_of(scene: Scene, target: Target) -> list[str]:
    return [proxy_name(broker, target.link) for broker in _brokers_of(scene, target)]


def _inject(scene: Scene, fault: Fault, target: Target) -> None:
    scene.cluster.proxies.add(_proxies_of(scene, target), _toxics(fault))


def _heal(scene: Scene, fault: Fault, target: Target) -> None:
    scene.cluster.proxies.remove(_proxies_of(scene, target), _toxics(fault))


def ports_of(scene: Scene, target: Target) -> list[tuple[int, int, int]]:
    """(broker, direct port, proxy port) of a lane on every broker of the target that runs."""
    return [
        (node.id, node.port, listener.proxy_port)
        for node in scene.cluster.plan.brokers
        for listener in node.listeners
        if listener.lane == target.link
        and node.id in _brokers_of(scene, target)
        and scene.cluster.running(node.id)
    ]


def _prove(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """Ask each broker through the lane and past it: only the lane may suffer."""
    worst: list[bool] = []
    said: list[str] = []
    padding, patience_s = _padding_bytes(fault), _PROBE_S + _expected_ms(fault) * 2 / 1_000
    for broker, direct, proxied in ports_of(scene, target):
        through = ping.ask(proxied, timeout_s=patience_s, padding_bytes=padding)
        past = ping.ask(direct, timeout_s=_PROBE_S, padding_bytes=padding)
        worst.append(past.outcome == "answered" and _suffers(fault, through, past))
        said.append(f"broker-{broker} through {target.name}: {through}, past it: {past}")
    return Evidence(bool(worst) and all(worst), "; ".join(said))


def _padding_bytes(fault: Fault) -> int:
    if fault.kind != "bandwidth":
        return 0
    return min(_PADDING_BYTES, (fault.bandwidth_kb_per_s or 1) * _PADDING_MS)


def _expected_ms(fault: Fault) -> float:
    """How long the probe's answer should take at least because of the fault, in milliseconds."""
    if fault.kind == "latency":
        return float(fault.latency_ms or 0)
    if fault.kind == "bandwidth":
        return _padding_bytes(fault) / (fault.bandwidth_kb_per_s or 1)
    return 0.0


def _suffers(fault: Fault, through: ping.Ping, past: ping.Ping) -> bool:
    if fault.kind == "isolate":
        return through.outcome == "silent"
    # Toxiproxy's own timers may fire a little early; 10 % is proof enough all the same.
    return through.outcome == "answered" and through.ms - past.ms >= 0.9 * _expected_ms(fault)


def _check_latency(fault: Fault, experiment: Experiment) -> None:
    latency_ms = fault.latency_ms or 0
    if latency_ms < TELLABLE_MS:
        raise BadInput(
            f"latency on {fault.target} needs a latency_ms of {TELLABLE_MS} or more, because "
            f"{latency_ms} ms could not be measured"
        )
    if latency_ms >= experiment.group.session_timeout_ms:
        raise BadInput(
            f"latency_ms of {fault.latency_ms} is not below session_timeout_ms of "
            f"{experiment.group.session_timeout_ms}: that is an isolation; use kind isolate"
        )


def _check_bandwidth(fault: Fault, _experiment: Experiment) -> None:
    if not fault.bandwidth_kb_per_s or _expected_ms(fault) < TELLABLE_MS:
        most = _PADDING_BYTES // TELLABLE_MS
        raise BadInput(
            f"bandwidth on {fault.target} needs a bandwidth_kb_per_s of 1 to {most}, because a "
            f"higher one could not be measured; it is {fault.bandwidth_kb_per_s}"
        )


def _reset(scene: Scene, _fault: Fault, target: Target) -> None:
    """End the connections of the lane, of a witness on each link too, with a FIN on both sides.

    Toxiproxy's own toxic leaves idle connections open: proxies are switched off and on again.
    """
    scene.witnesses[target.name] = {
        broker: ping.Witness(proxied, timeout_s=_ASK_S)
        for broker, _, proxied in ports_of(scene, target)
    }
    scene.cluster.proxies.end_connections(_proxies_of(scene, target))


def _prove_reset(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """Each witness sees its connection end, and a new connection is answered."""
    worked: list[bool] = []
    seen: list[str] = []
    witnesses = scene.witnesses.pop(target.name)
    for broker, _, proxied in ports_of(scene, target):
        ended = broker in witnesses and witnesses[broker].ended(timeout_s=_ASK_S)
        anew = ping.ask(proxied, timeout_s=_ASK_S)
        worked.append(ended and anew.outcome == "answered")
        seen.append(
            f"broker-{broker} through {target.name}: an idle connection "
            f"{'ended' if ended else 'stayed open'}, a new one {anew}"
        )
    for witness in witnesses.values():
        witness.close()
    return Evidence(bool(worked) and all(worked), "; ".join(seen))


_SLOW: Final = Effects(breaks=Breaks.LINK, disturbs_heartbeats=True, below_limits=True)

_OF_LINKS: Final = partial(
    Kind, targets=("member", "lane"), inject=_inject, prove=_prove, heal=_heal
)

KINDS: Final = (
    Kind("connections-reset", ("member", "lane"), _reset, _prove_reset, effects=_SLOW),
    _OF_LINKS("latency", check=_check_latency, takes=("latency_ms",), effects=_SLOW),
    _OF_LINKS(
        "bandwidth",
        check=_check_bandwidth,
        takes=("bandwidth_kb_per_s",),
        effects=replace(_SLOW, proof=Proof.SLOWER),
    ),
    _OF_LINKS(
        "isolate",
        check_needs=outlasts_session,
        effects=Effects(
            breaks=Breaks.LINK, disturbs_heartbeats=True, link_cut=True, proof=Proof.SILENCE
        ),
    ),
)
