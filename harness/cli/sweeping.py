"""The command `sweep`: experiments over a grid of settings. `compare-protocols` names the sweep."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from harness.base.errors import BadInput, Exit
from harness.base.paths import COMMAND, here
from harness.cli.options import add_jobs_option, add_run_options, limits_of, listed, settings_of
from harness.cli.playing import play_suite
from harness.cli.showing import described
from harness.run.screen import Screen

if TYPE_CHECKING:
    from harness.catalogue.cover import Candidate
    from harness.catalogue.grid import Grid, Point

MOST_H: Final = 12.0  # what a sweep may take by its estimate
_OF_RUNS: Final = (
    *("client", "client_version", "protocol", "backend", "kafka", "security"),
    *("repeat", "seed"),
)


def add_sweep_options(one: argparse.ArgumentParser) -> None:
    """The options of `sweep`."""
    one.add_argument(
        "name",
        metavar="NAME,NAME",
        nargs="?",
        default="",
        help="one or more experiments; `list` has them",
    )
    one.add_argument(
        "--over", action="append", default=[], metavar="NAME=VALUE,VALUE",
        help="a knob (see `describe`), or a broker's setting by Kafka's name, and its values; "
        "several make a grid",
    )  # fmt: skip
    one.add_argument("--repeat", type=int, default=3, help="runs of each (default: 3)")
    one.add_argument("--list", action="store_true", help="print the runs, and play nothing")
    add_jobs_option(one)
    add_run_options(one)


def sweep_command(arguments: argparse.Namespace) -> int:
    """Play experiments over a grid of settings: what each setting buys, and what it costs."""
    from harness.base.words import plural
    from harness.catalogue.cover import Candidate
    from harness.catalogue.grid import grid_of
    from harness.report.many import sweep_text
    from harness.suite import play

    if arguments.repeat < 1:
        raise BadInput(f"--repeat {arguments.repeat} runs nothing: use 1 or more")
    settings = settings_of(arguments)
    if settings.get("cluster.backend") == "compose":
        raise BadInput(
            "a sweep needs clusters of its own, and BACKEND=compose has one: use BACKEND=docker"
        )
    names = listed(arguments.name)
    limits, of_project = limits_of(arguments), arguments.project.limits
    grid = grid_of(names, arguments.over, settings, limits, of_project)
    candidates = [(each, Candidate.of(each.name, each.experiment)) for each in grid.points]
    once_s = sum(candidate.estimate_s for _, candidate in candidates)
    many = plural(len(candidates) * arguments.repeat, "run")
    _refuse_long(many, once_s * arguments.repeat)
    if arguments.list:
        print(_listing(candidates, grid, arguments.repeat))
        return Exit.AS_EXPECTED
    # Round after round, so that one that is interrupted has something of each.
    runs = [
        (point.settings, number, candidate)
        for number in range(1, arguments.repeat + 1)
        for point, candidate in candidates
    ]
    results = arguments.results.resolve()
    asked = {
        "repeat": arguments.repeat,
        "faults": {each.name: list(map(described, each.experiment.faults)) for each in grid.points},
        "over": {axis.name: list(axis.values) for axis in grid.axes},
        "set": settings,
        "command": _typed(arguments, names),
    }
    suite = play.new_sweep(results, runs, asked, grid.left_out)
    screen = Screen()
    for sentence in suite.notes:
        screen.say(sentence)
    minutes = once_s * arguments.repeat / 60
    screen.say(f"{many}, about {minutes:.0f} min, into {here(suite.path)}")
    return play_suite(
        suite,
        [candidate for _, _, candidate in runs],
        arguments,
        screen=screen,
        publish=sweep_text.write,
        show=sweep_text.print_sweep,
        jobs=arguments.jobs,
    )


def _refuse_long(many: str, estimate_s: float) -> None:
    hours = estimate_s / 3_600
    if hours > MOST_H:
        raise BadInput(
            f"{many} would take about {hours:.1f} h, and a sweep takes {MOST_H:.0f} h at most: "
            "name fewer values, or lower --repeat"
        )


def _listing(candidates: Sequence[tuple[Point, Candidate]], grid: Grid, repeat: int) -> str:
    """Each point with its estimate, those that are left out, and how long all takes."""
    from harness.base.words import plural
    from harness.catalogue.grid import told

    lines = [
        f"{each.estimate_s:4.0f} s  {point.name}, {told(point.settings)}"
        for point, each in candidates
    ]
    lines += [f"left out: {sentence}" for sentence in grid.left_out]
    minutes = sum(each.estimate_s for _, each in candidates) * repeat / 60
    times = plural(repeat, "run")
    return "\n".join([*lines, "", f"{times} of each, about {minutes:.0f} min"])


def _typed(arguments: argparse.Namespace, names: Sequence[str]) -> str:
    """The command that gives the same sweep anywhere, with no path of this machine."""
    words = [*COMMAND.split(), "sweep", ",".join(names)]
    return shlex.join([*words, *_options(arguments, "over", "set", "limit", *_OF_RUNS)])


def _options(arguments: argparse.Namespace, *names: str) -> list[str]:
    """These options as they were typed, without those that were not."""
    words = []
    for name in names:
        given = getattr(arguments, name)
        for value in given if isinstance(given, list) else [] if given is None else [given]:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def add_former_options(one: argparse.ArgumentParser) -> None:
    """The options that `compare-protocols` had."""
    one.add_argument("name", metavar="NAME", nargs="?", default="consumer-crash")
    one.add_argument("--protocol", default="eager,cooperative,consumer")
    one.add_argument("--set", action="append", default=[])
    for option in ("client", "client-version", "members", "backend", "kafka", "security", "seed"):
        one.add_argument(f"--{option}")


def compare_protocols_command(arguments: argparse.Namespace) -> int:
    """Say which `sweep` plays what this command played. Raises BadInput in any case."""
    arguments.over, arguments.repeat = [], 1
    for name in ("client", "protocol", "members"):
        several = listed(getattr(arguments, name) or "")
        if len(several) > 1:
            arguments.over.append(f"{name}={','.join(several)}")
            setattr(arguments, name, None)
    if arguments.members:
        arguments.set.append(f"members={arguments.members}")
    words = [*COMMAND.split(), "sweep" if arguments.over else "experiment", arguments.name]
    words += _options(arguments, "over", "set", *_OF_RUNS)
    raise BadInput(f"compare-protocols is a sweep now: type `{shlex.join(words)}`")
