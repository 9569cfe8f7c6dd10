"""What a kind of fault is: how to check it, inject it, prove it, heal it."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Final

from harness.base.errors import BadInput
from harness.experiment import Experiment, Fault, Need
from harness.history.effects import Breaks, Effects
from harness.run.faults.targets import Target, kind_of, roles_of
from harness.run.scene import Scene

# What the declared rules need of a run, with the ids of those that do.
Needed = Mapping[Need, tuple[str, ...]]

TELLABLE_MS: Final = 20  # what a probe takes longer must be more than chance

# What a fault may have only where its kind takes it.
_SPECIAL: Final = ("latency_ms", "bandwidth_kb_per_s", "more_partitions", "by")


class Lever(StrEnum):
    """By what of its own a program is made to stall; only some programs have it."""

    NONE = ""
    DEPENDENCY = "dependency"  # a server that it uses besides Kafka
    SINK = "sink"  # the harness's own server, to which it posts what it has processed


@dataclass(frozen=True)
class Evidence:
    """Whether a fault took effect, and what was seen by another path than injected it."""

    took_effect: bool
    text: str


def outlasts_session(fault: Fault, experiment: Experiment, needed: Needed) -> None:
    """Refuse a silence that ends before a session whose end a rule needs. Raises BadInput."""
    group, silent_ms = experiment.group, (fault.lasts_s or 0) * 1_000
    rules = needed.get(Need.SESSION_END, ())
    if rules and silent_ms <= group.session_timeout_ms:
        raise BadInput(
            f"{fault.kind} of {fault.target} for {silent_ms / 1_000:g} s ends before "
            f"session_timeout_ms of {group.session_timeout_ms / 1_000:g} s, so "
            f"{', '.join(rules)} would examine nothing: make the fault longer"
        )


def needs_latency(fault: Fault, otherwise: str = "") -> None:
    """Refuse a latency that a probe could not tell from none; `otherwise` says what else would do.

    Raises BadInput.
    """
    if (fault.latency_ms or 0) < TELLABLE_MS:
        raise BadInput(
            f"{fault.kind} of {fault.target} needs a latency_ms of {TELLABLE_MS} or more"
            f"{otherwise}, because {fault.latency_ms or 0} ms could not be measured"
        )


def _nothing(_scene: Scene, _fault: Fault, _target: Target) -> None:
    """Nothing to do: a crash, a leave or a join cannot be undone, and some heal by themselves."""


@dataclass(frozen=True)
class Change:
    """How many processes of a group a fault starts and ends, one in the place of another too."""

    started: int
    ended: int


@dataclass(frozen=True)
class Kind:
    """One kind of fault. Its functions get the scene, the declared fault, the resolved target."""

    name: str
    targets: tuple[str, ...]  # what it can hit, as targets.kind_of says
    inject: Callable[[Scene, Fault, Target], object]
    prove: Callable[[Scene, Fault, Target], Evidence]
    heal: Callable[[Scene, Fault, Target], None] = _nothing
    # Waits until the heal has worked, and may tell how that is known; left out when the whole
    # cluster is ended anyway.
    settle: Callable[[Scene, Fault, Target], str | None] = _nothing
    check: Callable[[Fault, Experiment], None] = lambda _fault, _experiment: None
    _: KW_ONLY
    # What it breaks; where `how` names one of several ways, by way, the default first.
    effects: Effects | Mapping[str, Effects]
    # Refuses what would leave a declared rule without what it needs.
    check_needs: Callable[[Fault, Experiment, Needed], None] = lambda *_: None
    # How it changes a group of so many members; null where that follows from what it breaks.
    changes: Callable[[Fault, int], Change] | None = None
    takes: tuple[str, ...] = ()  # fields of a fault that only some kinds know
    upgrades: bool = False  # its heal brings a node to the newer of a cluster's two releases
    by_order: bool = False  # done by an order that only our own consumers understand
    lever: Lever = Lever.NONE  # what a program must have for this; our own consumers have none

    @property
    def heals(self) -> bool:
        """Whether it lasts: it is healed, or its end is waited for."""
        return self.heal is not _nothing or self.settle is not _nothing

    @property
    def ways(self) -> Mapping[str, Effects]:
        """What it breaks in each of its ways; one without a name where there is only one."""
        return {"": self.effects} if isinstance(self.effects, Effects) else self.effects

    def effects_of(self, fault: Fault) -> Effects:
        return self.ways[self.way_of(fault)]

    def way_of(self, fault: Fault) -> str:
        """In which of its ways it does so: the first where the fault names none."""
        return fault.how or next(iter(self.ways))

    def change(self, fault: Fault, members: int) -> Change:
        if self.changes is not None:
            return self.changes(fault, members)
        effects = self.effects_of(fault)
        replaced = effects.starts_process and not effects.adds_member
        return Change(int(effects.starts_process), int(effects.ends_member or replaced))

    def validate(self, fault: Fault, experiment: Experiment, needed: Needed) -> None:
        """Refuse a fault that cannot be. Raises BadInput with both numbers and the remedy."""
        about = f"{self.name} of {fault.target}"
        if kind_of(fault.target) not in self.targets:
            raise BadInput(f"{self.name} cannot hit {fault.target!r}: use {roles_of(self.targets)}")
        for name in _SPECIAL:
            if getattr(fault, name) is not None and name not in self.takes:
                raise BadInput(f"{about} takes no {name}: leave {name} out")
        on_member = kind_of(fault.target) == "member"
        if fault.of_broker and not (self.effects_of(fault).breaks == Breaks.LINK and on_member):
            raise BadInput(
                f"{about} has no links to one broker only: leave of_broker={fault.of_broker!r} out"
            )
        if min(fault.at_s, fault.jitter_s) < 0 or (fault.lasts_s or 0) < 0:
            raise BadInput(
                f"{about} has at_s={fault.at_s:g}, jitter_s="
                f"{fault.jitter_s:g} and lasts_s={fault.lasts_s}: none can be negative"
            )
        if self.heals and not fault.lasts_s:
            raise BadInput(
                f"{about} never heals: say in lasts_s for how many seconds it is to last"
            )
        if not self.heals and fault.lasts_s:
            raise BadInput(f"{about} cannot be undone: leave lasts_s={fault.lasts_s:g} out")
        self.check(fault, experiment)
        self.check_needs(fault, experiment, needed)

    def check_way(self, fault: Fault) -> None:
        """Refuse a way that this kind does not have. Raises BadInput naming those that exist."""
        if fault.how is None or (fault.how and fault.how in self.ways):
            return
        known = " or ".join(map(repr, filter(None, self.ways)))
        remedy = f"use how={known}, or leave how out" if known else f"leave how={fault.how!r} out"
        raise BadInput(f"{self.name} of {fault.target} has no variant {fault.how!r}: {remedy}")
