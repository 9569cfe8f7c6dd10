"""Faults of brokers and controllers: kill and restart, pause and resume, upgrade.

The end of an upgrade: features get the levels that the newer release has them at.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.paths import set_up
from harness.base.wait import wait_until
from harness.cluster import features, ping
from harness.cluster.plan import Node
from harness.experiment import Experiment, Fault, Need
from harness.history.effects import Breaks, Effects, Proof
from harness.provision import kafka
from harness.run.faults.kind import Evidence, Kind, Needed
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_PROBE_S: Final = 1.0
_STOPPED_S: Final = 5.0
_KNOWN_S: Final = 10.0  # for every broker to have read it from the controller's log
_LOGGED_S: Final = 15.0  # a node answers a moment before its log has its release


def _kill(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.kill(target.id)
    _listen(scene, target, on=False)


def _listen(scene: Scene, target: Target, *, on: bool) -> None:
    """Have all proxies of a broker listen, or refuse every connection, as a dead broker does."""
    scene.cluster.proxies.switch(scene.cluster.plan.proxies_of(target.id), on=on)


def _prove_killed(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """It does not run, and its direct listener refuses, or an engine that has its port cuts."""
    answer = ping.ask(scene.cluster.plan.node(target.id).port, timeout_s=_PROBE_S)
    gone = answer.outcome in {"refused", "cut"} and not scene.cluster.running(target.id)
    return Evidence(gone, f"direct listener of {target.name}: {answer}")


def _stop(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.terminate(target.id)
    _listen(scene, target, on=False)


def _prove_paused(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """The kernel still takes connections for it, but no request is answered.

    The threads of a process stop one by one within milliseconds of the signal, and one of them may
    answer until then: an answer is asked for again.
    """
    answers: list[ping.Ping] = []

    def silent() -> bool:
        port = scene.cluster.plan.node(target.id).port
        answers.append(ping.ask(port, timeout_s=_PROBE_S))
        return answers[-1].outcome == "silent"

    wait_until(
        f"silence of {target.name}",
        silent,
        timeout_s=_STOPPED_S,
        saw=lambda: f"its direct listener {answers[-1]}",
        every_s=0.005,
    )
    return Evidence(True, f"direct listener of {target.name}: {answers[-1]}")


def _check_pause(fault: Fault, experiment: Experiment, needed: Needed) -> None:
    """A paused coordinator evicts no member, so rules about evictions cannot be judged."""
    session_timeout_ms = experiment.group.session_timeout_ms
    rules = needed.get(Need.WORKING_COORDINATOR, ())
    if rules and (fault.lasts_s or 0) * 1_000 >= session_timeout_ms:
        raise BadInput(
            f"the pause of {fault.lasts_s:g} s outlasts session_timeout_ms of "
            f"{session_timeout_ms / 1_000:g} s, and a paused coordinator evicts no member, so "
            f"{' and '.join(rules)} cannot be judged: leave them out, or pause shorter"
        )


def _await_back(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.await_serving(target.id)
    _listen(scene, target, on=True)


def _check_upgrade(fault: Fault, experiment: Experiment) -> None:
    if not experiment.cluster.upgraded_from:
        raise BadInput(
            f"{fault.kind} of {fault.target} changes nothing where nodes never had another "
            "release: name an older one in Cluster(upgraded_from=…)"
        )


def _prove_older(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """It is gone as with a kill, and had the older release until then."""
    gone, wanted = _prove_killed(scene, fault, target), scene.experiment.cluster.upgraded_from
    was = scene.cluster.release_of(target.id)
    return Evidence(
        gone.took_effect and was == wanted,
        f"{gone.text}; it was Kafka {was or 'of an unknown release'}, by its own log",
    )


def _await_newer(scene: Scene, fault: Fault, target: Target) -> str:
    """It serves again and its log names the newer release. Raises WaitTimeout."""
    _await_back(scene, fault, target)
    wanted = scene.experiment.cluster.kafka_version
    wait_until(
        f"Kafka {wanted} in the log of {target.name}",
        lambda: scene.cluster.release_of(target.id) == wanted,
        timeout_s=_LOGGED_S,
        saw=lambda: f"Kafka {scene.cluster.release_of(target.id)}",
    )
    return f"{target.name} is Kafka {wanted}, by its own log"


def _network(fault: Fault) -> str:
    return fault.how or "peers"


def _cut(scene: Scene, fault: Fault, target: Target) -> None:
    """Take it off the network, after a look that it can be seen there: else nothing is proven."""
    if _network(fault) == "peers":
        other = _peer(scene, target)
        node = scene.cluster.plan.node(target.id)
        host = scene.cluster.plan.hosts.of(node.name, "peers")
        if not scene.cluster.reaches(other.id, host, node.peer_port):
            raise ClusterError(f"{other.name} does not reach {target.name} before it is cut off")
    scene.cluster.disconnect(target.id, _network(fault))


def _peer(scene: Scene, target: Target) -> Node:
    for node in scene.cluster.plan.brokers:
        if node.id != target.id and ping.ask(node.port, timeout_s=_PROBE_S).outcome == "answered":
            return node
    raise ClusterError(f"no other broker answers that could see whether {target.name} is cut off")


def _prove_cut(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """What the other side of each network sees: only the one that was cut may suffer.

    That it is off its peers is seen by another broker's process, which cannot reach it; that it is
    off its lanes by a request through a proxy of it. On its direct listener it answers.
    """
    node = scene.cluster.plan.node(target.id)
    direct = ping.ask(node.port, timeout_s=_PROBE_S)
    said = f"direct listener of {target.name}: {direct}"
    if _network(fault) == "lanes":
        through = ping.ask(node.listeners[0].proxy_port, timeout_s=_PROBE_S)
        cut = through.outcome != "answered"
        return Evidence(
            cut and direct.outcome == "answered",
            f"{said}, through its proxy of {node.listeners[0].lane}: {through}",
        )
    plan = scene.cluster.plan
    other = _peer(scene, target)
    of = partial(plan.hosts.of, network="peers")
    reached = scene.cluster.reaches(other.id, of(node.name), node.peer_port)
    back = scene.cluster.reaches(target.id, of(other.name), other.peer_port)
    return Evidence(
        not reached and not back and direct.outcome == "answered",
        f"{said}; {other.name} {'reaches' if reached else 'does not reach'} it, and it "
        f"{'reaches' if back else 'does not reach'} {other.name}",
    )


def _check_networks(fault: Fault, experiment: Experiment) -> None:
    if experiment.cluster.brokers < 2:
        raise BadInput("isolate-broker needs another broker that it is cut off from: use 2 or more")
    if experiment.cluster.backend == "embedded":
        old = experiment.cluster.kafka_version.startswith("3.")
        raise BadInput(
            f"isolate-broker of {fault.target} needs brokers with networks of their own, and on "
            "backend embedded all share loopback: use --backend docker"
            f"{' and --kafka 4.0.0 or newer' if old else ''}"
        )


def _wanted_levels(scene: Scene) -> dict[str, int]:
    """The levels of a new cluster of the newer release. Raises ClusterError."""
    release = scene.experiment.cluster.kafka_version
    if not (levels := kafka.formatted_levels(release)):
        raise ClusterError(
            f"the feature levels of Kafka {release} are unknown: run `{set_up(release)}` again"
        )
    return levels


def _finalize(scene: Scene, _fault: Fault, _target: Target) -> None:
    """Whatever is below such a level is raised to it, all in one request."""
    port = scene.cluster.plan.brokers[0].port
    if higher := features.beyond(_wanted_levels(scene), features.finalized_by(port)):
        features.finalize(port, higher)


def _prove_levels(scene: Scene, _fault: Fault, _target: Target) -> Evidence:
    """Every broker has the new levels: it was the controller that finalized them."""
    wanted = _wanted_levels(scene)
    lacking: dict[str, dict[str, int]] = {}

    def known() -> bool:
        lacking.clear()
        for node in scene.cluster.plan.brokers:
            if levels := features.beyond(wanted, features.finalized_by(node.port)):
                lacking[node.name] = levels
        return not lacking

    meant = ", ".join(f"{name} {level}" for name, level in wanted.items())
    try:
        wait_until("the new levels at every broker", known, timeout_s=_KNOWN_S)
    except WaitTimeout:
        return Evidence(False, f"meant were {meant}; brokers lack {lacking}")
    return Evidence(True, f"every broker has finalized {meant}")


def _restart(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.restart(target.id)


def _await_serving(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.cluster.await_serving(target.id)


_NODES: Final = ("broker", "controller")
_GONE: Final = Effects(
    breaks=Breaks.BROKER, disturbs_heartbeats=True, broker_gone=True, proof=Proof.OBSERVER
)
_KILLED: Final = replace(_GONE, killed=True)

KINDS: Final = (
    Kind("kill-broker", _NODES, _kill, _prove_killed, _restart, _await_back, effects=_KILLED),
    Kind("stop-broker", ("broker",), _stop, _prove_killed, _restart, _await_back, effects=_GONE),
    Kind(
        "upgrade-broker",
        _NODES,
        _stop,
        _prove_older,
        lambda scene, _fault, target: scene.cluster.upgrade(target.id),
        _await_newer,
        _check_upgrade,
        effects=_GONE,
        upgrades=True,
    ),
    Kind(
        "pause-broker",
        _NODES,
        lambda scene, _fault, target: scene.cluster.pause(target.id),
        _prove_paused,
        lambda scene, _fault, target: scene.cluster.resume(target.id),
        _await_serving,
        check_needs=_check_pause,
        effects=_GONE,
    ),
    Kind(
        "isolate-broker",
        ("broker",),
        _cut,
        _prove_cut,
        lambda scene, fault, target: scene.cluster.reconnect(target.id, _network(fault)),
        _await_serving,
        _check_networks,
        effects={
            # Cut off from its peers, it still answers the observer.
            "peers": replace(_GONE, proof=Proof.NONE),
            "lanes": Effects(breaks=Breaks.BROKER, disturbs_heartbeats=True, below_limits=True),
        },
    ),
    Kind(
        "finalize-features",
        ("controller",),
        _finalize,
        _prove_levels,
        check=_check_upgrade,
        effects=Effects(breaks=Breaks.FEATURES, below_limits=True),
    ),
)
