"""Injects faults into a cluster that is up as they are asked for, and heals them in time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count

from harness.base.errors import BadInput, ClusterError, Exit, HarnessError
from harness.experiment import Fault
from harness.history.effects import Breaks
from harness.run.by_hand.breakable import check_target, fault_of, group_meant, topic_meant
from harness.run.by_hand.cluster_watch import Watch
from harness.run.by_hand.control_socket import Request
from harness.run.faults import effects_of
from harness.run.faults.targets import Target, fitting
from harness.run.interrupts import Interrupted, Progress
from harness.run.nemesis import Nemesis, PlannedFault
from harness.run.scene import Scene


@dataclass(frozen=True)
class ActiveFault:
    """A fault that has been injected, by which request, and until when, in monotonic seconds."""

    item: PlannedFault
    request: Request
    until: float

    def left_s(self) -> float:
        return max(0.0, self.until - time.monotonic())


class FaultRunner:
    """Injects faults one after the other, and heals each when it is due; `active` are those now."""

    def __init__(self, scene: Scene, nemesis: Nemesis, watch: Watch, say: Progress) -> None:
        self._scene = scene
        self._nemesis = nemesis
        self._watch = watch
        self._say = say
        self._numbers = count(1)
        self._current: Request | None = None  # of what is done just now
        self.active: list[ActiveFault] = []
        scene.say = self._report

    def _report(self, text: str) -> None:
        self._say(text.strip())
        if self._current is not None:
            self._current.say(text.strip())

    def inject(self, request: Request) -> None:
        """Inject a fault. Whatever is wrong with it is the answer to the request."""
        try:
            with self._answering(request):
                self._inject(request)
        except Interrupted:
            request.end(Exit.INTERRUPTED, "the cluster was ended before this was done")
            raise

    @contextmanager
    def _answering(self, request: Request) -> Iterator[None]:
        """What is reported inside goes to the request as well, and an error is its answer."""
        self._current = request
        try:
            yield
        except HarnessError as error:
            self._say(str(error))
            request.end(error.exit_code, str(error))
        finally:
            self._current = None

    def _inject(self, request: Request) -> None:
        try:
            fault = fault_of(self._scene.experiment, **request.body["fault"])
        except (KeyError, TypeError) as error:
            raise BadInput(f"{request.body} does not ask for a fault") from error
        target, role = self._resolve(fault, request.body.get("group"))
        name = f"{next(self._numbers)}-{fault.kind}"
        planned = PlannedFault(name, fault, 0.0, fault.lasts_s)
        item = replace(planned, target=target)
        lasting = f", for {fault.lasts_s:g} s" if fault.lasts_s else ""
        self._report(f"{item}{role}{lasting}")
        try:
            evidence = self._nemesis.inject(self._scene, planned, target)
            if not evidence.took_effect:
                raise ClusterError(f"{item} did not take effect: {evidence.text}")
        except HarnessError:
            with suppress(HarnessError):
                self._nemesis.heal(self._scene, item)
            raise
        if fault.lasts_s is None:
            request.end()
            return
        until = time.monotonic() + fault.lasts_s
        self.active.append(ActiveFault(item, request, until))

    def _resolve(self, fault: Fault, group: str | None) -> tuple[Target, str]:
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
        return target, f", {more}" if more and not fault.target.startswith("broker") else ""

    def _free(self, found: list[Target]) -> list[Target]:
        """Those that have no fault. Raises BadInput if all have one."""
        taken = {
            target: each
            for each in reversed(self.active)
            for target in found
            if each.item.hit.overlaps(target)
        }
        if free := [target for target in found if target not in taken]:
            return free
        first = taken[found[0]]
        raise BadInput(
            f"{found[0].name} has a fault already, {first.item.fault.kind}, which heals in "
            f"{first.left_s():.0f} s: wait for that, or name another target"
        )

    def heal_due(self) -> None:
        for each in list(self.active):
            if each.left_s() and not each.request.wants_heal():
                continue
            with self._answering(each.request):
                self._nemesis.heal(self._scene, each.item)
                each.request.end()
            self.active.remove(each)

    def end(self) -> None:
        """Heal everything, for every way in which this can end; each request hears what failed."""
        problems = self._nemesis.heal_all(self._scene)
        for problem in problems:
            self._say(problem)
        for each in self.active:
            each.request.say(f"{each.item}: ended, since the cluster ends")
            each.request.end(Exit.FAILED if problems else Exit.AS_EXPECTED, "; ".join(problems))
        self.active.clear()
