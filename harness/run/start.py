"""The one way to start a run."""

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from harness.base import processes
from harness.base.errors import BadInput
from harness.base.paths import here
from harness.cluster.backends import check_engines
from harness.cluster.dependency_proxies import check_reachable
from harness.experiment import Experiment
from harness.provision import kafka, setup_steps, wheels
from harness.provision.tools import resolve_tools
from harness.run.estimate import growth_bytes
from harness.run.faults import KINDS
from harness.run.folder import reserve, sweep, sweep_results
from harness.run.interrupts import Progress
from harness.run.run import ExperimentRun, Order
from harness.run.screen import Screen

__all__ = ["Order", "bring_versions", "default_seed", "play_run"]


def default_seed(name: str) -> int:
    """A seed for a run that names none: different each time, and written to the manifest."""
    return int.from_bytes(hashlib.sha256(f"{name}{time.time_ns()}".encode()).digest()[:4], "big")


def bring_versions(experiments: Iterable[Experiment]) -> None:
    """Set up versions of Kafka and clients that never were, and what an earlier run left.

    Raises BadInput, SetupError.
    """
    setup_steps.do_the_rest()
    every = list(experiments)
    for version in sorted({version for each in every for version in each.cluster.releases}):
        if not kafka.is_set_up(version):
            setup_steps.ensure(version, late=False)
    for client, version in sorted({each for one in every for each in _clients(one)}):
        if client == "java" and not kafka.has_jars(version):
            setup_steps.ensure_client(version)
        if client == "librdkafka" and not wheels.is_set_up(version):
            setup_steps.ensure_wheel(version)


def _plays_embedded(experiment: Experiment) -> bool:
    if "embedded" not in experiment.backends:
        return False
    other = replace(experiment, cluster=replace(experiment.cluster, backend="embedded"))
    try:
        for fault in other.faults:
            KINDS[fault.kind].check(fault, other)
    except BadInput:
        return False
    return True


def _clients(experiment: Experiment) -> set[tuple[str, str]]:
    """The clients and versions that members have, but for the usual ones."""
    group = experiment.group
    members = [group, *map(group.of_member, group.differing)]
    return {(member.client, member.client_version) for member in members if member.client_version}


def play_run(
    order: Order,
    screen: Screen,
    *,
    reserved: Callable[[Path], None] = lambda _run_dir: None,
    on_phase: Progress = lambda _name: None,
    alone: bool = False,
) -> Path:
    """Play a run, and show it as it goes on; its folder.

    `reserved` is called with the folder before anything is in it, `on_phase` as a phase begins.
    A run that is `alone`, and of no suite, completes what killed runs left in the results, says
    what it plays, and takes the first Ctrl-C for an end of the faults that it draws.
    Raises what `ExperimentRun.play` and `reserve` do, SetupError where a version or an image
    cannot be had, and BadInput where nothing listens that the program uses.
    """
    experiment = order.experiment
    check_reachable([experiment])
    bring_versions([experiment])
    for client, version in sorted(_clients(experiment)):  # as they were fetched
        (kafka.check_jars if client == "java" else wheels.installed)(version)
    cluster = experiment.cluster
    tools = resolve_tools(cluster.kafka_version, cluster.upgraded_from)
    check_engines([experiment], _plays_embedded)
    sweep(screen.say)
    if alone:
        sweep_results(order.results)
    run_dir = reserve(order.results, order.name, growth_bytes=growth_bytes(experiment))
    reserved(run_dir)
    if alone:
        screen.say(f"{order.name}: {experiment.claim}")
        screen.say(f"seed {order.seed}, into {here(run_dir)}")
    shown = screen.watch(order.label or order.name, experiment)
    with processes.holding(run_dir), shown as watch:

        def begun(phase: str) -> None:
            watch.phase(phase)
            on_phase(phase)

        ours = order, tools, run_dir, screen.say, begun, watch.look
        ExperimentRun(*ours, to_be_left=alone).play()
    return run_dir
