"""The command `sweep`: experiments over a grid of settings. `compare-protocols` names the sweep."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from harness.base.errors import BadInput, Exit
from harness.base.paths import COMMAND, here
from harness.cli.plays import check_repeat, play_suite, refuse_compose
from harness.cli.showing import described
from harness.experiment import protocol_said

if TYPE_CHECKING:
    from harness.catalogue.cover import Candidate
    from harness.catalogue.grid import Grid, Point

MOST_H: Final = 12.0  # what a sweep may take by its estimate
_OF_RUNS: Final = (
    *("client", "client_version", "protocol", "backend", "kafka", "security"),
    *("repeat", "seed"),
)


def sweep_command(arguments: argparse.Namespace) -> int:
    """Play experiments over a grid of settings: what each setting buys, and what it costs."""
    from harness.base.words import plural
    from harness.catalogue.choice import Choice
    from harness.catalogue.cover import Candidate
    from harness.catalogue.grid import grid_of, in_words
    from harness.cli.asked import limits_of, listed, settings_of
    from harness.suite import director

    check_repeat(arguments.repeat)
    choice = Choice(settings_of(arguments), limits_of(arguments), arguments.project.limits)
    refuse_compose(choice.settings, "a sweep")
    names = listed(arguments.name)
    grid = grid_of(names, arguments.over, choice)
    candidates = [(each, Candidate.of(each.name, each.experiment)) for each in grid.points]
    once_s = sum(candidate.estimate_s for _, candidate in candidates)
    many = plural(len(candidates) * arguments.repeat, "run")
    hours = once_s * arguments.repeat / 3_600
    if hours > MOST_H:
        raise BadInput(
            f"{many} would take about {hours:.1f} h, and a sweep takes {MOST_H:.0f} h at most: "
            "name fewer values, or lower --repeat"
        )
    if arguments.list:
        print(_listing(candidates, grid, arguments.repeat))
        return Exit.AS_EXPECTED
    asked = {
        "repeat": arguments.repeat,
        "faults": {each.name: list(map(described, each.experiment.faults)) for each in grid.points},
        "over": {axis.name: list(axis.values) for axis in grid.axes},
        "set": choice.settings,
        "command": _typed(arguments, names),
    }
    parts = [
        (candidate, f"{point.name}, {in_words(point.settings)}", {"settings": dict(point.settings)})
        for point, candidate in candidates
    ]
    suite = director.new_rounds("sweep", arguments.results.resolve(), parts, asked, grid.left_out)
    said = [*suite.notes, f"{many}, about {hours * 60:.0f} min, into {here(suite.path)}"]
    runs = [candidate for candidate, _, _ in parts] * arguments.repeat
    return play_suite(suite, runs, said, arguments.seed, jobs=arguments.jobs)


def _listing(candidates: Sequence[tuple[Point, Candidate]], grid: Grid, repeat: int) -> str:
    """Each point with its estimate, those that are left out, and how long all takes."""
    from harness.base.words import plural
    from harness.catalogue.grid import in_words

    lines = [
        f"{each.estimate_s:4.0f} s  {point.name}, {protocol_said(in_words(point.settings))}"
        for point, each in candidates
    ]
    lines += [f"left out: {sentence}" for sentence in grid.left_out]
    minutes = sum(each.estimate_s for _, each in candidates) * repeat / 60
    times = plural(repeat, "run")
    return "\n".join([*lines, "", f"{times} of each, about {minutes:.0f} min"])


def _typed(arguments: argparse.Namespace, names: Sequence[str]) -> str:
    """The command that gives the same sweep anywhere, with no path of this machine."""
    from harness.cli.asked import typed

    words = [*COMMAND.split(), "sweep", ",".join(names)]
    return shlex.join([*words, *typed(arguments, "over", "set", "limit", *_OF_RUNS)])


def compare_protocols_command(arguments: argparse.Namespace) -> int:
    """Say which `sweep` plays what this command played. Raises BadInput in any case."""
    from harness.cli.asked import listed, typed

    arguments.over, arguments.repeat = [], 1
    for name in ("client", "protocol", "members"):
        several = listed(getattr(arguments, name) or "")
        if len(several) > 1:
            arguments.over.append(f"{name}={','.join(several)}")
            setattr(arguments, name, None)
    if arguments.members:
        arguments.set.append(f"members={arguments.members}")
    words = [*COMMAND.split(), "sweep" if arguments.over else "experiment", arguments.name]
    words += typed(arguments, "over", "set", *_OF_RUNS)
    raise BadInput(f"compare-protocols is a sweep now: type `{shlex.join(words)}`")
