"""Breaks a cluster that is up as it is asked to, and heals it in time."""

import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from harness.base.errors import BadInput, ClusterError, Exit, HarnessError
from harness.experiment import Fault
from harness.history.effects import Breaks
from harness.run.by_hand.breakable import MORE, check_target, fault_of, group_meant, topic_meant
from harness.run.by_hand.door import Asked
from harness.run.by_hand.watch import Watch
from harness.run.faults import effects_of
from harness.run.faults.targets import Target, fitting
from harness.run.interrupts import Interrupted, Progress
from harness.run.nemesis import Nemesis, Planned
from harness.run.scene import Scene


@dataclass(frozen=True)
class Broken:
    """A fault that is there now, who asked for it, and until when, in monotonic seconds."""

    item: Planned
    target: Target
    asked: Asked
    until: float

    def __str__(self) -> str:
        return f"{self.item.fault.kind} of {self.target.name}"


class Breaker:
    """Injects what is asked for, one after the other, and heals each when it is due."""

    def __init__(self, scene: Scene, nemesis: Nemesis, watch: Watch, say: Progress) -> None:
        self._scene = scene
        self._nemesis = nemesis
        self._watch = watch
        self._say = say
        self._numbers = count(1)
        self._listening: Asked | None = None  # to what is done just now
        self.broken: list[Broken] = []
        scene.say = self._tell

    def _tell(self, text: str) -> None:
        self._say(text.strip())
        if self._listening is not None:
            self._listening.say(text.strip())

    def answer(self, asked: Asked) -> None:
        """Inject a fault. Whatever is wrong with it is told to whoever asked."""
        self._listening = asked
        try:
            self._break(asked)
        except HarnessError as error:
            self._say(str(error))
            asked.end(error.exit_code, str(error))
        except Interrupted:
            asked.end(Exit.INTERRUPTED, "the cluster was ended before this was done")
            raise
        finally:
            self._listening = None

    def _break(self, asked: Asked) -> None:
        fault, group = self._wanted(asked.request)
        target, role = self._meant(fault, group)
        item = Planned(f"{next(self._numbers)}-{fault.kind}", fault, 0.0, fault.lasts_s)
        lasting = f", for {fault.lasts_s:g} s" if fault.lasts_s else ""
        self._tell(f"{fault.kind} of {target.name}{role}{lasting}")
        try:
            evidence = self._nemesis.inject(self._scene, item, target)
            if not evidence.took_effect:
                raise ClusterError(
                    f"{fault.kind} of {target.name} did not take effect: {evidence.text}"
                )
        except HarnessError:
            with suppress(HarnessError):
                self._nemesis.heal(self._scene, item)
            raise
        if fault.lasts_s is None:
            asked.end()
            return
        self.broken.append(Broken(item, target, asked, time.monotonic() + fault.lasts_s))

    def _wanted(self, request: dict[str, Any] | None) -> tuple[Fault, str | None]:
        """The fault that is asked for, and the group that is named. Raises BadInput."""
        match request:
            case {
                "kind": str(kind),
                "target": str(target),
                "lasts_s": int() | float() | None as lasts_s,
                "group": str() | None as group,
                "more": dict(more),
            } if more.keys() <= MORE.keys() and all(
                type(value) is MORE[name] for name, value in more.items()
            ):
                return fault_of(self._scene.experiment, kind, target, lasts_s, more), group
        raise BadInput(f"{request} does not ask for a fault")

    def _meant(self, fault: Fault, group: str | None) -> tuple[Target, str]:
        """What a fault is to hit now, and what its role says more than that."""
        scene = self._scene
        seen = self._watch.look()
        check_target(fault, seen, scene.cluster.plan.brokers)
        scene.view.brokers, scene.view.partitions = dict(seen.brokers), dict(seen.partitions)
        more = "" if fault.target in ("members", "producers", "controller") else fault.target
        if fault.target == "coordinator":
            name = group_meant(group, seen)
            scene.view.group = {"group": name, "coordinator": seen.groups[name].coordinator}
            more = f"the coordinator of {name}"
        elif group is not None:
            raise BadInput(
                f"--group says whose coordinator is meant, and the target is {fault.target!r}: "
                "leave --group out"
            )
        if fault.target == "any leader":
            scene.topic = topic_meant(seen)
        on_link = effects_of(fault).breaks == Breaks.LINK
        try:
            found = fitting(scene, fault, on_link=on_link)
        except ClusterError as nothing:
            down = [f"broker-{number}" for number, alive in seen.brokers.items() if not alive]
            raise ClusterError(
                f"nothing is {more or fault.target} right now ({', '.join(down) or 'no broker'} "
                "down): try again later"
            ) from nothing
        target = scene.random.choice(self._free(found))
        return target, f", {more}" if more and not _is_name(fault.target) else ""

    def _free(self, found: list[Target]) -> list[Target]:
        """Those that have no fault. Raises BadInput where none is left."""
        free = [each for each in found if not self._on(each)]
        if not free:
            taken = self._on(found[0])
            assert taken is not None
            left_s = max(0.0, taken.until - time.monotonic())
            raise BadInput(
                f"{found[0].name} has a fault already, {taken.item.fault.kind}, which heals in "
                f"{left_s:.0f} s: wait for that, or name another target"
            )
        return free

    def _on(self, target: Target) -> Broken | None:
        return next((each for each in self.broken if each.target.overlaps(target)), None)

    def heal_due(self) -> None:
        """Heal what has lasted long enough, or is not wanted any more."""
        for each in list(self.broken):
            if time.monotonic() < each.until and not each.asked.enough:
                continue
            self._listening = each.asked
            try:
                self._nemesis.heal(self._scene, each.item)
            except HarnessError as error:
                self._say(str(error))
                each.asked.end(error.exit_code, str(error))
            else:
                each.asked.end()
            finally:
                self._listening = None
            self.broken.remove(each)

    def end(self) -> None:
        """Heal everything, for every way in which this can end; what fails is told."""
        problems = self._nemesis.heal_all(self._scene)
        for problem in problems:
            self._say(problem)
        for each in self.broken:
            each.asked.say(f"{each}: ended, since the cluster ends")
            each.asked.end(Exit.FAILED if problems else Exit.AS_EXPECTED, "; ".join(problems))
        self.broken.clear()


def _is_name(role: str) -> bool:
    return role.startswith("broker")
