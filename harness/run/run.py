"""One run of an experiment, from an empty folder to a whole history. No judging happens here."""

import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from consumers.journal import Journal
from harness.base import processes
from harness.base.errors import NO_MEMORY, HarnessError, VoidRun, WaitTimeout
from harness.base.paths import here
from harness.base.ports import Ports
from harness.cluster import links
from harness.cluster.admin import create_topic, create_users, grant_all
from harness.cluster.backends import backend_of
from harness.cluster.dependency_proxies import Dependencies
from harness.cluster.features import releases_in
from harness.cluster.plan import OUTPUT, TOPIC, Plan, group_settings, with_secrets
from harness.experiment import Experiment
from harness.experiment.app import App
from harness.history import manifest, seals
from harness.history.app_record import observed
from harness.history.collect import collect
from harness.history.shown import WRITTEN
from harness.provision.tools import Tools
from harness.run import beside, joining
from harness.run.app_processes import build, needs_building
from harness.run.estimate import drains_within_s
from harness.run.fleet import Fleet
from harness.run.folder import SCRATCH
from harness.run.interrupts import Interrupted, Progress, interruptible, uninterrupted
from harness.run.named import naming_of_app
from harness.run.nemesis import Nemesis, plan_faults
from harness.run.output import read_output, read_written
from harness.run.record import broker_facts, first_record, keep_sources
from harness.run.roles import authorized, lanes
from harness.run.scene import ClusterView, Patience, Scene
from harness.run.turns import Turn
from harness.run.waiting import Pressure
from harness.run.why import cannot_run

AFTER_S: Final = 1.0  # kept running when all is well: a member about to drop out would have


@dataclass(frozen=True)
class Order:
    """What is played, and where it is kept.

    Its program, limits and versions are the experiment's. `label` names it on the screen (else
    `name`), and `port_base` is the first port that it takes (else any that are free).
    """

    name: str
    experiment: Experiment
    results: Path  # absolute; the run gets a folder of its own below
    seed: int
    port_base: int | None = None
    label: str = ""


