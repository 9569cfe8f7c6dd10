"""The commands that play runs: `experiment`, `try`, `soak`, `run`, `matrix` and `nightly`."""

import argparse
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.base import processes
from harness.base.errors import BadInput, Exit, NoData
from harness.base.paths import COMMAND, ROOT, here
from harness.base.words import plural
from harness.cli.showing import pages_of, say_what_is_left_out, write_pages
from harness.experiment import CLIENTS, PROTOCOLS, one_of
from harness.experiment.app import App
from harness.run.screen import Screen

if TYPE_CHECKING:  # they take long to import
    from harness.catalogue.cover import Candidate
    from harness.history.suites import Suite
    from harness.run.start import Order

MOST_REPEATS: Final = 10_000
_IN_A_MATRIX: Final = ("everyday", "rough-day", "rolling-deploy")
_CHOOSES_A_NIGHT: Final = ("long", "only", "share", "client", "protocol")


def experiment_command(arguments: argparse.Namespace) -> int:
    """Run an experiment, judge it and write its report."""
    check_repeat(arguments.repeat)
    if arguments.repeat > 1 and arguments.json:
        raise BadInput("--json is the result of one run: leave out --repeat")
    return _play(arguments, arguments.name, times=arguments.repeat)


def try_command(arguments: argparse.Namespace) -> int:
    """Play the usual faults on your own program, and show what they cost it."""
    from harness.cli.asked import names_a_program

    if not names_a_program(arguments):
        raise BadInput(
            "which program? write its command after --, as in `try -- ./consumer --config x`, or "
            "name its --app or its --image"
        )
    return experiment_command(arguments)


def soak_command(arguments: argparse.Namespace) -> int:
    """Break one thing after the other, drawn by the seed, for a given time or until Ctrl-C."""
    return _play(arguments, "soak", duration_s=f"{arguments.for_s:g}")


def run_command(arguments: argparse.Namespace) -> int:
    """Run an experiment and keep its history; `check` judges it later."""
    return _play(arguments, arguments.name, times=0)


def _play(arguments: argparse.Namespace, name: str, times: int = 1, **settings: str) -> int:
    """Play an experiment as the arguments ask for it, judging each run; 0 times is once, unjudged.

    The settings count as typed last. Everything is checked before anything is started.
    """
    from harness.catalogue.choice import Choice
    from harness.cli.asked import app_of, limits_of, settings_of
    from harness.run.start import Order, default_seed, play_run

    choice = Choice(
        settings={**settings_of(arguments), **settings},
        limits=limits_of(arguments),
        of_project=arguments.project.limits,
        name=name,
        app=app_of(arguments),
    )
    order = Order(
        name,
        choice.experiment(),
        results=arguments.results.resolve(),
        seed=default_seed(name) if arguments.seed is None else arguments.seed,
        port_base=arguments.port_base,
    )
    if times == 0:
        print(play_run(order, Screen(), alone=True))
        return Exit.AS_EXPECTED
    return _judged(order, as_json=arguments.json) if times == 1 else _repeat(order, times)


def check_repeat(times: int) -> None:
    """Refuse to play nothing, or more than anyone waits for. Raises BadInput."""
    if times < 1:
        raise BadInput(f"--repeat {times} runs nothing: use 1 or more")
    if times > MOST_REPEATS:
        raise BadInput(f"--repeat {times} would take weeks: use {MOST_REPEATS} or fewer")


def refuse_compose(settings: Mapping[str, str], what: str) -> None:
    """Refuse the one cluster that is up for runs that start their own. Raises BadInput."""
    if settings.get("cluster.backend") == "compose":
        raise BadInput(
            f"{what} needs clusters of its own, and --backend compose has one: use --backend docker"
        )


def _judged(order: "Order", *, as_json: bool) -> int:
    """Play a run, judge it, and add its verdicts to the dataset; the exit code."""
    from harness.provision import setup_steps
    from harness.run.start import play_run
    from harness.suite.judging import Judge, show
    from harness.trend import dataset

    screen = Screen()
    with ExitStack() as held:

        def ours(run_dir: Path) -> None:
            held.enter_context(processes.holding(run_dir))  # until it has been judged

        with closing(Judge()) as judge:
            run_dir = play_run(order, screen, reserved=ours, on_phase=judge.on_phase, alone=True)
            with screen.counting(order.name) as steps:
                judge.judge(run_dir, steps)
        code = show(run_dir, as_json=as_json)
        dataset.accumulate(order.results)
    setup_steps.leave_the_rest()
    return code


def _repeat(order: "Order", times: int) -> int:
    from harness.catalogue.cover import Candidate
    from harness.suite import director

    candidate = Candidate.of(order.name, order.experiment)
    suite = director.new_repeat(order.results, candidate, times)
    said = f"{order.name}: {order.experiment.claim}", f"{times} runs, into {here(suite.path)}"
    runs = [candidate] * times
    return play_suite(suite, runs, said, order.seed, port_base=order.port_base, jobs=1)


