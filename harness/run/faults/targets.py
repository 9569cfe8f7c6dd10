"""Targets are roles, resolved to a thing only when the fault fires."""

import re
from dataclasses import dataclass
from typing import Final

from harness.base.errors import BadInput, ClusterError
from harness.experiment import Experiment, Fault
from harness.run.scene import Scene

ROLES: Final = (
    "coordinator",
    "controller",
    "leader of <topic>-<n>",
    "any leader",
    "broker <n>",
    "any broker",
    "member <n>",
    "any member",
    "new member",
    "topic",
    "producers",
)
_NUMBERED: Final = re.compile(r"(?P<role>broker|member|leader of \S+?)[ -](?P<number>\d+)")


@dataclass(frozen=True)
class Target:
    """A resolved target: kind is broker | controller | member | topic | lane.

    The `id` is a node's; of a lane it is the one broker whose links are meant, 0 for all.
    """

    kind: str
    name: str
    id: int = 0


def check_role(fault: Fault, experiment: Experiment) -> None:
    """Refuse a target that no run of the experiment could resolve.

    Raises BadInput naming the target and what may be said instead.
    """
    for role in filter(None, (fault.target, fault.not_target, fault.of_broker)):
        numbered = _NUMBERED.fullmatch(role)
        if role == "controller" and experiment.cluster.controllers > 1:
            raise BadInput(
                f"target 'controller' of {fault.kind} is one of {experiment.cluster.controllers}, "
                "and which of them is active is not known: have 1"
            )
        if numbered is None:
            if role not in ROLES:
                raise BadInput(
                    f"target {role!r} of {fault.kind} is no role: use {', '.join(ROLES)}"
                )
            continue
        number = int(numbered["number"])
        started = sum(other.kind == "start-consumer" for other in experiment.faults)
        counts = {
            "broker": experiment.cluster.brokers,
            "member": experiment.group.members + started,
        }
        limit = counts.get(numbered["role"])
        if limit is not None and not 1 <= number <= limit:
            raise BadInput(
                f"target {role!r} of {fault.kind} does not exist: the experiment has "
                f"{numbered['role']} 1 to {limit}"
            )
        if limit is None and number >= experiment.load.partitions:
            raise BadInput(
                f"target {role!r} of {fault.kind} does not exist: the topic has partitions 0 to "
                f"{experiment.load.partitions - 1}"
            )


_KIND_OF_ROLE: Final = {
    "coordinator": "broker",
    "controller": "controller",
    "any leader": "broker",
    "any broker": "broker",
    "any member": "member",
    "new member": "new member",
    "topic": "topic",
    "producers": "lane",
}


def kind_of(role: str) -> str:
    """What sort of thing a role means: broker, controller, member, new member, topic or lane."""
    if role in _KIND_OF_ROLE:
        return _KIND_OF_ROLE[role]
    return "member" if role.startswith("member") else "broker"


def lanes(experiment: Experiment) -> tuple[str, ...]:
    """Lanes that the experiment's cluster needs, so that each network fault can hit one alone."""
    own = set()
    for fault in experiment.faults:
        if fault.kind not in NETWORK_KINDS:
            continue
        if fault.target == "any member":
            late = sum(other.kind in STARTING_KINDS for other in experiment.faults)
            members = experiment.group.members + late
            own |= {f"member-{number}" for number in range(1, members + 1)}
        numbered = _NUMBERED.fullmatch(fault.target)
        if numbered and numbered["role"] == "member":
            own.add(f"member-{numbered['number']}")
    probes = ("probes",) if experiment.probes else ()
    return ("members", "producers", *probes, *sorted(own))


NETWORK_KINDS: Final = frozenset({"latency", "bandwidth", "isolate"})
STARTING_KINDS: Final = frozenset({"start-consumer", "bounce-consumer", "start-duplicate"})


def resolve(scene: Scene, fault: Fault) -> Target:
    """The thing that the role means at this moment, if it runs: what is dead cannot be hit.

    Raises ClusterError if nothing fits.
    """
    candidates = [each for each in _candidates(scene, fault.target) if _runs(scene, each)]
    if fault.not_target:
        excluded = {target.name for target in _candidates(scene, fault.not_target)}
        if not excluded:
            raise ClusterError(
                f"nothing is {fault.not_target!r} now, so {fault.kind} could hit it unawares: "
                f"{scene.describe()}"
            )
        candidates = [target for target in candidates if target.name not in excluded]
    if not candidates:
        excluding = f" that is not {fault.not_target}" if fault.not_target else ""
        raise ClusterError(
            f"nothing is {fault.target!r}{excluding} now, so {fault.kind} has no target: "
            f"{scene.describe()}"
        )
    chosen = scene.random.choice(candidates)
    if fault.kind in NETWORK_KINDS and chosen.kind == "member":
        return Target("lane", scene.fleet.lane_of(chosen.name), _of_broker(scene, fault))
    return chosen


def _runs(scene: Scene, target: Target) -> bool:
    if target.id:
        return scene.cluster.running(target.id)
    member = scene.fleet.members.get(target.name)
    return member is None or member.running


def _of_broker(scene: Scene, fault: Fault) -> int:
    if fault.of_broker is None:
        return 0
    found = _candidates(scene, fault.of_broker)
    if not found:
        raise ClusterError(f"nothing is {fault.of_broker!r} now: {scene.describe()}")
    return found[0].id


def _candidates(scene: Scene, role: str) -> list[Target]:
    view = scene.view
    if role == "coordinator":
        coordinator = view.group.get("coordinator")
        return [] if coordinator is None else [_broker(coordinator)]
    if role == "controller":
        return [Target("controller", node.name, node.id) for node in scene.cluster.plan.controllers]
    if role == "any leader":
        leaders = {
            row["leader"]
            for (topic, _), row in view.partitions.items()
            if topic == scene.topic and row["leader"] > 0
        }
        return [_broker(leader) for leader in sorted(leaders)]
    if role == "any broker":
        return [_broker(node.id) for node in scene.cluster.plan.brokers]
    if role == "any member":
        return [Target("member", member.name) for member in scene.fleet.live()]
    if role == "new member":
        return [Target("member", scene.fleet.next_name())]
    if role == "topic":
        return [Target("topic", scene.topic)]
    if role == "producers":
        return [Target("lane", "producers")]
    numbered = _NUMBERED.fullmatch(role)
    assert numbered is not None, role  # check_role has seen to it
    number = int(numbered["number"])
    if numbered["role"] == "broker":
        return [_broker(number)]
    if numbered["role"] == "member":
        name = f"member-{number}"
        return [Target("member", name)] if name in scene.fleet.members else []
    topic = numbered["role"].removeprefix("leader of ")
    row = view.partitions.get((topic, number))
    return [_broker(row["leader"])] if row and row["leader"] > 0 else []


def _broker(broker_id: int) -> Target:
    return Target("broker", f"broker-{broker_id}", broker_id)