class ExperimentRun:
    """One run.

    1. reserve the folder, write the manifest, start the watchdog and the observer
    2. start the proxies and the cluster, create the topic, start the fleet
    3. wait for the run's turn to be measured; start the producer, have the members join, and wait
       for steady state
    4. play the faults: intent on disk, inject, prove it bit, heal
    5. wait until the group is steady and the cluster whole again
    6. stop the producer, let the members read to the end offsets
    7. close the members in order, stop everything
    8. collect journals and broker logs into the history; complete the manifest
    """

    def __init__(
        self,
        order: Order,
        tools: Tools,
        run_dir: Path,
        say: Progress,
        on_phase: Progress,
        look: Callable[[Scene], None],
        *,
        to_be_left: bool,
    ) -> None:
        """`to_be_left`: where faults are drawn, the first Ctrl-C means that no more are to come."""
        experiment = self._experiment = order.experiment
        self._tools = tools
        self.run_dir = run_dir
        self._run = run_dir.name
        self._images = experiment.app is not None and bool(experiment.app.image)
        self._backend = backend_of(experiment.cluster.backend, images=self._images)
        self._say = say
        self._on_phase = on_phase
        self._look = look
        self._to_be_left = to_be_left
        self._drawing: Scene | None = None  # while faults are drawn there
        self._ports = Ports(order.port_base)
        self._random = random.Random(order.seed)
        self._keep: frozenset[int] = frozenset()  # what must outlive the run's other processes
        self._left: set[str] = set()  # what of it is still to be ended
        self._turn = Turn(self._run, gently=experiment.cluster.backend == "embedded")
        self._manifest = first_record(order.name, experiment, tools, self._run, order.seed)

    def play(self) -> None:
        """Run it to the end.

        Raises Interrupted (after healing), VoidRun, WaitTimeout, ClusterError; in every case the
        manifest says how it ended and nothing is left running.
        """
        self._write_manifest()
        keep_sources(self.run_dir, self._experiment)
        with interruptible(self._leave), self._ports, self._watchdog(), closing(self._turn):
            try:
                with self._planned() as plan:
                    self._play_plan(plan)
            except Interrupted:
                self._end("interrupted", "it was interrupted before it was complete")
                raise
            except Exception as error:
                reason, sentence = self._why_void(error)
                self._end("void", reason)
                if not sentence:
                    raise
                raise VoidRun(sentence) from error
            else:
                self._end("complete", "")

    def _why_void(self, error: Exception) -> tuple[str, str]:
        """The reason for the manifest; and what is raised instead of an error that says nothing."""
        match error:
            case HarnessError():
                return str(error), ""
            case ConnectionError() | TimeoutError():
                why, what = str(error) or type(error).__name__, "a part of the run"
                return f"{what} could not be reached: {why}", (
                    f"{what} could not be reached ({why}), so the run is void: "
                    f"{here(self._logs)} may say why; run again"
                )
            case OSError():
                return f"the machine refused: {error}", (
                    f"the machine refused ({error}), so the run is void: make room or lift the "
                    "limit, and run again"
                )
            case MemoryError():
                return "there was not enough memory", f"the run is void: {NO_MEMORY}"
        return f"the harness failed: {type(error).__name__}: {error}", ""

    def _leave(self) -> bool:
        """Have no more faults come, if that is what Ctrl-C means now. The scene says so."""
        if not self._to_be_left or self._drawing is None or self._drawing.leaving:
            return False
        self._drawing.leaving = True
        return True

    @contextmanager
    def _planned(self) -> Iterator[Plan]:
        """The plan of the cluster, its secrets made up; inside, links are as it says."""
        experiment, cluster = self._experiment, self._experiment.cluster
        settings = group_settings(experiment.group, cluster.releases[0]) | cluster.settings
        wanted = replace(cluster, settings=settings)
        plan = self._backend.plan(wanted, lanes(experiment), self._run, self._ports)
        app = experiment.app
        writes = app is not None and bool(app.effects.output_topic)
        plan = replace(plan, logs_fetches=app is not None, logs_writes=writes)
        scratch, asks = self.run_dir / SCRATCH, authorized(experiment)
        plan = with_secrets(plan, cluster.security, scratch, authorized=asks)
        with links.secured(plan.secured.of_harness() if plan.secured is not None else None):
            yield plan

    def _play_plan(self, plan: Plan) -> None:
        app = self._experiment.app
        # Without a path of this machine.
        set_to = {node.name: plan.properties(node, Path("data") / node.name) for node in plan.nodes}
        self._manifest["effective"] = {"brokers": set_to}
        started = self._backend.make(plan, self._tools, self.run_dir / SCRATCH, self._logs)
        self._turn.warm_up()
        if app is not None:
            self._build(app)
        port = self._ports.take() if app is not None and app.effects.http else None
        dependencies = None
        if app is not None and app.dependencies:
            dependencies = Dependencies(app.addresses, plan.lanes, self._run, self._ports)
        fleet = Fleet(self._experiment, plan, self._tools, self.run_dir, port, dependencies)
        observer: subprocess.Popen[bytes] | None = None
        self._manifest |= fleet.record()
        self._left = {"cluster", "programs", "processes"}
        try:
            with self._phase("start cluster"):
                observer = beside.start_observer(plan, self.run_dir)
                if fleet.sink is not None:
                    fleet.sink.start()
                started.start()
                if dependencies is not None:
                    folder = self.run_dir / SCRATCH
                    dependencies.start(self._tools.toxiproxy, folder, self._logs)
                create_users(plan)
                grant_all(plan)
                create_topic(plan, self._experiment)
                beside.tell(observer, "look")
                # While it looks for the coordinator, the brokers make the topic of the positions.
                self._manifest["versions"] |= started.versions()
                self._manifest["effective"] |= broker_facts(plan)
            view = ClusterView(self.run_dir / "journals" / "observer.journal")
            ours = self._experiment, started, fleet, view, observer, TOPIC, self._random
            self._play_scene(Scene(*ours, dependencies, self._look, self._say))
        finally:
            # Each of these whatever becomes of the others; the last error is the run's.
            with uninterrupted(self._say), ExitStack() as last_first:
                last_first.callback(self._collect, fleet)
                last_first.callback(self._turn.close)
                end_run = partial(processes.end_run, self._run, keep=self._keep)
                last_first.callback(self._end_of, "processes", end_run)
                last_first.callback(self._end_of, "cluster", started.stop)
                if dependencies is not None:
                    last_first.callback(dependencies.toxiproxy.stop)
                if observer is not None:
                    # It closes its journal while there still is a cluster to look at.
                    last_first.callback(processes.let_end, observer, beside.LAST_LOOK_S)
                last_first.callback(self._end_of, "programs", fleet.kill_all)

    def _build(self, app: App) -> None:
        """Build a program where it has to be. Raises VoidRun where there is nothing to run then."""
        if needs_building(app):
            with self._phase(f"build {app.name}: {shlex.join(app.build)}"):
                build(app, self._run, self._logs / "build.log")
        if why := cannot_run(app):
            raise VoidRun(
                f"{app.name}: {why}" + ("; its build step made none" if app.build else "")
            )

    def _end_of(self, what: str, end: Callable[[], object]) -> None:
        """End something of the run; what cannot be ended here is left to the watchdog."""
        end()
        self._left.discard(what)

    def _play_scene(self, scene: Scene) -> None:
        experiment = self._experiment
        with self._phase("start fleet"):
            scene.wait(
                "coordinator of the group",
                lambda: scene.view.group.get("coordinator") is not None,
                60,
            )
            ready = joining.start_ready(scene)
            self._turn.take(scene.wait)
            beside.tell(scene.observer, "tick")
            pressure = Pressure()
            scene.fleet.start_producer()
            for member in ready:
                with suppress(BrokenPipeError):  # its end is noticed elsewhere
                    member.send("join")
            if not ready:
                joining.start(scene)
            joining.await_group(scene)
        with self._phase("steady"):
            playing_beside = [
                beside.start(scene, probe.name) for probe in experiment.probes if probe.beside
            ]
            for playing in playing_beside:
                beside.await_ready(scene, playing)
            scene.steady_at = time.monotonic()
            journal = Journal(self.run_dir / "journals" / "faults.journal", member="nemesis")
            nemesis = Nemesis(journal, plan_faults(experiment, self._random))
            if not experiment.faults and not experiment.probes:
                scene.pass_time(scene.steady_at + experiment.duration_s)
        for probe in experiment.probes:
            if not probe.beside:
                scene.pass_time(scene.steady_at + probe.at_s)
                self._probe(scene, beside.start(scene, probe.name))
        if experiment.faults:
            self._break(scene, nemesis)
        if experiment.cluster.upgraded_from:
            self._manifest["effective"]["upgraded"] = broker_facts(scene.cluster.plan)
        for playing in playing_beside:
            self._probe(scene, playing)
        journal.end()
        with self._phase("drain"):
            self._as_far_as_it_goes(scene, lambda: self._drain(scene))
        with self._phase("stop"):
            if stuck := scene.fleet.close_members():
                raise VoidRun(f"members did not close in order ({'; '.join(stuck)}): see logs/")
        self._manifest["host"]["cpu_pressure"] = pressure.shares()
        where = scene.cluster.plan, experiment.load.partitions
        if experiment.group.commit == "transaction":
            self._read("output.journal", lambda journal: read_output(*where, OUTPUT, journal))
        if (app := experiment.app) is not None and (topic := app.effects.output_topic):
            naming = naming_of_app(app, scene.fleet.rounds)
            self._read(WRITTEN, lambda journal: read_written(*where, topic, journal, naming))

    def _read(self, name: str, read: Callable[[Journal], None]) -> None:
        with self._phase("read output"):
            journal = Journal(self.run_dir / "journals" / name, member="harness")
            read(journal)
            journal.end()

    def _probe(self, scene: Scene, playing: beside.Playing) -> None:
        with self._phase(f"probe {playing.name}"):
            beside.await_end(scene, playing)

    def _break(self, scene: Scene, nemesis: Nemesis) -> None:
        with self._phase("faults"):
            try:
                if self._experiment.at_random:
                    self._drawing = scene
                    play = nemesis.play_at_random
                else:
                    play = nemesis.play_one_by_one
                if self._experiment.at_random or self._experiment.one_by_one:
                    self._as_far_as_it_goes(scene, lambda: play(scene, joining.recover_s(scene)))
                else:
                    nemesis.play(scene)
            finally:
                self._drawing = None
                with uninterrupted(self._say):
                    problems = nemesis.heal_all(scene)
            if problems:
                raise VoidRun(f"not everything could be healed: {'; '.join(problems)}")
            scene.well_since = None  # while a fault is active nothing is well, whatever it seems
            if not scene.leaving:
                if (left_s := scene.missed_until - time.monotonic()) > 0:
                    self._say(f"  a killed member is missed for {left_s:.0f} s more at most")
                scene.pass_time(scene.over_at)
        with self._phase("recover"):
            self._as_far_as_it_goes(scene, lambda: self._recover(scene))

    def _as_far_as_it_goes(self, scene: Scene, phase: Callable[[], None]) -> None:
        """Play a phase; what a program, or a client that gave up, does not reach is for rules."""
        try:
            phase()
        except WaitTimeout as timeout:
            if self._experiment.app is None and not scene.given_up():
                raise
            self._say(f"  {timeout}")
            self._manifest["phases"][-1]["missed"] = str(timeout)

    def _recover(self, scene: Scene) -> None:
        _reach(scene, "steady state after the faults", scene.well, joining.recover_s(scene))
        before = scene.fleet.processed()
        _reach(scene, "records from every partition", lambda: scene.consuming(before), 30)
        what = f"{AFTER_S:g} s of steady state"
        _reach(scene, what, lambda: scene.well(AFTER_S), joining.recover_s(scene))

    def _drain(self, scene: Scene) -> None:
        if stuck := scene.fleet.stop_producer():
            raise VoidRun(f"the producer did not stop in order ({stuck}): see logs/, and run again")
        beside.tell(scene.observer, "drain")
        partitions = scene.partitions

        def at_the_end() -> bool:
            processed = scene.fleet.processed()
            ends = scene.view.end_offsets.items()
            return all(processed.get(number, 0) >= end for number, end in ends)

        # They belong on record even where no member is left to read so far.
        scene.wait(
            "end offset of every partition", lambda: len(scene.view.end_offsets) == partitions, 60
        )
        _reach(scene, "members at the end offsets", at_the_end, drains_within_s(self._experiment))

    @property
    def _logs(self) -> Path:
        return self.run_dir / "logs"

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._say(name)
        self._on_phase(name)
        phase = {"name": name, "from": manifest.now(), "to": ""}
        self._manifest["phases"].append(phase)
        self._write_manifest()
        try:
            yield
        finally:
            phase["to"] = manifest.now()

    @contextmanager
    def _watchdog(self) -> Iterator[None]:
        backend = self._experiment.cluster.backend
        watchdog = beside.start_watchdog(self.run_dir, backend, images=self._images)
        self._keep = frozenset({watchdog.pid})
        try:
            yield
        finally:
            beside.let_go(watchdog, ended=not self._left)

    def _collect(self, fleet: Fleet) -> None:
        killed = {
            member.name for member in fleet.members.values() if member.exit_code == -signal.SIGKILL
        }
        self._say("collect")
        self._on_phase("collect")
        effective = collect(self.run_dir, killed=killed)
        if self._experiment.app is not None:
            had = self._manifest["effective"].get("broker_defaults", {})
            settings = {**had, **self._experiment.cluster.settings}
            self._manifest["observed"] = observed(self.run_dir, settings)
        clients, releases = manifest.as_json(effective), releases_in(self._logs)
        self._manifest["effective"] |= {"clients": clients, "releases": releases}
        self._manifest["killed"] = sorted(killed)
        self._manifest[seals.FIELD] = seals.made(self.run_dir)

    def _end(self, status: str, reason: str) -> None:
        with uninterrupted(self._say):
            shutil.rmtree(self.run_dir / SCRATCH, ignore_errors=True)
            ended = {"status": status, "status_reason": reason, "ended_at": manifest.now()}
            self._manifest |= ended
            self._write_manifest()

    def _write_manifest(self) -> None:
        manifest.write(self.run_dir, self._manifest)


def _reach(scene: Scene, what: str, condition: Callable[[], bool], timeout_s: Patience) -> None:
    """Wait for what members have to do. Raises WaitTimeout, at once where no member is left."""
    scene.wait(what, lambda: condition() or scene.deserted, timeout_s)
    if not condition():
        raise WaitTimeout(f"no {what}: the client of every member has given up")
