"""One run of an experiment, from an empty folder to a whole history. No judging happens here."""

import hashlib
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Final

from confluent_kafka import KafkaException, libversion
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from consumers.journal import Journal
from harness import __version__
from harness.base import processes
from harness.base.errors import ClusterError, HarnessError, SetupError, VoidRun
from harness.base.paths import check_for_kafka
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.admin import admin_of, defaults
from harness.cluster.backend import RunningCluster
from harness.cluster.backends import backend_of, sweep_backends
from harness.cluster.plan import GROUP, OUTPUT, TOPIC, Plan, group_settings
from harness.experiment import Experiment, Group, Probe
from harness.history import manifest
from harness.history.collect import collect
from harness.provision.tools import Tools
from harness.run.faults.targets import lanes
from harness.run.fleet import Fleet
from harness.run.nemesis import Nemesis, plan_faults
from harness.run.output import read_output
from harness.run.scene import Scene, View

NEEDED_BYTES: Final = 1_000_000_000  # four JVMs' data, logs and the history of a long run
PROBE_S: Final = 180.0  # no script waits for more than a few session timeouts
_SCRATCH: Final = "scratch"  # in a run's folder, what is thrown away at its end
_ASK_AGAIN_S: Final = 0.01  # by then the finalizer that ignored an interruption is over
AFTER_S: Final = 1.0  # kept running when all is well: whoever is about to drop out would have

