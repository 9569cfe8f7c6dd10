"""The nemesis plays the schedule of faults, and keeps the fault journal.

Each fault leaves six marks: planned, injecting, injected (with the evidence that it bit), healing,
healed, or failed. "injecting" is on disk before anything is touched, and whatever was injected is
healed whatever happens afterwards.

A fault may go on step by step, as the deploy of a group does. Each step leaves its marks as a fault
of its own: "1.2-terminate-consumer" is the second step of "1-deploy".
"""

import json
import math
import random
import time
from bisect import insort
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from consumers.journal import Journal, JournalError
from harness.base.errors import HarnessError, VoidRun
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks
from harness.run.faults import KINDS, Evidence, Kind, state_of
from harness.run.faults.targets import Target, resolve
from harness.run.joining import missed_s
from harness.run.roles import changes
from harness.run.scene import FaultStep, Patience, Scene


@dataclass(frozen=True)
class PlannedFault:
    """A fault with its times, in seconds since steady state, and how far it is.

    `target` is null until it is resolved. As a text it is what is done to what.
    """

    name: str
    fault: Fault
    inject_s: float
    heal_s: float | None
    phase: str = "planned"
    target: Target | None = None

    @property
    def kind(self) -> Kind:
        return KINDS[self.fault.kind]

    @property
    def hit(self) -> Target:
        """The target of one that has been injected."""
        assert self.target is not None
        return self.target

    def __str__(self) -> str:
        return f"{self.fault.kind} of {self.target.name if self.target else self.fault.target}"


def plan_faults(experiment: Experiment, randomness: random.Random) -> list[PlannedFault]:
    """The schedule, with phases drawn from the seed; empty where the faults are drawn."""
    planned: list[PlannedFault] = []
    if experiment.at_random:
        return planned
    for number, fault in enumerate(experiment.faults, start=1):
        inject_s = fault.at_s + randomness.uniform(0, fault.jitter_s)
        heal_s = inject_s + fault.lasts_s if fault.lasts_s else None
        planned.append(PlannedFault(f"{number}-{fault.kind}", fault, inject_s, heal_s))
    return planned


def draw(experiment: Experiment, members: int, randomness: random.Random) -> tuple[Fault, float]:
    """The next fault where they are drawn, and its phase in seconds.

    Only one after which the group has about as many members as declared, one more or less.
    """
    declared = experiment.group.members
    after = [
        (fault, members + change.started - change.ended) for fault, _, change in changes(experiment)
    ]
    fitting = [fault for fault, left in after if abs(left - declared) <= 1]
    fault = randomness.choice(fitting)
    return fault, randomness.uniform(0, fault.jitter_s)


