"""The commands that play runs: `experiment`, `run`, `matrix` and `nightly`."""

import argparse
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.base import processes
from harness.base.errors import BadInput, Exit, NoData
from harness.base.paths import COMMAND, ROOT, here
from harness.cli.options import (
    experiment_of,
    limits_of,
    names_of,
    own_apps,
    refuse_to_set,
    settings_of,
    share_of,
)
from harness.cli.showing import say_what_is_left_out
from harness.experiment import CLIENTS, PROTOCOLS, one_of
from harness.experiment.app import App
from harness.run.screen import Screen

if TYPE_CHECKING:  # they take long to import
    from harness.catalogue.cover import Candidate
    from harness.history.suites import Suite
    from harness.suite.play import Publish

SOAK: Final = "soak"  # the experiment that goes on
EVERYDAY: Final = "everyday"  # the experiment that a program is tried with
_IN_A_MATRIX: Final = (EVERYDAY, "rough-day", "rolling-deploy")


def experiment_command(arguments: argparse.Namespace) -> int:
    """Run an experiment, judge it and write its report."""
    from harness.provision import steps
    from harness.suite.judging import Judge, show
    from harness.trend import dataset

    if arguments.repeat < 1:
        raise BadInput(f"--repeat {arguments.repeat} runs nothing: use 1 or more")
    if arguments.repeat > 1:
        if arguments.json:
            raise BadInput("--json is the result of one run: leave out --repeat")
        return _repeat(arguments)
    screen = Screen()
    with ExitStack() as held:
        with closing(Judge()) as judge:
            run_dir = _run(arguments, arguments.seed, held, screen, on_phase=judge.on_phase)
            judge.judge(run_dir, first=screen.say)
        code = show(run_dir, as_json=arguments.json)
        dataset.accumulate(arguments.results.resolve())
    with suppress(KeyboardInterrupt):  # the verdict is there, and decides the exit code
        steps.finish()
    return code


def try_command(arguments: argparse.Namespace) -> int:
    """Play the usual faults on your own program, and show what they cost it."""
    if arguments.app is None and not arguments.program and arguments.image is None:
        raise BadInput(
            "which program? write its command after --, as in `try -- ./consumer --config x`, or "
            "name its --app or its --image"
        )
    return experiment_command(arguments)


def soak_command(arguments: argparse.Namespace) -> int:
    """Break one thing after the other, drawn by the seed, for a given time or until Ctrl-C."""
    arguments.set.append(f"duration_s={arguments.for_s:g}")
    return experiment_command(arguments)


def _repeat(arguments: argparse.Namespace) -> int:
    from harness.catalogue import cover
    from harness.report.many import repeat
    from harness.suite import play

    candidate = cover.Candidate.of(arguments.name, experiment_of(arguments))
    results = arguments.results.resolve()
    repeated = play.new_repeat(results, candidate, arguments.repeat)
    screen = Screen()
    screen.say(f"{arguments.name}: {candidate.experiment.claim}")
    screen.say(f"{arguments.repeat} runs, into {here(repeated.path)}")
    return play_suite(
        repeated,
        [candidate] * arguments.repeat,
        arguments,
        screen=screen,
        publish=repeat.write,
        show=repeat.print_repeat,
        port_base=arguments.port_base,
        jobs=1,
    )


def play_suite(
    suite: "Suite",
    runs: "Sequence[Candidate]",
    arguments: argparse.Namespace,
    *,
    screen: Screen,
    publish: "Publish",
    show: "Publish",
    jobs: int | None,
    port_base: int | None = None,
) -> Exit:
    """Play a suite, show what came of it, and add its verdicts to the dataset; its exit code.

    `jobs` and `port_base` are those of `suite.play.play`.
    """
    from harness.suite import play
    from harness.trend import dataset

    results = arguments.results.resolve()
    code = play.play(
        suite,
        runs,
        results,
        seed=arguments.seed,
        screen=screen,
        publish=publish,
        port_base=port_base,
        jobs=jobs,
    )
    show(suite)
    dataset.accumulate(results)
    return code


def matrix_command(arguments: argparse.Namespace) -> int:
    """Play the same experiments for several programs, and compare what they cost."""
    from harness.base.words import plural
    from harness.catalogue import apps, cover, registry
    from harness.catalogue.limits import with_limits
    from harness.report.many import matrix_text
    from harness.suite import play

    if arguments.repeat < 1:
        raise BadInput(f"--repeat {arguments.repeat} runs nothing: use 1 or more")
    own = own_apps(arguments)
    every = [str(folder) for folder in own or apps.examples()]
    programs = [apps.named(each, own) for each in arguments.app or every]
    for name, times in Counter(program.name for program in programs).items():
        if times > 1:
            raise BadInput(f"{times} apps are called {name}: give each a name of its own")
    names = list(dict.fromkeys(arguments.experiment)) or _IN_A_MATRIX
    settings = settings_of(arguments)
    declared = {name: registry.with_knobs(registry.load(name), settings) for name in names}
    limits, promised = limits_of(arguments), arguments.project.limits
    played = [
        (program, name, with_limits(apps.with_app(experiment, program), limits, promised))
        for program in programs
        for name, experiment in declared.items()
    ]
    candidates = [
        (program, cover.Candidate.of(name, registry.resolved(registry.checked(experiment))))
        for program, name, experiment in played
    ]
    for program in programs:
        apps.refuse_what_cannot_run(program)
    # Round after round, so that one that is interrupted has something of each.
    runs = [
        (program, number, candidate)
        for number in range(1, arguments.repeat + 1)
        for program, candidate in candidates
    ]
    results = arguments.results.resolve()
    suite = play.new_matrix(
        results,
        runs,
        {
            "repeat": arguments.repeat,
            "examples": all(Path(each.folder).parent == apps.EXAMPLES for each in programs),
            "command": _matrix_typed(arguments, programs, names),
        },
    )
    screen = Screen()
    # How long they take depends on session timeouts that nobody knows before.
    screen.say(f"{plural(len(runs), 'run')}, into {here(suite.path)}")
    return play_suite(
        suite,
        [candidate for _, _, candidate in runs],
        arguments,
        screen=screen,
        publish=matrix_text.write,
        show=matrix_text.print_matrix,
        jobs=arguments.jobs,
    )