def play_suite(
    suite: "Suite",
    runs: "Sequence[Candidate]",
    said: Sequence[str],
    seed: int | None,
    *,
    jobs: int | None,
    port_base: int | None = None,
) -> Exit:
    """Play a suite, show what came of it, and add its verdicts to the dataset; its exit code.

    `said` are lines of its progress before it begins. `seed`, `jobs` and `port_base` are those of
    `suite.director.play`.
    """
    from harness.report.many.blocks import print_shown
    from harness.suite import director
    from harness.trend import dataset

    results, screen = suite.path.parent.parent, Screen()
    for line in said:
        screen.say(line)
    code = director.play(
        suite,
        runs,
        results,
        seed=seed,
        screen=screen,
        publish=write_pages,
        port_base=port_base,
        jobs=jobs,
    )
    print_shown(pages_of(suite, screen))
    dataset.accumulate(results)
    return code


def matrix_command(arguments: argparse.Namespace) -> int:
    """Play the same experiments for several programs, and compare what they cost."""
    from harness.catalogue import apps
    from harness.catalogue.choice import Choice
    from harness.catalogue.cover import Candidate
    from harness.cli.asked import limits_of, settings_of
    from harness.suite import director

    check_repeat(arguments.repeat)
    own = arguments.project.apps
    every = [str(folder) for folder in own or apps.examples()]
    programs = [apps.named(each, own) for each in arguments.app or every]
    for name, times in Counter(program.name for program in programs).items():
        if times > 1:
            raise BadInput(f"{times} apps are called {name}: give each a name of its own")
    names = list(dict.fromkeys(arguments.experiment)) or _IN_A_MATRIX
    choice = Choice(settings_of(arguments), limits_of(arguments), arguments.project.limits)
    parts = [
        (
            Candidate.of(name, replace(choice, name=name, app=program).experiment()),
            f"{program.name}, {name}",
            {"client": program.name},
        )
        for program in programs
        for name in names
    ]
    asked = {
        "repeat": arguments.repeat,
        "examples": all(Path(each.folder).parent == apps.EXAMPLES for each in programs),
        "command": _matrix_typed(arguments, programs),
    }
    suite = director.new_rounds("matrix", arguments.results.resolve(), parts, asked)
    # How long they take depends on session timeouts that are not known before.
    said = f"{plural(len(suite.entries), 'run')}, into {here(suite.path)}"
    runs = [candidate for candidate, _, _ in parts] * arguments.repeat
    return play_suite(suite, runs, [said], arguments.seed, jobs=arguments.jobs)


def _matrix_typed(arguments: argparse.Namespace, programs: Sequence[App]) -> str:
    """The command that gives the same matrix anywhere, with no path of this machine."""
    from harness.catalogue.apps import FILE
    from harness.cli.asked import typed

    words = [*COMMAND.split(), "matrix"]
    for named, program in zip(arguments.app, programs, strict=False):
        folder = Path(program.folder)
        below = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else Path(folder.name)
        other = Path(named).name if Path(named).is_file() else FILE  # of several in a folder
        words += ["--app", str(below if other == FILE else below / other)]
    options = ("experiment", "repeat", "seed", "backend", "kafka", "security", "limit")
    return shlex.join([*words, *typed(arguments, *options)])


def nightly_command(arguments: argparse.Namespace) -> int:
    """Play the whole set of experiments, judge the runs, and write one index of them."""
    from harness.catalogue import cover, registry
    from harness.catalogue.choice import Choice
    from harness.catalogue.refusals import check_client_version
    from harness.cli.asked import limits_of, names_of, refuse_to_set, settings_of, share_of
    from harness.suite import director

    for option, allowed in (("client", CLIENTS), ("protocol", PROTOCOLS)):
        if getattr(arguments, option) is not None:
            one_of(option, getattr(arguments, option), allowed)
    refuse_to_set(arguments.set, "client", "protocol", "backend")
    settings = {
        name: value
        for name, value in settings_of(arguments).items()
        if name not in ("group.client", "group.protocol")
    }
    if arguments.client_version is not None:
        check_client_version(arguments.client or "java", arguments.client_version)
    refuse_compose(settings, "a night")
    say_what_is_left_out()
    choice = Choice(settings, limits_of(arguments))
    plan = cover.plan(
        long=arguments.long,
        only=names_of(arguments.only),
        client=arguments.client,
        protocol=arguments.protocol,
        backend=settings.get("cluster.backend", "embedded"),
        turn=lambda experiment, client, protocol: choice.held(
            registry.variant(experiment, client, protocol, settings, arguments.client or "java")
        ),
        share=share_of(arguments.share),
    )
    if arguments.list:
        print(cover.render(plan))
        return Exit.AS_EXPECTED
    if not plan.runs:
        raise NoData(f"no experiment fits: see `{COMMAND} nightly --list`")
    asked = {name: getattr(arguments, name) for name in _CHOOSES_A_NIGHT} | {"settings": settings}
    if choice.limits.promised:
        asked["limits"] = choice.limits.promised
    night = director.new_nightly(arguments.results.resolve(), plan, asked)
    many = plural(len(plan.runs), "run")
    said = f"{many}, about {plan.estimate_s / 60:.0f} min, into {here(night.path)}"
    return play_suite(night, plan.runs, [said], arguments.seed, jobs=arguments.jobs)
