"""Everything that can be broken: one value per kind, in `KINDS`.

A new fault is one `Kind`, in a module of its own or in that of what it breaks: every module of this
folder that has `KINDS` is found.
"""

import importlib
import pkgutil
from typing import Final

from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind, Lever, Needed


def _found() -> dict[str, Kind]:
    modules = [
        importlib.import_module(f"{__name__}.{each.name}")
        for each in pkgutil.iter_modules(__path__)
    ]
    return {kind.name: kind for module in modules for kind in getattr(module, "KINDS", ())}


KINDS: Final[dict[str, Kind]] = _found()


def effects_of(fault: Fault) -> Effects:
    """What a fault of an experiment breaks. Its kind has to be one of KINDS."""
    return KINDS[fault.kind].effects_of(fault)


def of_a_user(fault: Fault) -> bool:
    """Whether it takes something from a user. Its kind has to be one of KINDS."""
    return effects_of(fault).breaks == Breaks.RIGHTS


def state_of(fault: Fault) -> str:
    """The state that a fault puts its target into; two faults at a time cannot put it into one.

    The heal of one would end the other: a broker that is paused and killed comes back paused or not
    at all. Whatever takes a broker away is one state, and else each kind has its own.
    """
    return "away" if effects_of(fault).broker_gone else fault.kind


def needs_app(experiment: Experiment) -> bool:
    """Whether only a program under test has what its faults act on."""
    return any(KINDS[fault.kind].lever for fault in experiment.faults)


__all__ = [
    "KINDS",
    "Evidence",
    "Kind",
    "Lever",
    "Needed",
    "effects_of",
    "needs_app",
    "of_a_user",
    "state_of",
]
