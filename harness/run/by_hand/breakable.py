"""What can be broken by hand: which kinds of faults, and what they are aimed at.

Both follow from what each kind says of itself. Members are processes of the user here, so what is
done to members, to what they use besides Kafka, or to what they read is left out.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.words import hint, listed
from harness.cluster.plan import Node
from harness.experiment import Cluster, Experiment, Fault, Group, Load
from harness.history.effects import Breaks
from harness.run.by_hand.cluster_watch import Seen
from harness.run.faults import KINDS, Kind, Lever
from harness.run.faults.targets import NUMBERED, ROLES_OF, kind_of

LASTS_S: Final = 10.0  # usually
# Roles by what they mean, as `targets.kind_of` names it: all that has one here.
_ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    **{sort: ROLES_OF[sort] for sort in ("broker", "controller")},
    "lane": ("members", "producers"),
}
_NAMED: Final = tuple(role for roles in _ROLES.values() for role in roles if "<" not in role)
_BREAKABLE: Final = frozenset({Breaks.BROKER, Breaks.LINK})
# Usual values of what some kinds need: as docs/cluster-by-hand.md does by hand.
_USUAL: Final = {"latency_ms": 500, "bandwidth_kb_per_s": 50}
# Fields of a fault that may be given by hand, besides its kind, its target and its time.
MORE: Final = ("how", "latency_ms", "bandwidth_kb_per_s")
_TIME: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>ms|s|m|min|h)?")
_SECONDS: Final = {None: 1, "s": 1, "ms": 0.001, "m": 60, "min": 60, "h": 3_600}


def experiment_of(cluster: Cluster) -> Experiment:
    """The cluster as an experiment, by which faults are checked: groups have Kafka's own timers."""
    most = min(3, cluster.brokers)
    return Experiment(
        claim="Whatever is tried by hand.",
        cluster=cluster,
        load=Load(replication=most, min_insync_replicas=min(2, most)),
        group=Group(
            session_timeout_ms=45_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=300_000
        ),
    )


def kinds(experiment: Experiment) -> dict[str, Kind]:
    return {
        name: kind
        for name, kind in KINDS.items()
        if _at_hand(kind) and not _refusal(kind, experiment)
    }


def roles_for(kind: Kind) -> list[str]:
    return [role for sort in kind.targets for role in _ROLES.get(sort, ())]


def _at_hand(kind: Kind) -> bool:
    """Whether a kind breaks only what is the harness's own here."""
    breaks = {effects.breaks for effects in kind.ways.values()}
    return kind.lever is Lever.NONE and bool(roles_for(kind)) and breaks <= _BREAKABLE


def _refusal(kind: Kind, experiment: Experiment) -> str:
    """Why a kind cannot be played on this cluster, as the end of a sentence; empty if it can."""
    role = roles_for(kind)[0]
    try:
        kind.validate(_usual(Fault(kind=kind.name, target=role)), experiment, {})
    except BadInput as refusal:
        return str(refusal).replace(f"{kind.name} of {role}", "it", 1)
    return ""


def _kind_named(name: str, experiment: Experiment) -> Kind:
    known = kinds(experiment)
    if name not in KINDS:
        raise BadInput(f"there is no fault {name!r}: {hint(name, known)}")
    kind = KINDS[name]
    if name in known:
        return kind
    if any(effects.breaks == Breaks.MEMBER for effects in kind.ways.values()):
        why = "the members here are your own processes: start, stop and end them yourself"
    elif not _at_hand(kind):
        why = f"by hand only brokers and links are broken: use {', '.join(known)}"
    else:
        why = _refusal(kind, experiment)
    raise BadInput(f"{name} cannot be done by hand: {why}")


def _usual(fault: Fault) -> Fault:
    """The fault with the usual values of what its kind needs and was not given."""
    kind = KINDS[fault.kind]
    absent = [name for name in kind.takes if getattr(fault, name) is None]
    missing: dict[str, Any] = {name: _USUAL[name] for name in absent}
    if kind.heals and fault.lasts_s is None:
        missing["lasts_s"] = LASTS_S
    return replace(fault, **missing)


def seconds(text: str) -> float:
    """A time such as 10s, 1.5m, 500ms or 10. Raises ValueError."""
    found = _TIME.fullmatch(text.strip())
    time_s = float(found["number"]) * _SECONDS[found["unit"]] if found else 0.0
    if not 0 < time_s < math.inf:
        raise ValueError(f"{text!r} is no time: write 500ms, 10s, 2m or 1h")
    return time_s


