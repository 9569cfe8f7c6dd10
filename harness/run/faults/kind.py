"""What a kind of fault is: how to check it, inject it, prove it, heal it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.base.errors import BadInput
from harness.experiment import Experiment, Fault
from harness.run.faults.targets import NETWORK_KINDS, Target, kind_of
from harness.run.scene import Scene

_ABOUT_EVICTIONS: Final = frozenset({"R01", "R06", "R35", "X23", "X27"})


@dataclass(frozen=True)
class Evidence:
    """Whether a fault took effect, and what was seen by another path than injected it."""

    took_effect: bool
    text: str


def outlasts_session(fault: Fault, experiment: Experiment) -> None:
    """Refuse a silence that ends before a session does, where a rule is about its end.

    Raises BadInput with both numbers.
    """
    group, silent_ms = experiment.group, (fault.lasts_s or 0) * 1_000
    asked = {expect.rule for expect in experiment.rules} & _ABOUT_EVICTIONS
    if asked and silent_ms <= group.session_timeout_ms:
        raise BadInput(
            f"{fault.kind} of {fault.target} for {silent_ms / 1_000:g} s ends before "
            f"session_timeout_ms of {group.session_timeout_ms / 1_000:g} s, so "
            f"{', '.join(sorted(asked))} would see nothing: make the former longer"
        )


def _nothing(_scene: Scene, _fault: Fault, _target: Target) -> None:
    """Nothing to do: a crash, a leave or a join cannot be undone, and some heal by themselves."""


def _no_check(_fault: Fault, _experiment: Experiment) -> None:
    """Nothing more to check."""


@dataclass(frozen=True)
class Kind:
    """One kind of fault. Its functions get the scene, the declared fault, the resolved target."""

    name: str
    targets: tuple[str, ...]  # what it can hit, as targets.kind_of says
    heals: bool
    inject: Callable[[Scene, Fault, Target], None]
    prove: Callable[[Scene, Fault, Target], Evidence]
    heal: Callable[[Scene, Fault, Target], None] = _nothing
    # Waits until the heal has worked; left out when the whole cluster is ended anyway.
    settle: Callable[[Scene, Fault, Target], None] = _nothing
    check: Callable[[Fault, Experiment], None] = _no_check

    def validate(self, fault: Fault, experiment: Experiment) -> None:
        """Refuse a fault that cannot be.

        Raises BadInput with both numbers and the remedy.
        """
        if kind_of(fault.target) not in self.targets:
            raise BadInput(
                f"{self.name} cannot hit {fault.target!r}: it hits a {' or a '.join(self.targets)}"
            )
        if fault.of_broker and (self.name not in NETWORK_KINDS or "member" not in fault.target):
            raise BadInput(
                f"{self.name} of {fault.target} has no links to one broker only: leave "
                f"of_broker={fault.of_broker!r} out"
            )
        if min(fault.at_s, fault.jitter_s) < 0 or (fault.lasts_s or 0) < 0:
            raise BadInput(
                f"{self.name} of {fault.target} has at_s={fault.at_s:g}, jitter_s="
                f"{fault.jitter_s:g} and lasts_s={fault.lasts_s}: none can be negative"
            )
        if self.heals and not fault.lasts_s:
            raise BadInput(f"{self.name} of {fault.target} never heals: give it lasts_s")
        if not self.heals and fault.lasts_s:
            raise BadInput(
                f"{self.name} of {fault.target} cannot be undone: "
                f"leave lasts_s={fault.lasts_s:g} out"
            )
        self.check(fault, experiment)
