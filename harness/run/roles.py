"""What an experiment's faults are aimed at, before anything runs: its roles, and lanes for them."""

from dataclasses import dataclass
from typing import Final

from harness.base.errors import BadInput
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks
from harness.history.whose import SHARED
from harness.run.faults import KINDS, effects_of, of_a_user
from harness.run.faults.kind import Change, Lever
from harness.run.faults.targets import NUMBERED, ROLES, dependency_in, kind_of

SPARE_LANES: Final = 2  # beside the processes that are in the group at one time
# Of an app, at one time. Measured on two cores with 10, 30 and 60: the cluster started in 4.5,
# 6.3 and 6.4 s, the group was steady 11 to 13 s after that, and no process was taken for another.
MOST_LANES: Final = 60
# What a fault breaks of one member alone if that has a lane, and so a user, to itself.
_OF_ONE_LANE: Final = (Breaks.LINK, Breaks.RIGHTS)


@dataclass(frozen=True)
class Headcount:
    """How many processes of a group there are: ever, at most at one time, and in the end."""

    ever: int
    most: int
    left: int


def changes(experiment: Experiment) -> list[tuple[Fault, int, Change]]:
    """Each fault, the members that there are then, and what it changes; in order unless drawn."""
    faults, members = list(experiment.faults), experiment.group.members
    if experiment.at_random:
        return [(fault, members, KINDS[fault.kind].change(fault, members)) for fault in faults]
    if not experiment.one_by_one:
        faults.sort(key=lambda fault: fault.at_s)
    found = []
    for fault in faults:
        change = KINDS[fault.kind].change(fault, members)
        found.append((fault, members, change))
        members += change.started - change.ended
    return found


def headcount(experiment: Experiment) -> Headcount:
    """How many processes the group has through all faults; where they are drawn, see `draw`."""
    changed = changes(experiment)
    if experiment.at_random:
        declared = experiment.group.members
        fewer = any(change.ended > change.started for _, _, change in changed)
        return Headcount(declared + 1 + SPARE_LANES, declared + 1, declared - fewer)
    after = [members + change.started - change.ended for _, members, change in changed]
    living = [experiment.group.members, *after]
    started = sum(change.started for _, _, change in changed)
    return Headcount(experiment.group.members + started, max(living), living[-1])


def check_role(fault: Fault, experiment: Experiment) -> None:
    """Refuse a target that no run of the experiment could resolve. Raises BadInput."""
    for role in filter(None, (fault.target, fault.not_target, fault.of_broker)):
        numbered = NUMBERED.fullmatch(role)
        if role == "controller" and experiment.cluster.controllers > 1:
            raise BadInput(
                f"target 'controller' of {fault.kind} could be any of "
                f"{experiment.cluster.controllers}, since the active one is not known: use "
                "controllers=1"
            )
        if dependency := dependency_in(role):
            app = experiment.app  # without a program it is not known yet what there is
            if app is not None and dependency not in app.dependencies:
                known = ", ".join(app.dependencies)
                raise BadInput(
                    f"target {fault.target!r} of {fault.kind} does not exist: {app.name} has "
                    f"{f'[dependency] {known}' if known else 'no [dependency]'}"
                )
            continue
        if numbered is None:
            if role not in ROLES:
                raise BadInput(
                    f"target {role!r} of {fault.kind} is not a role: use {', '.join(ROLES)}"
                )
            continue
        if experiment.at_random and numbered["role"] == "member":
            raise BadInput(
                f"target {role!r} of {fault.kind} may have ended already, because faults are drawn "
                "at random: use any member"
            )
        number = int(numbered["number"])
        counts = {"broker": experiment.cluster.brokers, "member": headcount(experiment).ever}
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


def lanes(experiment: Experiment) -> tuple[str, ...]:
    """Lanes that the experiment's cluster needs, so that each network fault can hit one alone.

    Each process of an app has one to itself, by which its requests are known; a successor may be up
    before its predecessor has ended. Very large groups share one. Raises BadInput where such a
    group would need them.
    """
    if experiment.app is not None:
        most = headcount(experiment).most
        if most > MOST_LANES:
            _refuse_on_a_shared_lane(experiment, most)
            return ("members", "producers", SHARED)
        numbers = range(1, most + SPARE_LANES + 1)
        return ("members", "producers", *(f"member-{number}" for number in numbers))
    own = set()
    for fault in experiment.faults:
        if effects_of(fault).breaks not in _OF_ONE_LANE:
            continue
        if fault.target == "any member":
            ever = headcount(experiment).ever
            own |= {f"member-{number}" for number in range(1, ever + 1)}
        numbered = NUMBERED.fullmatch(fault.target)
        if numbered and numbered["role"] == "member":
            own.add(f"member-{numbered['number']}")
    probes = ("probes",) if experiment.probes else ()
    return ("members", "producers", *probes, *sorted(own))


def authorized(experiment: Experiment) -> bool:
    return any(map(of_a_user, experiment.faults))


def _refuse_on_a_shared_lane(experiment: Experiment, most: int) -> None:
    """Refuse faults of one process's links where all processes have the same.

    The sink is no such link: each process has an address of its own to post to.
    """
    broken = (Breaks.LINK, Breaks.DEPENDENCY)
    for fault in experiment.faults:
        of_links = effects_of(fault).breaks in broken and KINDS[fault.kind].lever is not Lever.SINK
        if of_links and kind_of(fault.target) == "member" and experiment.app is not None:
            raise BadInput(
                f"{fault.kind} of {fault.target} needs links of one process alone, and the {most} "
                f"processes of {experiment.app.name} share theirs, as more than {MOST_LANES} do: "
                "lower instances"
            )