def _matrix_typed(
    arguments: argparse.Namespace, programs: Sequence[App], names: Sequence[str]
) -> str:
    """The command that gives the same matrix anywhere, with no path of this machine."""
    from harness.catalogue.apps import FILE

    words = [*COMMAND.split(), "matrix"]
    for typed, program in zip(arguments.app, programs, strict=False):
        folder = Path(program.folder)
        below = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else Path(folder.name)
        other = Path(typed).name if Path(typed).is_file() else FILE  # of several in a folder
        words += ["--app", str(below if other == FILE else below / other)]
    for name in names if arguments.experiment else ():
        words += ["--experiment", name]
    words += ["--repeat", str(arguments.repeat)]
    for option in ("seed", "backend", "kafka", "security"):
        if getattr(arguments, option) is not None:
            words += [f"--{option}", str(getattr(arguments, option))]
    for limit in arguments.limit:
        words += ["--limit", limit]
    return shlex.join(words)


def run_command(arguments: argparse.Namespace) -> int:
    """Run an experiment and keep its history; `check` judges it later."""
    with ExitStack() as held:
        print(_run(arguments, arguments.seed, held, Screen()))
    return Exit.AS_EXPECTED


def _run(
    arguments: argparse.Namespace,
    seed: int | None,
    held: ExitStack,
    screen: Screen,
    on_phase: Callable[[str], None] = lambda _name: None,
) -> Path:
    """Play a run; its folder, which is this process's until `held` is closed."""
    from harness.run.leftovers import sweep, sweep_results
    from harness.run.start import default_seed, play_run

    experiment = experiment_of(arguments)
    seed = default_seed(arguments.name) if seed is None else seed
    sweep(screen.say)
    sweep_results(arguments.results)

    def reserved(run_dir: Path) -> None:
        held.enter_context(processes.holding(run_dir))
        screen.say(f"{arguments.name}: {experiment.claim}")
        screen.say(f"seed {seed}, into {here(run_dir)}")

    return play_run(
        arguments.name,
        experiment,
        arguments.results.resolve(),
        seed=seed,
        screen=screen,
        port_base=arguments.port_base,
        reserved=reserved,
        on_phase=on_phase,
        to_be_left=True,
    )


def nightly_command(arguments: argparse.Namespace) -> int:
    """Play the whole set of experiments, judge the runs, and write one index of them."""
    from harness.catalogue import cover, registry
    from harness.catalogue.limits import with_limits
    from harness.catalogue.refusals import check_client_version
    from harness.report.many import index

    for option, allowed in (("client", CLIENTS), ("protocol", PROTOCOLS)):
        if getattr(arguments, option) is not None:
            one_of(option, getattr(arguments, option), allowed)
    refuse_to_set(arguments, "client", "protocol", "backend")
    settings = {
        knob: value
        for knob, value in settings_of(arguments).items()
        if knob not in ("group.client", "group.protocol")
    }
    if arguments.client_version is not None:
        check_client_version(arguments.client or "java", arguments.client_version)
    if settings.get("cluster.backend") == "compose":
        raise BadInput(
            "a night needs clusters of its own, and BACKEND=compose has one: use BACKEND=docker"
        )
    say_what_is_left_out()
    limits = limits_of(arguments)
    plan = cover.plan(
        long=arguments.long,
        only=names_of(arguments.only),
        client=arguments.client,
        protocol=arguments.protocol,
        backend=settings.get("cluster.backend", "embedded"),
        turn=lambda experiment, client, protocol: with_limits(
            registry.variant(experiment, client, protocol, settings, arguments.client or "java"),
            limits,
        ),
        share=share_of(arguments.share),
    )
    if arguments.list:
        print(cover.render(plan))
        return Exit.AS_EXPECTED
    if not plan.runs:
        raise NoData(f"no experiment fits: see `{COMMAND} nightly --list`")
    from harness.base.words import plural
    from harness.suite import play

    results = arguments.results.resolve()
    night = play.new_nightly(
        results,
        plan,
        {
            "long": arguments.long,
            "only": arguments.only,
            "share": arguments.share,
            "client": arguments.client,
            "protocol": arguments.protocol,
            "settings": settings,
            **({"limits": limits.promised} if limits.promised else {}),
        },
    )
    screen = Screen()
    many = plural(len(plan.runs), "run")
    screen.say(f"{many}, about {plan.estimate_s / 60:.0f} min, into {here(night.path)}")
    return play_suite(
        night,
        [planned.candidate for planned in plan.runs],
        arguments,
        screen=screen,
        publish=index.write,
        show=index.print_suite,
        jobs=arguments.jobs,
    )
