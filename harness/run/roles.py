"""What an experiment's faults are aimed at, before anything runs: its roles, and lanes for them."""

from typing import Final

from harness.base.errors import BadInput
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks
from harness.run.faults import effects_of
from harness.run.faults.targets import NUMBERED, ROLES

SPARE_LANES: Final = 2  # beside the processes that are in the group at one time


def check_role(fault: Fault, experiment: Experiment) -> None:
    """Refuse a target that no run of the experiment could resolve.

    Raises BadInput naming the target and what may be said instead.
    """
    for role in filter(None, (fault.target, fault.not_target, fault.of_broker)):
        numbered = NUMBERED.fullmatch(role)
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
        started = sum(effects_of(other).adds_member for other in experiment.faults)
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


def lanes(experiment: Experiment) -> tuple[str, ...]:
    """Lanes that the experiment's cluster needs, so that each network fault can hit one alone.

    Each process of an app has one to itself, by which its requests are known; one that comes in
    another's place may be up before that one has ended.
    """
    if experiment.app is not None:
        most = experiment.group.members + SPARE_LANES
        most += sum(effects_of(fault).adds_member for fault in experiment.faults)
        return ("members", "producers", *(f"member-{number}" for number in range(1, most + 1)))
    own = set()
    for fault in experiment.faults:
        if effects_of(fault).breaks != Breaks.LINK:
            continue
        if fault.target == "any member":
            late = sum(effects_of(other).starts_process for other in experiment.faults)
            members = experiment.group.members + late
            own |= {f"member-{number}" for number in range(1, members + 1)}
        numbered = NUMBERED.fullmatch(fault.target)
        if numbered and numbered["role"] == "member":
            own.add(f"member-{numbered['number']}")
    probes = ("probes",) if experiment.probes else ()
    return ("members", "producers", *probes, *sorted(own))