def fault_of(
    experiment: Experiment, kind: str, target: str, lasts_s: float | None, more: Mapping[str, Any]
) -> Fault:
    """The fault that is asked for, with usual values where none are given.

    `more` are further fields of a fault. Raises BadInput where no such fault can be played by hand.
    """
    found = _kind_named(kind, experiment)
    roles = listed(roles_for(found), "or")
    if not target:
        raise BadInput(f"{kind} of what? Say {roles}")
    if lasts_s is not None and not found.heals:
        raise BadInput(f"{kind} is over at once and cannot be undone: leave out --for")
    sort = kind_of(target)
    if sort == "member":
        raise BadInput(
            f"{target!r} is no target here, because the members are your own processes and share "
            f"one lane: use {roles}"
        )
    if target not in _NAMED and not (sort == "broker" and NUMBERED.fullmatch(target)):
        raise BadInput(f"there is no target {target!r}: {hint(target, _NAMED, f'say {roles}')}")
    if sort not in found.targets:
        raise BadInput(f"{kind} cannot hit {target!r}: say {roles}")
    fault = Fault(kind=kind, target=target, lasts_s=lasts_s, at_s=0, jitter_s=0, **more)
    found.check_way(fault)
    fault = _usual(fault)
    found.validate(fault, experiment, {})
    return fault


def check_target(fault: Fault, seen: Seen, brokers: Iterable[Node]) -> None:
    """Reject an unknown broker, topic or partition. Raises BadInput."""
    numbered = NUMBERED.fullmatch(fault.target)
    if numbered is None:
        return
    number, topics = int(numbered["number"]), seen.topics()
    topic = numbered["role"].removeprefix("leader of ")
    ids = [node.id for node in brokers]
    if topic == "broker":
        if number not in ids:
            raise BadInput(f"there is no broker {number}: there are {ids[0]} to {ids[-1]}")
    elif topic not in topics:
        raise BadInput(f"there is no topic {topic!r}: {_nearest(topic, topics, 'topic')}")
    elif number >= topics[topic]:
        raise BadInput(
            f"there is no partition {number} of {topic}: it has 0 to {topics[topic] - 1}"
        )


def group_meant(named: str | None, seen: Seen) -> str:
    """The group that is named, or the only one. Raises BadInput where it is not clear which."""
    groups = sorted(seen.groups)
    if named is not None:
        if named not in groups:
            raise BadInput(f"there is no group {named!r}: {_nearest(named, groups, 'group')}")
        return named
    if not groups:
        raise BadInput(
            "there is no group yet, so no broker is its coordinator: start your consumers, or name "
            "a broker, as in 'broker 1'"
        )
    if len(groups) > 1:
        raise BadInput(
            f"there are {len(groups)} groups ({', '.join(groups)}): say whose coordinator is meant "
            "by --group"
        )
    return groups[0]


def topic_meant(seen: Seen) -> str:
    """The topic of which any leader is meant: the only one. Raises BadInput otherwise."""
    topics = sorted(seen.topics())
    if len(topics) != 1:
        raise BadInput(
            f"there are {len(topics)} topics, and 'any leader' does not say of which: name a "
            "partition, as in 'leader of t-0'"
        )
    return topics[0]


def _nearest(name: str, known: Iterable[str], what: str) -> str:
    listed = ", ".join(known)
    return hint(name, known, f"there is {listed}" if listed else f"there is no {what} yet")


def listing(experiment: Experiment) -> list[str]:
    lines = [f"{COMMAND} fault KIND TARGET [--for 10s] [--group NAME]", ""]
    for name, kind in kinds(experiment).items():
        lines.append(f"{name:18} {', '.join(roles_for(kind))}")
        more = [f"--{each.replace('_', '-')} (default {_USUAL[each]})" for each in kind.takes]
        if len(kind.ways) > 1:
            more.append(f"--how {' or '.join(map(repr, kind.ways))}")
        if not kind.heals:
            more.append("over at once")
        if more:
            lines.append(f"{'':18}   {', '.join(more)}")
    return [
        *lines,
        "",
        f"It lasts {LASTS_S:g} s unless --for says otherwise (500ms, 10s, 2m, 1h), and is healed",
        "then; Ctrl-C heals it at once. A coordinator is that of --group, or of the only group.",
    ]
