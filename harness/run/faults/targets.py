"""Targets are roles, resolved to a thing only when the fault fires."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from harness.base.errors import ClusterError
from harness.base.words import listed
from harness.experiment import Fault
from harness.run.scene import Scene

NUMBERED: Final = re.compile(r"(?P<role>broker|member|leader of \S+?)[ -](?P<number>\d+)")


@dataclass(frozen=True)
class Target:
    """A resolved target: kind is broker | controller | member | group | topic | lane | dependency
    | sink.

    The `id` is a node's; of a lane it is the one broker whose links are meant, 0 for all. A lane
    that a member has to itself is named after that member, whichever had it before; `lane` is its
    own name.
    """

    kind: str
    name: str
    id: int = 0
    lane: str = ""

    @property
    def link(self) -> str:
        return self.lane or self.name

    def overlaps(self, other: "Target") -> bool:
        """Whether they are one thing, or the links of a lane to one broker and to all."""
        same = (self.kind, self.link) == (other.kind, other.link)
        return same and (self.id == other.id or 0 in (self.id, other.id))


_DEPENDENCY: Final = "dependency "  # before the name of one
# By what it means, each role of an experiment.
ROLES_OF: Final = {
    "broker": ("coordinator", "leader of <topic>-<n>", "any leader", "broker <n>", "any broker"),
    "controller": ("controller",),
    "member": ("member <n>", "any member"),
    "new member": ("new member",),
    "group": ("group",),
    "topic": ("topic",),
    "lane": ("producers",),
    "dependency": ("dependency", "dependency <name>"),
    "sink": ("sink",),
}
ROLES: Final = tuple(role for roles in ROLES_OF.values() for role in roles)
_KIND_OF_ROLE: Final = {role: kind for kind, roles in ROLES_OF.items() for role in roles} | {
    # By hand only: in an experiment members may have lanes of their own, and this is not theirs.
    "members": "lane"
}


def roles_of(kinds: tuple[str, ...]) -> str:
    """The roles that mean things of these sorts, as `kind_of` names them; for a message."""
    return listed([role for kind in kinds for role in ROLES_OF[kind]], "or")


def kind_of(role: str) -> str:
    """What sort of thing a role means, as `Target` names it; "new member" is one of its own."""
    if role in _KIND_OF_ROLE:
        return _KIND_OF_ROLE[role]
    if dependency_in(role):
        return "dependency"
    return "member" if role.startswith("member") else "broker"


def dependency_in(role: str) -> str:
    """The one dependency that a role names; empty where it names none, or all of them."""
    return role.removeprefix(_DEPENDENCY) if role.startswith(_DEPENDENCY) else ""


def resolve(scene: Scene, fault: Fault, *, on_link: bool, taken: Collection[Target] = ()) -> Target:
    """The thing that the role means at this moment, if it runs: what is dead cannot be hit.

    Where a fault breaks links, the target is the lane of the member that is meant. What is `taken`
    cannot be meant: a fault that is still there has put it into the same state, and the heal of one
    would end the other. Raises ClusterError if nothing fits.
    """
    targets = fitting(scene, fault, on_link=on_link)
    free = [each for each in targets if not any(map(each.overlaps, taken))]
    if not free:
        raise ClusterError(
            f"{' and '.join(each.name for each in targets)} of {fault.target!r} already has a "
            f"fault that {fault.kind} at the same time would mix with: start one of them later, or "
            "name another target"
        )
    return scene.random.choice(free)


def fitting(scene: Scene, fault: Fault, *, on_link: bool) -> list[Target]:
    """All that the role means at this moment and that runs. Raises ClusterError if nothing fits."""
    candidates = [each for each in _candidates(scene, fault.target) if _runs(scene, each)]
    if fault.not_target:
        excluded = {target.name for target in _candidates(scene, fault.not_target)}
        if not excluded:
            raise ClusterError(
                f"nothing is {fault.not_target!r} right now, so {fault.kind} might hit it "
                f"by accident: {scene.describe()}"
            )
        candidates = [target for target in candidates if target.name not in excluded]
    if not candidates:
        excluding = f" that is not {fault.not_target}" if fault.not_target else ""
        raise ClusterError(
            f"nothing is {fault.target!r}{excluding} now, so {fault.kind} has no target: "
            f"{scene.describe()}"
        )
    return [_hit(scene, fault, each) if on_link else each for each in candidates]


def _hit(scene: Scene, fault: Fault, candidate: Target) -> Target:
    """What a fault of links hits where a member is meant: its lane."""
    if candidate.kind != "member":
        return candidate
    lane, broker = scene.fleet.lane_of(candidate.name), 0
    name = candidate.name if lane.startswith("member-") else lane
    if fault.of_broker is not None:
        if not (found := _candidates(scene, fault.of_broker)):
            raise ClusterError(f"nothing is {fault.of_broker!r} now: {scene.describe()}")
        broker = found[0].id
    return Target("lane", name, broker, lane)


def _runs(scene: Scene, target: Target) -> bool:
    if target.id:
        return scene.cluster.running(target.id)
    member = scene.fleet.members.get(target.name)
    return member is None or member.running


def _candidates(scene: Scene, role: str) -> list[Target]:
    view = scene.view
    if role == "coordinator":
        coordinator = view.group.get("coordinator")
        return [] if coordinator is None else [_broker(coordinator)]
    if role == "controller":
        return [Target("controller", node.name, node.id) for node in scene.cluster.plan.controllers]
    if role == "any leader":
        rows = [row for (topic, _), row in view.partitions.items() if topic == scene.topic]
        return [_broker(each) for each in sorted({row["leader"] for row in rows}) if each > 0]
    if role == "any broker":
        return [_broker(node.id) for node in scene.cluster.plan.brokers]
    if role == "any member":
        return [Target("member", member.name) for member in scene.fleet.live()]
    if role == "new member":
        return [Target("member", scene.fleet.next_name())]
    if role == "group":
        return [Target("group", "group")]
    if role == "topic":
        return [Target("topic", scene.topic)]
    if kind_of(role) == "lane":
        return [Target("lane", role)]
    if kind_of(role) in ("dependency", "sink"):
        return [Target(kind_of(role), _named(scene, role))]
    numbered = NUMBERED.fullmatch(role)
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


def _named(scene: Scene, role: str) -> str:
    """By its name where there is one dependency only."""
    app = scene.experiment.app
    only = list(app.dependencies) if app is not None and role == "dependency" else []
    return f"{_DEPENDENCY}{only[0]}" if len(only) == 1 else role


def _broker(broker_id: int) -> Target:
    return Target("broker", f"broker-{broker_id}", broker_id)
