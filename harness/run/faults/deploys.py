"""Faults of a group as a whole: a deploy replaces every process, scaling starts or ends some.

Both go on step by step, and each process that is started or ended is on record for itself.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from harness.base.errors import BadInput, WaitTimeout
from harness.base.words import plural
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run import joining
from harness.run.faults.kind import Change, Evidence, Kind
from harness.run.faults.member_faults import how_it_came, is_in_group, is_lost, terminated
from harness.run.faults.targets import Target
from harness.run.joining import await_room
from harness.run.member import Member
from harness.run.scene import FaultStep, Scene

# A member that did not leave holds the others' rebalance up until its session ends: 45 s by
# default.
_JOIN_S: Final = 90.0
# The coordinator counts a static member until its session ends, however it went.
_COUNT_S: Final = 15.0
_START: Final = "start-consumer"
_END: Final = "terminate-consumer"
_MOST_NAMES: Final = 8  # in a line for a person


def _end(scene: Scene, members: Sequence[Member]) -> None:
    for member in members:
        scene.mark(FaultStep(_END, member.name))
    scene.fleet.end_in_order(*members, follow=scene.follow)
    for member in members:
        found = terminated(member)
        at_us = member.ending.at_us if member.ending else None
        scene.mark(FaultStep(_END, member.name, "injected", found.took_effect, found.text, at_us))


def _start(scene: Scene, instance_ids: Sequence[str | None]) -> bool:
    """Start so many, and wait until they are in the group. Whether all got there.

    All at once, or as many of hundreds as leave the brokers a processor.
    """
    waiting: dict[str, tuple[Member, float, int]] = {}
    for instance_id in instance_ids:
        name = scene.fleet.next_name()
        scene.mark(FaultStep(_START, name))
        member = scene.fleet.start_member(name, instance_id)
        waiting[name] = member, time.monotonic(), time.time_ns() // 1_000
        with suppress(WaitTimeout):  # the others are started all the same
            await_room(scene, [each for each, _, _ in waiting.values()])

    def note_those_in() -> bool:
        for name, (member, since, at_us) in list(waiting.items()):
            if is_in_group(scene, member):
                text = f"{name} was in the group {time.monotonic() - since:.2f} s after its start"
                scene.mark(FaultStep(_START, name, "injected", True, text, at_us))
                del waiting[name]
        # None cuts short the time that another has.
        return all(is_lost(scene, who, since) for who, since, _ in waiting.values())

    why = "it ended before"
    try:
        patience_s = _JOIN_S if scene.experiment.app is None else lambda: joining.join_s(scene)
        scene.wait(f"{', '.join(waiting)} in the group", note_those_in, patience_s)
    except WaitTimeout as timeout:
        why = str(timeout)
    for name, (member, _, at_us) in waiting.items():
        found = Evidence(False, f"{name} did not get into the group: {why}")
        if member.foreign:
            found = how_it_came(scene, member)
        scene.mark(FaultStep(_START, name, "injected", found.took_effect, found.text, at_us))
    return not waiting


def _rolling(scene: Scene, old: Sequence[Member]) -> None:
    """One after the other, the new one first, while all come up: maxSurge 1 of Kubernetes."""
    for member in old:
        if not _start(scene, [None]):
            return
        _end(scene, [member])


def _old_first(scene: Scene, old: Sequence[Member], *, same_ids: bool = False) -> None:
    """One after the other, the old one first (maxSurge 0); or, as in a StatefulSet, `same_ids`."""
    for member in old:
        _end(scene, [member])
        if not _start(scene, [member.instance_id if same_ids else None]):
            return


def _at_once(scene: Scene, old: Sequence[Member]) -> None:
    """All end, then the new ones start: a Deployment of Kubernetes of strategy Recreate."""
    _end(scene, old)
    _start(scene, [None] * len(old))


_WAYS: Final[Mapping[str, Callable[[Scene, Sequence[Member]], None]]] = {
    "rolling": _rolling,
    "old first": _old_first,
    "at once": _at_once,
    "same ids": partial(_old_first, same_ids=True),
}


def _check_deploy(fault: Fault, experiment: Experiment) -> None:
    if fault.how == "same ids" and not experiment.group.static:
        raise BadInput(
            f"{fault.kind} of {fault.target} with the same ids is about the group.instance.id that "
            "a process gets from the one before it: give the group static=True, or the app "
            "static = true"
        )


def _check_scale(fault: Fault, _experiment: Experiment) -> None:
    if fault.by is None or fault.by < 1:
        raise BadInput(
            f"{fault.kind} of {fault.target} by {fault.by} changes nothing: say by how many "
            "processes, as in by=2"
        )


def _scale(scene: Scene, fault: Fault, _target: Target) -> None:
    """Down begins with those that were started last, as Kubernetes does."""
    assert fault.by is not None
    if fault.how == "down":
        _end(scene, scene.fleet.live()[-fault.by :])
    else:
        _start(scene, [None] * fault.by)


def _scaled(fault: Fault, _members: int) -> Change:
    by = fault.by or 0
    return Change(0, by) if fault.how == "down" else Change(by, 0)


def _prove(scene: Scene, _fault: Fault, _target: Target) -> Evidence:
    """Every step took effect; and where processes are members, the coordinator counts as many."""
    done = [step for step in scene.steps if step.phase == "injected"]
    failed = [step.evidence for step in done if not step.took_effect]
    if failed:
        return Evidence(False, "; ".join(failed))
    said = []
    live = scene.fleet.live()
    out = {member.name for member in live if member.foreign and not member.started}
    for kind, what, asked in (
        (_END, "ended", False),
        (_START, "got into the group", False),
        (_START, "asked to join, and did not get into the group", True),
    ):
        found = [step.process for step in done if step.kind == kind]
        names = [name for name in found if (name in out) == asked]
        said += [f"{_listed(names)} {what}"] if names else []
    if any(member.foreign for member in live):
        return Evidence(True, "; ".join(said))
    try:
        scene.wait(
            f"group with {plural(len(live), 'member')}",
            lambda: scene.view.group.get("members") == len(live),
            _COUNT_S + scene.experiment.group.session_timeout_ms / 1_000,
        )
    except WaitTimeout as timeout:
        return Evidence(False, f"{'; '.join(said)}, but: {timeout}")
    return Evidence(
        True, f"{'; '.join(said)}; the coordinator counts {plural(len(live), 'member')}"
    )


def _listed(names: Sequence[str]) -> str:
    """The names, but for many the first and how many others: each step is on record by itself."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} others"


# That each process left, or joined, the steps show.
_REPLACED: Final = Effects(
    breaks=Breaks.MEMBER, ends_member=True, adds_member=True, starts_process=True
)

KINDS: Final = (
    Kind(
        "deploy",
        ("group",),
        lambda scene, fault, _: _WAYS[fault.how or next(iter(_WAYS))](scene, scene.fleet.live()),
        _prove,
        check=_check_deploy,
        changes=lambda _fault, members: Change(members, members),
        effects={
            **dict.fromkeys(_WAYS, _REPLACED),
            "same ids": replace(_REPLACED, ends_member=False, adds_member=False),
        },
    ),
    Kind(
        "scale",
        ("group",),
        _scale,
        _prove,
        check=_check_scale,
        changes=_scaled,
        effects={
            "up": Effects(breaks=Breaks.MEMBER, adds_member=True, starts_process=True),
            "down": Effects(breaks=Breaks.MEMBER, ends_member=True),
        },
        takes=("by",),
    ),
)
