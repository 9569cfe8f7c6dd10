"""Brings a cluster up to play with by hand, and keeps it up until it is ended; which ones are up.

Nothing of it is timed or judged. It lives as long as its `up`: Ctrl-C, SIGTERM and the command
`down` end it in order, and the watchdog ends it where `up` itself is killed. One is up while its
watchdog runs and its `up` lives.
"""

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psutil

from consumers.journal import Journal
from harness.base import processes
from harness.base.errors import BadInput, HarnessError, NoData, SetupError, VoidRun
from harness.base.paths import COMMAND, here
from harness.base.ports import Ports
from harness.cluster import links
from harness.cluster.admin import create_topics, create_users
from harness.cluster.backend import RunningCluster
from harness.cluster.backends import backend_of
from harness.cluster.plan import (
    PROTOCOLS,
    TOPIC,
    Plan,
    draw_plan,
    protocols_of,
    share_replicas,
    with_secrets,
    within_limits,
)
from harness.experiment import Cluster, Experiment
from harness.history import manifest
from harness.provision.tools import Tools, resolve_tools
from harness.run import beside
from harness.run.by_hand.breakable import experiment_of
from harness.run.by_hand.cluster_watch import Rebalances, Seen, Watch
from harness.run.by_hand.control_socket import Request, listening
from harness.run.by_hand.fault_runner import FaultRunner
from harness.run.by_hand.live_view import changes, drawn, named, names_in
from harness.run.fleet import Fleet
from harness.run.folder import SCRATCH, reserve, sweep
from harness.run.interrupts import Interrupted, heard, interruptible, uninterrupted
from harness.run.nemesis import Nemesis
from harness.run.record import first_record
from harness.run.scene import ClusterView, Scene
from harness.run.screen import Screen

LOG: Final = "up.log"  # in its folder, every line that it said
STATUS: Final = "by hand"  # of one that ended in order: there is nothing to judge
_LOOK_S: Final = 0.2
_BACKEND: Final = "embedded"
NAME: Final = "by-hand"  # of the folder in which each of them has one
LANES: Final = ("members", "producers")
PORT_BASE: Final = 29_091  # as docker-compose.yml has it for members

_WATCHDOG: Final = "harness.run.watchdog"  # its arguments begin with the folder of its run
_OLD: Final = "3."  # its coordinator serves classic groups alone, as experiments have it
# What experiments turn off, since a topic that appears by itself would spoil them.
_EASY: Final = {"auto.create.topics.enable": "true", "num.partitions": "6"}
# As in docker-compose.yml: a group whose timers the brokers have notices a dead member as soon as a
# run's does. A broker that has no groups of some type knows nothing of their settings.
_TIMERS: Final = {
    f"group.{kind}.{which}{timer}.ms": value
    for kind in ("consumer", "share", "streams")
    for which in ("min.", "")
    for timer, value in (("session.timeout", "6000"), ("heartbeat.interval", "2000"))
}

# Is called with its folder, the bootstrap addresses of each lane and past all proxies, and of a
# secured cluster the files with the settings of clients.
Ready = Callable[[Path, str, str, str, Path | None], None]


def bring_up(
    cluster: Cluster,
    topics: dict[str, int],
    results: Path,
    screen: Screen,
    ready: Ready,
    port_base: int = PORT_BASE,
) -> Path:
    """Bring a cluster up, call `ready` once it is, and serve it until it is ended.

    Topics have their numbers of partitions. Returns its folder. Raises SetupError where one is up
    already, ClusterError where a port is taken or the cluster does not start, Interrupted if it is
    ended before it is up, VoidRun if its Toxiproxy dies.
    """
    refuse_a_second(results, port_base)
    tools = resolve_tools(cluster.kafka_version)
    sweep(screen.say)
    cluster = fitted(cluster)
    used = f"choose others by --port-base, as in --port-base {port_base + 1_000}"
    with interruptible(), Ports(port_base, used) as ports:
        plan = draw_plan(cluster, LANES, "", ports)
        folder = reserve(results, NAME, ("journals", "logs", SCRATCH))
        with processes.holding(folder):
            plan = with_secrets(replace(plan, run=folder.name), cluster.security, folder / SCRATCH)
            proven = None if plan.secured is None else plan.secured.of_harness()
            with links.secured(proven):
                _ByHand(plan, cluster, tools, folder, screen).play(topics, ready)
    return folder