Progress = Callable[[str], None]


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: heal, clean, and end with exit code 2.

    As KeyboardInterrupt it is no Exception, so that nothing that goes on after any failure goes on
    after this.
    """


def reserve(
    results: Path,
    name: str,
    parts: tuple[str, ...] = ("history", "journals", "logs", _SCRATCH),
) -> Path:
    """A new folder for a run, sortable by time, and `latest` pointing at it.

    Raises SetupError where the disk has no room or cannot be written, BadInput for a name that
    Kafka would take apart.
    """
    parent = results / name
    check_for_kafka(parent)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(parent).free
        if free < NEEDED_BYTES:
            raise SetupError(
                f"only {free // 2**20} MB are free below {parent} and a run may need "
                f"{NEEDED_BYTES // 2**20}: make room, or choose another --results"
            )
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        run_dir = parent / f"{stamp}-{os.urandom(2).hex()}"
        run_dir.mkdir()
        for part in parts:
            (run_dir / part).mkdir()
        if _SCRATCH in parts:
            processes.hold(run_dir / _SCRATCH)  # no process has the run's mark yet
        link = parent / f".latest-{run_dir.name}"
        link.symlink_to(run_dir.name)
        link.replace(parent / "latest")
    except OSError as error:
        raise SetupError(
            f"{parent} cannot be written ({error.strerror}): choose another --results"
        ) from error
    return run_dir


class Run:
    """One run.

    1. reserve the folder, write the manifest, start the watchdog and the observer
    2. start the proxies and the cluster, create the topic
    3. start the producer and the fleet; wait for steady state
    4. play the faults: intent on disk, inject, prove it bit, heal
    5. wait until the group is steady and the cluster whole again
    6. stop the producer, let the members read to the end offsets
    7. close the members in order, stop everything
    8. collect journals and broker logs into the history; complete the manifest
    """

    def __init__(
        self,
        name: str,
        experiment: Experiment,
        tools: Tools,
        run_dir: Path,
        *,
        seed: int,
        port_base: int | None = None,
        progress: Progress = lambda _text: None,
        on_phase: Progress = lambda _name: None,
        look: Callable[[Scene], None] = lambda _scene: None,
    ) -> None:
        self._experiment = experiment
        self._tools = tools
        self.run_dir = run_dir
        self._run = run_dir.name
        self._backend = backend_of(experiment.cluster.backend)
        self._say = progress
        self._on_phase = on_phase
        self._look = look
        self._ports = Ports(port_base)
        self._phases: list[dict[str, str]] = []
        self._random = random.Random(seed)
        self._keep: frozenset[int] = frozenset()  # what must outlive the run's other processes
        self._stopped = self._ended = True  # its cluster; and nothing of it is left to be ended
        self._manifest: dict[str, Any] = {
            "schema_version": manifest.SCHEMA_VERSION,
            "run": self._run,
            "experiment": name,
            "claim": experiment.claim,
            "status": "running",
            "status_reason": "",
            "seed": seed,
            "started_at": manifest.now(),
            "ended_at": None,
            "group": GROUP,
            "topic": TOPIC,
            "versions": _versions(tools, experiment.group),
            "host": manifest.host_facts(),
            "declared": asdict(experiment),
            "phases": self._phases,
            "effective": {},
        }

    def play(self) -> None:
        """Run it to the end.

        Raises Interrupted (after healing), VoidRun, WaitTimeout, ClusterError; in every case the
        manifest says how it ended and nothing is left running.
        """
        self._write_manifest()
        with interruptible(), self._ports, self._watchdog():
            try:
                self._play_phases()
            except Interrupted:
                self._end("interrupted", "it was interrupted before it was complete")
                raise
            except HarnessError as error:
                self._end("void", str(error))
                raise
            except OSError as error:
                self._end("void", f"the machine refused: {error}")
                raise VoidRun(
                    f"the machine refused ({error}), so the run is void: make room or lift the "
                    "limit, and run again"
                ) from error
            except Exception as error:
                self._end("void", f"the harness failed: {type(error).__name__}: {error}")
                raise
            else:
                self._end("complete", "")

    def _play_phases(self) -> None:
        cluster = self._experiment.cluster
        settings = {
            **group_settings(self._experiment.group, cluster.kafka_version),
            **cluster.settings,
        }
        plan = self._backend.plan(
            replace(cluster, settings=settings), lanes(self._experiment), self._run, self._ports
        )
        self._manifest["effective"] = {
            "brokers": {
                node.name: plan.properties(node, Path("data") / node.name) for node in plan.nodes
            },
        }
        started = self._backend.make(plan, self._tools, self.run_dir / _SCRATCH, self._logs)
        fleet = Fleet(self._experiment, plan, self._tools, self.run_dir, GROUP, TOPIC)
        observer: subprocess.Popen[bytes] | None = None
        self._stopped = self._ended = False
        try:
            with self._phase("start cluster"):
                observer = self._start_observer(plan)
                started.start()
                create_topic(plan, self._experiment)
                _tell(observer, "look")
                # While it looks for the coordinator, the brokers make the topic of the positions.
                self._manifest["versions"] |= started.versions()
                self._manifest["effective"]["broker_defaults"] = defaults(plan)
            view = View(self.run_dir / "journals" / "observer.journal")
            scene = Scene(
                self._experiment,
                started,
                fleet,
                view,
                observer,
                TOPIC,
                self._random,
                look=self._look,
                say=self._say,
            )
            self._play_scene(scene)
        finally:
            # Each of these whatever becomes of the others; the last error is the run's.
            with uninterrupted(self._say), ExitStack() as last_first:
                last_first.callback(self._collect, fleet)
                last_first.callback(self._end_processes)
                if observer is not None:
                    last_first.callback(observer.wait, timeout=10)
                    last_first.callback(observer.kill)
                last_first.callback(self._stop, started)
                last_first.callback(fleet.kill_all)

    def _stop(self, cluster: RunningCluster) -> None:
        cluster.stop()
        self._stopped = True

    def _end_processes(self) -> None:
        """End what is left of the run; what cannot be ended here is left to the watchdog."""
        processes.end_run(self._run, keep=self._keep)
        self._ended = self._stopped

    def _play_scene(self, scene: Scene) -> None:
        experiment = self._experiment
        with self._phase("start fleet"):
            scene.wait(
                "coordinator of the group",
                lambda: scene.view.group.get("coordinator") is not None,
                60,
            )
            scene.fleet.start_producer()
            self._start_members(scene)
            scene.wait("steady state", lambda: scene.well_since is not None, 90)
            before = scene.fleet.processed()
            scene.wait("records from every partition", lambda: scene.consuming(before), 30)
        with self._phase("steady"):
            scene.steady_at = time.monotonic()
            journal = Journal(self.run_dir / "journals" / "faults.journal", member="nemesis")
            nemesis = Nemesis(journal, plan_faults(experiment, self._random))
            if not experiment.faults and not experiment.probes:
                scene.pass_time(scene.steady_at + experiment.duration_s)
        for probe in experiment.probes:
            self._probe(scene, probe)
        if experiment.faults:
            self._break(scene, nemesis)
        with self._phase("drain"):
            self._drain(scene)
        with self._phase("stop"):
            if stuck := scene.fleet.close_members():
                raise VoidRun(f"when they were closed, {'; '.join(stuck)}: see logs/")
        if experiment.group.commit == "transaction":
            with self._phase("read output"):
                journal = Journal(self.run_dir / "journals" / "output.journal", member="harness")
                read_output(scene.cluster.plan, OUTPUT, experiment.load.partitions, journal)

    def _start_members(self, scene: Scene) -> None:
        """Start the group's first members, to join one after the other or all at once."""
        group = self._experiment.group
        apart_s = group.arrive_every_ms / 1_000
        for number in range(1, group.members + 1):
            if apart_s and number > 1:
                scene.pass_time(time.monotonic() + apart_s)
            scene.fleet.start_member(f"member-{number}", joins_when_told=not apart_s)
        if not apart_s:
            # A Java Virtual Machine takes seconds to start, and not all of them as many. Whoever
            # came after the first rebalance would be let in at its members' next heartbeats.
            members = scene.fleet.members.values()
            scene.wait("start of the members", lambda: all(m.started for m in members), 90)
            for member in members:
                _tell(member.process, "join")

    def _probe(self, scene: Scene, probe: Probe) -> None:
        """Play a probe's script to its end."""
        with self._phase(f"probe {probe.name}"):
            scene.pass_time(scene.steady_at + probe.at_s)
            process = scene.fleet.start_probe(probe.name)
            scene.wait(
                f"end of the probe {probe.name}", lambda: process.poll() is not None, PROBE_S
            )
            if process.returncode != 0:
                raise VoidRun(
                    f"the probe {probe.name} ended with exit code {process.returncode}: "
                    f"{scene.fleet.probe_tail(probe.name)}"
                )

    def _break(self, scene: Scene, nemesis: Nemesis) -> None:
        """Play the faults, heal whatever happens, and wait until all is well again."""
        with self._phase("faults"):
            try:
                nemesis.play(scene)
            finally:
                with uninterrupted(self._say):
                    problems = nemesis.heal_all(scene)
            if problems:
                raise VoidRun(f"not everything could be healed: {'; '.join(problems)}")
            scene.well_since = None  # while a fault is active nothing is well, whatever it seems
            scene.pass_time(scene.steady_at + self._experiment.duration_s)
        with self._phase("recover"):
            self._recover(scene)

    def _recover(self, scene: Scene) -> None:
        patience_s = 60 + self._experiment.group.max_poll_interval_ms / 1_000
        scene.wait(
            "steady state after the faults", lambda: scene.well_since is not None, patience_s
        )
        before = scene.fleet.processed()
        scene.wait("records from every partition", lambda: scene.consuming(before), 30)
        scene.wait(f"{AFTER_S:g} s of steady state", lambda: scene.well_for(AFTER_S), patience_s)

    def _drain(self, scene: Scene) -> None:
        if stuck := scene.fleet.stop_producer():
            raise VoidRun(f"when it was to get its last answers, {stuck}: see logs/")
        _tell(scene.observer, "drain")
        partitions = scene.partitions

        def at_the_end() -> bool:
            ends, processed = scene.view.end_offsets, scene.fleet.processed()
            return len(ends) == partitions and all(
                processed.get(number, 0) >= end for number, end in ends.items()
            )

        scene.wait("members at the end offsets", at_the_end, 60)

    @property
    def _logs(self) -> Path:
        return self.run_dir / "logs"

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._say(name)
        self._on_phase(name)
        phase = {"name": name, "from": manifest.now(), "to": ""}
        self._phases.append(phase)
        self._write_manifest()
        try:
            yield
        finally:
            phase["to"] = manifest.now()

    @contextmanager
    def _watchdog(self) -> Iterator[None]:
        watchdog = processes.spawn(
            processes.python_module(
                "harness.run.watchdog",
                str(self.run_dir),
                self._run,
                self._experiment.cluster.backend,
            ),
            run=self._run,
            log=self._logs / "watchdog.log",
            stdin=subprocess.PIPE,
        )
        self._keep = frozenset({watchdog.pid})
        try:
            yield
        finally:
            processes.tell_last(watchdog, "done" if self._ended else "end")
            processes.wait_exit(watchdog, 10)

    def _start_observer(self, plan: Plan) -> subprocess.Popen[bytes]:
        config = {
            "journal": str(self.run_dir / "journals" / "observer.journal"),
            "group": GROUP,
            "topic": TOPIC,
            "broker_ports": {str(node.id): node.port for node in plan.brokers},
        }
        path = self.run_dir / "journals" / "observer.json"
        path.write_text(json.dumps(config))
        return processes.spawn(
            processes.python_module("harness.run.observer", str(path)),
            run=self._run,
            log=self._logs / "observer.log",
            stdin=subprocess.PIPE,
        )

    def _collect(self, fleet: Fleet) -> None:
        killed = {
            member.name
            for member in fleet.members.values()
            if member.process.returncode == -signal.SIGKILL
        }
        self._say("collect")
        effective = collect(self.run_dir, killed=killed)
        self._manifest["effective"] |= {"clients": effective}
        self._manifest["killed"] = sorted(killed)

    def _end(self, status: str, reason: str) -> None:
        with uninterrupted(self._say):
            shutil.rmtree(self.run_dir / _SCRATCH, ignore_errors=True)
            ended = {"status": status, "status_reason": reason, "ended_at": manifest.now()}
            self._manifest |= ended
            self._write_manifest()

    def _write_manifest(self) -> None:
        manifest.write(self.run_dir, self._manifest)


