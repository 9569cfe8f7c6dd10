"""Connections that end although neither side is at fault: a proxy restarts, a NAT forgets.

Toxiproxy's own toxic for this leaves idle connections open, so the proxies are switched off and on
again. That ends every connection, with a FIN on both sides, and takes milliseconds.
"""

from typing import Final

from harness.cluster.ping import Witness, ask
from harness.experiment import Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.network import ports_of, proxies_of
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_ASK_S: Final = 2.0


def _inject(scene: Scene, _fault: Fault, target: Target) -> None:
    """End the connections of the lane, and of a witness on each of its links."""
    scene.witnesses[target.name] = {
        broker: Witness(proxied, timeout_s=_ASK_S) for broker, _, proxied in ports_of(scene, target)
    }
    scene.cluster.proxies.end_connections(proxies_of(scene, target))


def _prove(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """Each witness sees its connection end, and a new connection is answered."""
    worked: list[bool] = []
    seen: list[str] = []
    witnesses = scene.witnesses.pop(target.name)
    for broker, _, proxied in ports_of(scene, target):
        ended = broker in witnesses and witnesses[broker].ended(timeout_s=_ASK_S)
        anew = ask(proxied, timeout_s=_ASK_S)
        worked.append(ended and anew.outcome == "answered")
        seen.append(
            f"broker-{broker} through {target.name}: an idle connection "
            f"{'ended' if ended else 'stayed open'}, a new one {anew}"
        )
    for witness in witnesses.values():
        witness.close()
    return Evidence(bool(worked) and all(worked), "; ".join(seen))


KINDS: Final = (
    Kind(
        "connections-reset",
        ("member", "lane"),
        _inject,
        _prove,
        effects=Effects(breaks=Breaks.LINK, disturbs_heartbeats=True, below_limits=True),
    ),
)