class _ByHand:
    def __init__(
        self, plan: Plan, cluster: Cluster, tools: Tools, folder: Path, screen: Screen
    ) -> None:
        self._plan = plan
        self._experiment: Experiment = experiment_of(cluster)
        self._tools = tools
        self._folder = folder
        self._screen = screen
        self._record = first_record(NAME, self._experiment, tools, folder.name, seed=0)
        self._record |= {"group": None, "topic": None, "seed": None}
        set_to = {node.name: plan.properties(node, Path(node.name)) for node in plan.nodes}
        self._record["effective"] = {"brokers": set_to}
        logs = [folder / "logs" / f"{node.name}.server.log" for node in plan.brokers]
        self._rebalances = Rebalances(logs)
        self._seen = Seen()  # of which the changes have been printed
        self._names: dict[str, str] = {}  # of members, by their ids
        self._ended: set[str] = set()  # processes whose unplanned end has been printed
        self._was_up = self._stopped = False

    def say(self, text: str) -> None:
        self._screen.say(text)
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        # On a full disk it is healed and ended all the same.
        with suppress(OSError), (self._folder / LOG).open("a", encoding="utf-8") as log:
            log.write(f"{stamp}  {text}\n")

    def play(self, topics: dict[str, int], ready: Ready) -> None:
        manifest.write(self._folder, self._record)
        # One that was up has been played, however often it was interrupted on its way down.
        became = ("interrupted", "it was ended before it was up")
        try:
            self._live(topics, ready)
        except Exception as error:
            wrong = str(error)
            if not isinstance(error, HarnessError):
                wrong = f"{type(error).__name__}: {error}"
            became = ("void", wrong)
            raise
        finally:
            if self._was_up and became[0] != "void":
                became = (STATUS, "it was played by hand, and nothing of it is judged")
            with uninterrupted(self.say):
                shutil.rmtree(self._folder / SCRATCH, ignore_errors=True)
                self._record |= {"status": became[0], "status_reason": became[1]}
                ended = {"ended_at": manifest.now(), "groups": sorted(self._rebalances.last)}
                manifest.write(self._folder, self._record | ended)

    def _live(self, topics: dict[str, int], ready: Ready) -> None:
        """Bring it up and serve it; at last everything is ended, whatever comes between."""
        folder, plan = self._folder, self._plan
        cluster = backend_of(_BACKEND).make(plan, self._tools, folder / SCRATCH, folder / "logs")
        watch = Watch(plan)
        watchdog = beside.start_watchdog(folder)
        last_first = ExitStack()
        last_first.callback(self._end_processes, watchdog)
        last_first.callback(self._stop, cluster)
        last_first.callback(watch.stop)
        try:
            self.say("start cluster")
            with self._screen.counting("start cluster"):
                cluster.start()
                create_users(plan)
                create_topics(plan, topics)
            next_request = last_first.enter_context(listening(folder))
            journal = Journal(folder / "journals" / "faults.journal", member="nemesis")
            last_first.callback(journal.end)
            # There is no observer: the watch of this process fills the view, and what waits in the
            # scene makes sure of the watchdog instead.
            view = ClusterView(folder / "journals" / "observer.journal")
            fleet = Fleet(self._experiment, plan, self._tools, folder)
            ours = self._experiment, cluster, fleet, view, watchdog, TOPIC, random.Random()
            runner = FaultRunner(Scene(*ours), Nemesis(journal, []), watch, self.say)
            self._seen = watch.look()
            watch.start()
            secured = None if plan.secured is None else plan.secured.tell_clients()
            members, producers = map(plan.bootstrap, LANES)
            ready(folder, members, producers, plan.direct(), secured)
            self._was_up = True
            last_first.callback(runner.end)
            try:
                self._serve(next_request, runner, watch, cluster)
            except Interrupted:
                heard()
                self.say("ending")
        finally:
            with uninterrupted(self.say):
                last_first.close()

    def _stop(self, cluster: RunningCluster) -> None:
        cluster.stop()
        self._stopped = True

    def _end_processes(self, watchdog: subprocess.Popen[bytes]) -> None:
        processes.end_run(self._plan.run, keep=frozenset({watchdog.pid}))
        beside.let_go(watchdog, ended=self._stopped)

    def _serve(
        self,
        next_request: Callable[[float], Request | None],
        runner: FaultRunner,
        watch: Watch,
        cluster: RunningCluster,
    ) -> None:
        began = time.monotonic()

        def view() -> Any:
            bootstrap = self._plan.bootstrap("members")
            head = f"up {time.monotonic() - began:.0f} s   bootstrap {bootstrap}"
            last, active = dict(self._rebalances.last), list(runner.active)
            return drawn(head, watch.seen, last, active, dict(self._names))

        with self._screen.showing(view):
            while True:
                request = next_request(_LOOK_S)
                if request is not None and request.body.get("do") == "down":
                    self.say("ending, as `down` asks")
                    request.end()
                    return
                if request is not None:
                    runner.inject(request)
                runner.heal_due()
                self._print_changes(watch, cluster)

    def _print_changes(self, watch: Watch, cluster: RunningCluster) -> None:
        """A line for whatever has changed. Raises VoidRun if Toxiproxy has ended."""
        watch.check()
        seen = watch.seen
        self._names |= names_in(seen)  # of those too that have just gone
        for rebalance in self._rebalances.follow():
            self.say(named(str(rebalance), self._names))
        for change in changes(self._seen, seen):
            self.say(change)
        self._seen = seen
        for ended in cluster.unplanned_ends():
            name = ended.partition(" ")[0]
            if name == "Toxiproxy":
                raise VoidRun(f"{ended} ended, so no client reaches a broker any more: start anew")
            if name not in self._ended:
                self._ended.add(name)
                self.say(f"{ended} ended, and no fault did that: it stays down")