def create_topic(plan: Plan, experiment: Experiment) -> None:
    """Create the topic over the direct listeners, once enough brokers are registered.

    Raises WaitTimeout or ClusterError.
    """
    load = experiment.load
    wait_until(
        f"{len(plan.brokers)} registered brokers",
        lambda: all(
            len(wire.metadata(node.port, [], 5).brokers) == len(plan.brokers)
            for node in plan.brokers
        ),
        timeout_s=60,
    )
    admin = admin_of(plan)
    names = [TOPIC] + ([OUTPUT] if experiment.group.commit == "transaction" else [])
    topics = [
        NewTopic(
            name,
            num_partitions=load.partitions,
            replication_factor=min(load.replication, len(plan.brokers)),
            config={"min.insync.replicas": str(load.min_insync_replicas)},
        )
        for name in names
    ]
    try:
        for made in admin.create_topics(topics, operation_timeout=30).values():
            made.result(timeout=40)
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"the topic could not be created: {error}") from error


def _tell(process: subprocess.Popen[bytes], order: str) -> None:
    """Give a process an order. That it is no more, whoever follows the scene tells."""
    with suppress(BrokenPipeError):
        processes.tell(process, order)


def default_seed(name: str) -> int:
    """A seed for a run that names none: different each time, and written to the manifest."""
    return int.from_bytes(hashlib.sha256(f"{name}{time.time_ns()}".encode()).digest()[:4], "big")


