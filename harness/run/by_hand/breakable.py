"""What can be broken by hand: which kinds of faults, and what they are aimed at.

Both follow from what each kind says of itself. Members are somebody else's processes here, so what
is done to members, to what they use besides Kafka, or to what they read is left out.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.cluster.plan import Node
from harness.experiment import Cluster, Experiment, Fault, Group, Load
from harness.history.effects import Breaks
from harness.run.by_hand.watch import Seen
from harness.run.faults import KINDS, Kind, Lever
from harness.run.faults.targets import NUMBERED, kind_of

LASTS_S: Final = 10.0  # where nobody says otherwise
# Roles by what they mean, as `targets.kind_of` names it: all that has one here.
_ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "broker": ("coordinator", "leader of <topic>-<n>", "any leader", "broker <n>", "any broker"),
    "controller": ("controller",),
    "lane": ("members", "producers"),
}
_NAMED: Final = tuple(role for roles in _ROLES.values() for role in roles if "<" not in role)
_BREAKABLE: Final = (Breaks.BROKER, Breaks.LINK)
# What a fault has that needs it, where nobody says otherwise: as docs/containers.md does by hand.
_USUAL: Final = {"latency_ms": 500, "bandwidth_kb_per_s": 50}
# Fields of a fault that may be said by hand, besides its kind, its target and its time.
MORE: Final = {"how": str, "latency_ms": int, "bandwidth_kb_per_s": int}
_TIME: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>ms|s|m|min|h)?")
_SECONDS: Final[Mapping[str | None, float]] = {
    "ms": 0.001,
    None: 1,
    "s": 1,
    "m": 60,
    "min": 60,
    "h": 3_600,
}


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
    """The kinds of faults that can be played on this cluster by hand, by their names."""
    return {name: kind for name, kind in KINDS.items() if not _why_not(kind, experiment)}


def roles_for(kind: Kind) -> list[str]:
    """The roles that a kind of fault can be aimed at here."""
    return [role for sort in kind.targets for role in _ROLES.get(sort, ())]


def _why_not(kind: Kind, experiment: Experiment) -> str:
    """Why a kind cannot be played by hand, as the end of a sentence; empty if it can."""
    roles = roles_for(kind)
    breaks = {effects.breaks for effects in kind.ways.values()}
    if Breaks.MEMBER in breaks:
        return "the members here are your own processes: start, stop and end them yourself"
    if kind.lever is not Lever.NONE or not roles or not breaks <= {*_BREAKABLE}:
        return f"by hand only brokers and links are broken: use {', '.join(_whole(experiment))}"
    try:
        kind.validate(_usual(Fault(kind=kind.name, target=roles[0])), experiment, {})
    except BadInput as refusal:
        return str(refusal).replace(f"{kind.name} of {roles[0]}", "it", 1)
    return ""


def _whole(experiment: Experiment) -> Iterator[str]:
    for name, kind in KINDS.items():
        breaks = {effects.breaks for effects in kind.ways.values()}
        if breaks <= {*_BREAKABLE} and not _why_not(kind, experiment):
            yield name


def _usual(fault: Fault) -> Fault:
    """The fault with what its kind needs, where nothing is said of it."""
    kind = KINDS[fault.kind]
    missing: dict[str, Any] = {
        name: _USUAL[name] for name in kind.takes if getattr(fault, name) is None
    }
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
    """The fault that is asked for, with what is usual where nothing is said.

    `more` are further fields of a fault. Raises BadInput where no such fault can be played by hand.
    """
    found = _kind_named(kind, experiment)
    roles = roles_for(found)
    if not target:
        raise BadInput(f"{kind} of what? Say {_listed(roles)}")
    if lasts_s is not None and not found.heals:
        raise BadInput(f"{kind} is over at once and cannot be undone: leave out --for")
    sort = kind_of(target)
    if sort == "member":
        raise BadInput(
            f"{target!r} is no target here, because the members are your own processes and share "
            f"one lane: use {_listed(roles)}"
        )
    if target not in _NAMED and not (sort == "broker" and NUMBERED.fullmatch(target)):
        near = difflib.get_close_matches(target, _NAMED, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"say {_listed(roles)}"
        raise BadInput(f"there is no target {target!r}: {hint}")
    if sort not in found.targets:
        raise BadInput(f"{kind} cannot hit {target!r}: say {_listed(roles)}")
    fault = Fault(kind=kind, target=target, lasts_s=lasts_s, at_s=0, jitter_s=0, **more)
    found.check_way(fault)
    fault = _usual(fault)
    found.validate(fault, experiment, {})
    return fault


def _kind_named(kind: str, experiment: Experiment) -> Kind:
    if kind not in KINDS:
        known = kinds(experiment)
        near = difflib.get_close_matches(kind, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise BadInput(f"there is no fault {kind!r}: {hint}")
    if why := _why_not(KINDS[kind], experiment):
        raise BadInput(f"{kind} cannot be done by hand: {why}")
    return KINDS[kind]


def _listed(roles: Iterable[str]) -> str:
    *others, last = roles
    return f"{', '.join(others)} or {last}" if others else last


def check_target(fault: Fault, seen: Seen, brokers: Iterable[Node]) -> None:
    """Refuse a broker, topic or partition that there is not. Raises BadInput."""
    numbered = NUMBERED.fullmatch(fault.target)
    if numbered is None:
        return
    number, role = int(numbered["number"]), numbered["role"]
    if role == "broker":
        ids = [node.id for node in brokers]
        if number not in ids:
            raise BadInput(f"there is no broker {number}: there are {ids[0]} to {ids[-1]}")
        return
    topic = role.removeprefix("leader of ")
    topics = seen.topics()
    if topic not in topics:
        raise BadInput(f"there is no topic {topic!r}: {nearest(topic, topics, 'topic')}")
    if number >= topics[topic]:
        raise BadInput(
            f"there is no partition {number} of {topic}: it has 0 to {topics[topic] - 1}"
        )


def group_meant(named: str | None, seen: Seen) -> str:
    """The group whose coordinator is meant: the one that is named, or the only one.

    Raises BadInput where there is no such group, or several and none is named.
    """
    groups = sorted(seen.groups)
    if named is not None:
        if named not in groups:
            raise BadInput(f"there is no group {named!r}: {nearest(named, groups, 'group')}")
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
    """The topic of which any leader is meant: the only one. Raises BadInput."""
    topics = sorted(seen.topics())
    if len(topics) != 1:
        raise BadInput(
            f"there are {len(topics)} topics, and 'any leader' does not say of which: name a "
            "partition, as in 'leader of t-0'"
        )
    return topics[0]


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """What to do about a name that there is not: the end of a sentence."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"there is {', '.join(known)}" if known else f"there is no {what} yet"


def listing(experiment: Experiment) -> list[str]:
    """What `fault` alone prints: every kind with its targets, what it takes, and examples."""
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