class Nemesis:
    def __init__(self, journal: Journal, planned: list[PlannedFault]) -> None:
        self._journal = journal
        self._planned = planned
        self._open: dict[str, PlannedFault] = {}
        for item in planned:
            self._mark(item)

    def play(self, scene: Scene) -> None:
        """Play the whole schedule. Raises VoidRun if a fault could not be injected or healed.

        A fault that had to wait for what went before it lasts as long as declared. Programs that
        take long until they are in the group delay all that follows: one that is ended as it comes
        has shown nothing.
        """
        scene.faults |= {item.name: item for item in self._planned}
        waiting = sorted(self._planned, key=lambda item: item.inject_s)
        healing: list[tuple[float, PlannedFault]] = []  # by the time at which it is due
        while waiting or healing:
            inject_s = waiting[0].inject_s + scene.late_s if waiting else math.inf
            if healing and healing[0][0] < inject_s:
                heal_s, item = healing.pop(0)
                scene.pass_time(scene.steady_at + heal_s)
                self._heal(scene, item)
                continue
            item = waiting.pop(0)
            scene.pass_time(scene.steady_at + inject_s)
            begun_at = time.monotonic()
            if item.fault.lasts_s:
                heal_s = begun_at - scene.steady_at + item.fault.lasts_s
                item = replace(item, heal_s=heal_s)  # what is shown of it says so too
                insort(healing, (heal_s, item), key=lambda due: due[0])
            self._inject(scene, item)
            waits = item.kind.effects_of(item.fault).starts_process and not item.kind.heals
            if waits and scene.experiment.app is not None:
                scene.late_s += time.monotonic() - begun_at

    def play_one_by_one(self, scene: Scene, patience_s: Patience) -> None:
        """Play and heal each fault once all is well after the one before. Raises WaitTimeout."""
        scene.faults |= {item.name: item for item in self._planned}
        for item in self._planned:
            scene.wait(f"steady state before {item.name}", scene.well, patience_s)
            item = self._due(scene, item)
            scene.pass_time(scene.steady_at + item.inject_s)
            self._play_alone(scene, item)

    def play_at_random(self, scene: Scene, patience_s: Patience) -> None:
        """Play faults as they are drawn, each once all is well after the one before.

        It ends when the declared time is over, or once the scene is to be left. Raises WaitTimeout
        as `play_one_by_one`.
        """
        experiment = scene.experiment
        over_s = experiment.duration_s
        for number in count(1):
            scene.wait("steady state before the next fault", scene.well, patience_s)
            fault, phase_s = draw(experiment, len(scene.fleet.live()), scene.random)
            item = PlannedFault(f"{number}-{fault.kind}", fault, fault.at_s + phase_s, None)
            scene.faults.clear()  # what is over is on record
            item = self._due(scene, item)
            ends_s = min(item.inject_s, over_s)
            scene.pass_time(scene.steady_at + ends_s, unless=lambda: scene.leaving)
            if scene.leaving or item.inject_s >= over_s:
                scene.faults.clear()
                return
            self._mark(item)
            self._play_alone(scene, item)

    def _due(self, scene: Scene, item: PlannedFault) -> PlannedFault:
        """The fault with its times from steady state, as it is due so long after this moment."""
        item = replace(item, inject_s=time.monotonic() - scene.steady_at + item.inject_s)
        scene.faults[item.name] = item
        return item

    def _play_alone(self, scene: Scene, item: PlannedFault) -> None:
        if item.fault.lasts_s:
            item = replace(item, heal_s=item.inject_s + item.fault.lasts_s)
        self._inject(scene, item)
        if item.fault.lasts_s:
            scene.pass_time(time.monotonic() + item.fault.lasts_s)
            self._heal(scene, item)
        scene.well_since = None

    def _inject(self, scene: Scene, item: PlannedFault) -> None:
        scene.follow()  # roles are what they are now, however long the fault before took
        on_link = item.kind.effects_of(item.fault).breaks == Breaks.LINK
        state = state_of(item.fault)
        taken = [each.hit for each in self._open.values() if state_of(each.fault) == state]
        target = resolve(scene, item.fault, on_link=on_link, taken=taken)
        self.inject(scene, item, target)

    def inject(self, scene: Scene, item: PlannedFault, target: Target) -> Evidence:
        """Inject a fault into this target, of a schedule or of none. Raises VoidRun as `play`."""
        kind = item.kind
        if item.name not in scene.faults:
            self._mark(item)
        item = self._reach(scene, replace(item, target=target), "injecting")
        if kind.heals:
            self._open[item.name] = item
        scene.steps.clear()
        scene.mark = partial(self._mark_step, scene, item)
        try:
            kind.inject(scene, item.fault, target)
            injected_at = time.time_ns() // 1_000
            evidence = kind.prove(scene, item.fault, target)
        except (HarnessError, OSError) as error:
            self._mark(replace(item, phase="failed"), evidence=str(error), took_effect=False)
            raise VoidRun(f"{item} could not be injected: {error}") from error
        seen = {"took_effect": evidence.took_effect, "evidence": evidence.text}
        self._reach(scene, item, "injected", at_us=injected_at, **seen)
        scene.disturbed_at = time.monotonic()
        effects = kind.effects_of(item.fault)
        if effects.killed and effects.ends_member:
            missed_until = scene.disturbed_at + missed_s(scene, target.name)
            scene.missed_until = max(scene.missed_until, missed_until)
        effect = "" if evidence.took_effect else "WITHOUT EFFECT: "
        scene.say(f"  {item}: {effect}{evidence.text}")
        return evidence

    def heal(self, scene: Scene, item: PlannedFault) -> None:
        """Heal a fault that was injected, if it still is. Raises VoidRun as `play`."""
        if item.name in self._open:
            self._heal(scene, item)

    def heal_all(self, scene: Scene) -> list[str]:
        """Heal what is still injected, for every way a run can end; what went wrong.

        A failure keeps none of the others. The cluster is not used any more: it need not be well.
        """
        problems = []
        for item in list(self._open.values()):
            try:
                self._heal(scene, item, settle=False)
            except HarnessError as error:
                problems.append(str(error))
            except Exception as error:  # noqa: BLE001 (whatever it is, the others are still broken)
                problems.append(f"{item.name}: {type(error).__name__}: {error}")
        return problems

    def _heal(self, scene: Scene, item: PlannedFault, *, settle: bool = True) -> None:
        """Heal a fault, even if that cannot be written; it is open until then. Raises VoidRun."""
        item = self._open[item.name]
        unwritten: JournalError | None = None
        known: str | None = None
        try:
            self._reach(scene, item, "healing")
        except JournalError as error:
            unwritten = error
        try:
            item.kind.heal(scene, item.fault, item.hit)
            del self._open[item.name]
            if settle:
                known = item.kind.settle(scene, item.fault, item.hit)
        except (HarnessError, OSError) as error:
            with suppress(JournalError):
                self._mark(replace(item, phase="failed"), evidence=str(error))
            still = item.name in self._open
            became = (
                "could not be healed" if still else "is healed, but its effect was not seen to end"
            )
            raise VoidRun(f"{item} {became}: {error}") from error
        if unwritten is not None:
            raise VoidRun(f"{item} is healed, but not on record: {unwritten}") from unwritten
        self._reach(scene, item, "healed", evidence=known)
        scene.disturbed_at = time.monotonic()
        scene.say(f"  {item}: healed{f': {known}' if known else ''}")

    def _reach(self, scene: Scene, item: PlannedFault, phase: str, **more: Any) -> PlannedFault:
        item = scene.faults[item.name] = replace(item, phase=phase)
        self._mark(item, **more)
        return item

    def _mark_step(self, scene: Scene, item: PlannedFault, step: FaultStep) -> None:
        """Each as a fault of its own, so that it is judged like one that comes alone."""
        scene.steps.append(step)
        begun = [each.process for each in scene.steps if each.phase == "injecting"]
        number = item.name.partition("-")[0]
        name = f"{number}.{begun.index(step.process) + 1}-{step.kind}"
        fault = replace(item.fault, kind=step.kind, how=None, by=None)
        more: dict[str, Any] = {} if step.at_us is None else {"at_us": step.at_us}
        if step.phase == "injected":
            more |= {"took_effect": step.took_effect, "evidence": step.evidence}
            scene.say(f"    {step.kind}: {step.evidence}")
        target = Target("member", step.process)
        step_of = replace(item, name=name, fault=fault, phase=step.phase, target=target)
        self._mark(step_of, **more)

    def _mark(self, item: PlannedFault, **more: Any) -> None:
        parameters = {
            **asdict(item.fault),
            "inject_s": round(item.inject_s, 3),
            # Queries ask these, not the kind's name.
            "way": item.kind.way_of(item.fault) or None,
            "effects": asdict(item.kind.effects_of(item.fault)),
        }
        self._journal.write(
            "fault",
            fault=item.name,
            fault_kind=item.fault.kind,
            target=item.fault.target,
            resolved=item.target.name if item.target else None,
            phase=item.phase,
            parameters=json.dumps(parameters),
            **more,
        )