def _versions(tools: Tools, group: Group) -> dict[str, str]:
    java_client = {"kafka-clients": group.client_version or tools.kafka_version}
    return {
        **(java_client if group.client == "java" else {}),
        "harness": __version__,
        "kafka": tools.kafka_version,
        "librdkafka": str(libversion()[0]),
        "confluent-kafka": version("confluent-kafka"),
        "toxiproxy": tools.toxiproxy_version,
        "java": tools.java_version,
        "spark": version("pyspark"),
        "python": platform.python_version(),
    }


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into Interrupted while a run goes on.

    One that comes while Python finalizes an object would be lost, for what is raised there is
    ignored: it is sent again until it has been heard.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted

    def ask_again() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    def hear(ignored: "sys.UnraisableHookArgs") -> None:
        if ignored.exc_type is Interrupted:
            threading.Timer(_ASK_AGAIN_S, ask_again).start()
        else:
            hook(ignored)

    hook, sys.unraisablehook = sys.unraisablehook, hear
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted(say: Progress) -> Iterator[None]:
    """Healing and cleaning run to their end: a Ctrl-C meanwhile says so, and comes after them.

    Raises Interrupted then.
    """
    asked = False

    def wait(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        say("healing and cleaning up, a moment please")

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            raise Interrupted


def sweep(say: Progress = lambda _text: None) -> int:
    """End what runs of dead harnesses left; at every start, and by `clean`. Returns how many."""
    count = 0
    processes.await_watchdogs()  # they know more than this does: open faults, and the manifest
    for run, left in processes.orphans().items():
        say(f"ending {len(left)} processes that run {run} left behind")
        count += processes.end(left)
    try:
        for run, removed in sweep_backends().items():
            say(f"removed or healed {removed} containers that run {run} left behind")
            count += removed
    except (HarnessError, OSError) as error:  # what another run left is in nobody's way here
        say(f"something of an earlier run is left: {error}")
    processes.sweep_scratch()
    return count