def fitted(cluster: Cluster) -> Cluster:
    """The cluster with what brokers are set to here, unless its owner says otherwise."""
    version = cluster.kafka_version
    offered = {PROTOCOLS: protocols_of(version)}
    if not version.startswith(_OLD):
        offered |= _TIMERS | share_replicas(cluster)
    return replace(cluster, settings={**_EASY, **offered, **within_limits(cluster.settings)})


def standing() -> list[Path]:
    """The folders of all clusters by hand of this user that are up, or just starting or ending."""
    found = set()
    for process, _, _ in processes.marked():
        with suppress(psutil.Error, ValueError, IndexError):  # gone, or no watchdog
            arguments = process.cmdline()
            folder = Path(arguments[arguments.index(_WATCHDOG) + 1])
            if folder.parent.name == NAME and processes.held(folder):
                found.add(folder)
    return sorted(found)


def refuse_a_second(results: Path, port_base: int) -> None:
    """Raise SetupError for a second one in the same results, or with the same ports."""
    for folder in standing():
        if folder.parent.parent == results or port_base == PORT_BASE:
            raise SetupError(
                f"a cluster is up already, in {here(folder)}: use that one, end it by "
                f"`{COMMAND} down`, or give this one a --port-base and a --results of its own"
            )


def the_one(results: Path) -> Path:
    """The folder of the cluster below these results, or the only one. Raises NoData, BadInput."""
    found = standing()
    near = [folder for folder in found if folder.parent.parent == results]
    if near or len(found) == 1:
        return (near or found)[0]
    if not found:
        raise NoData(f"no cluster is up: `{COMMAND} up` brings one up")
    raise BadInput(
        f"{len(found)} clusters are up, and none of them below {here(results)}: name one by "
        f"--results {' or '.join(here(folder.parent.parent) for folder in found)}"
    )
