"""The command line. Standard output is the result, standard error the progress."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NoReturn

from harness.base import processes
from harness.base.errors import BadInput, Exit, HarnessError, NoData, refused
from harness.base.paths import ROOT, here
from harness.base.ports import LAST_PORT
from harness.experiment import CLIENTS, PROTOCOLS, Experiment, one_of
from harness.history import manifest
from harness.run.screen import Screen


class _Parser(argparse.ArgumentParser):
    """Says one sentence, and ends with the contracted exit code."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{self.prog}: {message}; see --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (README, *Exit codes*)."""
    from harness.run.interrupts import Interrupted

    try:
        arguments = _parser().parse_args(argv)
        return int(arguments.command(arguments))
    except (Interrupted, KeyboardInterrupt):
        _complain("interrupted; everything that was started has been healed and ended")
        return Exit.INTERRUPTED
    except HarnessError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except OSError as error:
        _complain(refused(error))
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 (Python's own exit code would say that a verdict differs)
        traceback.print_exc()
        _complain(f"the harness itself failed ({type(error).__name__}), as told above: report it")
        return Exit.FAILED


def _complain(sentence: str) -> None:
    sys.stderr.write(f"kafka-chaos: {sentence}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m harness", description="Chaos testing of Kafka consumer groups."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, function: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        summary = (function.__doc__ or "").splitlines()[0]
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(command=function)
        added.add_argument(
            "--results", type=Path, default=ROOT / "results", help="folder of all runs"
        )
        return added

    for name, function in (("experiment", experiment_command), ("run", run_command)):
        one = command(name, function)
        one.add_argument("name", metavar="NAME", nargs="?", help="see `list`")
        one.add_argument(
            "--port-base", type=_port, help="use the ports from here on (default: free)"
        )
        _run_options(one)
        if name == "experiment":
            one.add_argument("--repeat", type=int, default=1, help="runs, each with its own seed")
    _nightly_options(command("nightly", nightly_command))
    for name, function in (("check", check_command), ("report", report_command)):
        command(name, function).add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    comparing = command("compare", compare_command)
    for side in ("a", "b"):
        comparing.add_argument(
            side, type=Path, metavar=side.upper(), help="folder of a run, of repeats or of a night"
        )
    comparing.add_argument("--json", action="store_true")
    command("trend", trend_command).add_argument(
        "--spark", metavar="URL", help="spark://HOST:PORT or sc://HOST:PORT (default: here)"
    )
    command("collect", collect_command).add_argument("run", type=Path, metavar="RUN")
    listing = command("list", list_command)
    listing.add_argument("--rules", action="store_true", help="every rule, and what judges it")
    listing.add_argument("--json", action="store_true", help="both, for programs")
    command("describe", describe_command).add_argument("name", metavar="NAME")
    cleaning = command("clean", clean_command)
    cleaning.add_argument(
        "--all",
        action="store_true",
        help="remove all runs, repeats, nights, comparisons, trends, benchmarks and mutation tests "
        "as well; the dataset, which has the verdicts of all runs, stays",
    )
    cleaning.add_argument(
        "--cache",
        action="store_true",
        help="offer environments, jars and AOT caches that nothing uses any more for removal",
    )
    cleaning.add_argument("--yes", action="store_true", help="with --cache: remove without asking")
    command("doctor", doctor_command)
    _comparison_options(command("compare-protocols", compare_protocols_command))
    return parser


def _port(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port: choose one from 1 to {LAST_PORT}, with free ports after it"
        )
    return number


def _run_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--seed", type=int, help="draws the phases of faults (default: random)")
    one.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="see `describe`"
    )
    one.add_argument("--client", help="client library of the members: librdkafka or java")
    one.add_argument(
        "--client-version", help="version of Kafka whose Java client is used (default: --kafka)"
    )
    one.add_argument(
        "--protocol", help="rebalance protocol: eager, cooperative or consumer (KIP-848)"
    )
    one.add_argument("--backend", help="embedded (processes), docker or compose")
    one.add_argument("--kafka", help="version of Kafka")


def _nightly_options(nightly: argparse.ArgumentParser) -> None:
    nightly.add_argument("--list", action="store_true", help="print the set, and play nothing")
    nightly.add_argument("--long", action="store_true", help="the experiments that take minutes")
    nightly.add_argument(
        "--only",
        metavar="NAME,NAME:CLIENT/PROTOCOL",
        help="these runs instead of the whole set",
    )
    nightly.add_argument(
        "--share", default="1/1", metavar="K/N", help="one of N parts that are the set together"
    )
    _run_options(nightly)


def experiment_command(arguments: argparse.Namespace) -> int:
    """Run an experiment, check it, and report: all in one go."""
    from harness.suite.judging import Judge, show
    from harness.trend import dataset

    if arguments.repeat < 1:
        raise BadInput(f"--repeat {arguments.repeat} runs nothing: use 1 or more")
    if arguments.repeat > 1:
        return _repeat(arguments)
    with ExitStack() as held:
        with closing(Judge()) as judge:
            run_dir = _run(arguments, arguments.seed, held, on_phase=judge.on_phase)
            judge.judge(run_dir)
        code = show(run_dir)
        dataset.accumulate(arguments.results.resolve())
    return code


def _repeat(arguments: argparse.Namespace) -> int:
    from harness.catalogue import cover
    from harness.report.many import repeat
    from harness.suite import play
    from harness.trend import dataset

    candidate = cover.Candidate.of(arguments.name, _experiment(arguments))
    results = arguments.results.resolve()
    repeated = play.new_repeat(results, candidate, arguments.repeat)
    screen = Screen()
    screen.say(f"{arguments.name}: {candidate.experiment.claim}")
    screen.say(f"{arguments.repeat} runs, into {here(repeated.path)}")
    code = play.play(
        repeated,
        [candidate] * arguments.repeat,
        results,
        seed=arguments.seed,
        screen=screen,
        publish=repeat.write,
        port_base=arguments.port_base,
    )
    repeat.print_repeat(repeated)
    dataset.accumulate(results)
    return code


def run_command(arguments: argparse.Namespace) -> int:
    """Run an experiment and keep its history; judge it later with `check`."""
    with ExitStack() as held:
        print(_run(arguments, arguments.seed, held))
    return Exit.AS_EXPECTED


def _run(
    arguments: argparse.Namespace,
    seed: int | None,
    held: ExitStack,
    on_phase: Callable[[str], None] = lambda _name: None,
) -> Path:
    """Play a run; its folder, which is this process's until `held` is closed."""
    from harness.run.leftovers import sweep, sweep_results
    from harness.run.start import default_seed, play_run

    experiment = _experiment(arguments)
    screen = Screen()
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
    )


def _experiment(arguments: argparse.Namespace) -> Experiment:
    """The experiment that the arguments ask for, checked, its knobs turned."""
    from harness.catalogue import registry

    if not arguments.name:
        raise BadInput(f"which experiment? NAME is one of {', '.join(registry.names())}")
    experiment = registry.with_knobs(registry.load(arguments.name), _settings(arguments))
    return registry.resolved(registry.checked(experiment))


def nightly_command(arguments: argparse.Namespace) -> int:
    """Play the whole set one after the other, judge it, and write one index of all."""
    from harness.catalogue import cover, registry
    from harness.report.many import index

    for option, allowed in (("client", CLIENTS), ("protocol", PROTOCOLS)):
        if getattr(arguments, option) is not None:
            one_of(option, getattr(arguments, option), allowed)
    _refuse_to_set(arguments, "client", "protocol", "backend")
    settings = {
        knob: value
        for knob, value in _settings(arguments).items()
        if knob not in ("group.client", "group.protocol")
    }
    if settings.get("cluster.backend") == "compose":
        raise BadInput(
            "a night needs clusters of its own, and BACKEND=compose has one: use BACKEND=docker"
        )
    plan = cover.plan(
        long=arguments.long,
        only=_names(arguments.only),
        client=arguments.client,
        protocol=arguments.protocol,
        backend=settings.get("cluster.backend", "embedded"),
        turn=partial(registry.variant, settings=settings),
        share=_share(arguments.share),
    )
    if arguments.list:
        print(cover.told(plan))
        return Exit.AS_EXPECTED
    if not plan.runs:
        raise NoData("no experiment fits: see `python -m harness nightly --list`")
    from harness.suite import play
    from harness.trend import dataset

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
        },
    )
    screen = Screen()
    screen.say(
        f"{len(plan.runs)} runs, about {plan.estimate_s / 60:.0f} min, into {here(night.path)}"
    )
    code = play.play(
        night,
        [planned.candidate for planned in plan.runs],
        results,
        seed=arguments.seed,
        screen=screen,
        publish=index.write,
    )
    index.print_suite(night)
    dataset.accumulate(results)
    return code


def _share(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise BadInput(f"--share {text!r} is not of the form K/N, such as 1/2")
    return int(number), int(of)


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    names = text.replace(",", " ").split()
    if not names:
        raise BadInput("--only names no run: see `python -m harness nightly --list`")
    return list(dict.fromkeys(names))


def _refuse_to_set(arguments: argparse.Namespace, *options: str) -> None:
    """Refuse a knob that the command turns itself, run by run."""
    for item in arguments.set:
        name = item.partition("=")[0].rpartition(".")[2]
        if name in options:
            raise BadInput(f"--set {item} would be turned again for every run: say --{name}")


def _settings(arguments: argparse.Namespace) -> dict[str, str]:
    from harness.provision.kafka import kafka_versions

    settings = {}
    for item in arguments.set:
        name, found, value = item.partition("=")
        if not found:
            raise BadInput(f"--set {item!r} is not of the form KNOB=VALUE")
        settings[name] = value
    if arguments.kafka is not None and arguments.kafka not in kafka_versions():
        raise BadInput(
            f"Kafka {arguments.kafka} is not offered: choose {' or '.join(kafka_versions())}"
        )
    for option, knob in (
        ("client", "group.client"),
        ("client_version", "group.client_version"),
        ("protocol", "group.protocol"),
        ("backend", "cluster.backend"),
        ("kafka", "cluster.kafka_version"),
    ):
        if getattr(arguments, option) is not None:
            settings[knob] = getattr(arguments, option)
    return settings


def _comparison_options(several: argparse.ArgumentParser) -> None:
    several.add_argument("name", metavar="NAME", nargs="?", default="consumer-crash")
    several.add_argument("--seed", type=int, help="the same for every run (default: random)")
    several.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="see `describe`"
    )
    several.add_argument(
        "--client", default="librdkafka", help="librdkafka, java, or both with a comma between"
    )
    several.add_argument(
        "--client-version", help="version of Kafka whose Java client is used (default: --kafka)"
    )
    several.add_argument(
        "--protocol", default="eager,cooperative,consumer", help="one or several (default: all)"
    )
    several.add_argument("--members", default="", help="sizes of the group, such as 1,10,30")
    several.add_argument("--backend", help="embedded (processes), docker or compose")
    several.add_argument("--kafka", help="version of Kafka")


def compare_protocols_command(arguments: argparse.Namespace) -> int:
    """Run an experiment under each protocol, and print what it cost side by side."""
    from harness.report.many.comparison import lines, read_comparison
    from harness.run.start import default_seed
    from harness.suite.compare_protocols import combinations, compare

    try:
        members = [int(text) for text in _listed(arguments.members)]
    except ValueError:
        raise BadInput(
            f"--members {arguments.members!r} is no list of sizes: write 1,10,30"
        ) from None
    _refuse_to_set(arguments, "client", "protocol", "members")
    wanted = combinations(_listed(arguments.client), _listed(arguments.protocol), members)
    arguments.client = arguments.protocol = None  # each run has its own
    settings = _settings(arguments)
    seed = default_seed(arguments.name) if arguments.seed is None else arguments.seed
    folder, code = compare(
        arguments.name,
        wanted,
        settings,
        arguments.results.resolve(),
        seed=seed,
        screen=Screen(),
    )
    told = lines(read_comparison(folder), arguments.results)
    for line in ("", *told, "", f"comparison  {here(folder / 'comparison.html')}"):
        print(line)
    return code


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def check_command(arguments: argparse.Namespace) -> int:
    """Judge a stored run again, without a cluster."""
    from harness.suite.judging import Judge, show

    manifest.read(arguments.run)
    with closing(Judge()) as judge:
        judge.judge(arguments.run)
    return show(arguments.run)


def report_command(arguments: argparse.Namespace) -> int:
    """Write report.html, summary.md and junit.xml of a checked run again."""
    from harness.report import report
    from harness.report.many import index, repeat
    from harness.report.many.suites import is_suite, load_suite, take_up
    from harness.suite.judging import show

    if is_suite(arguments.run):
        suite = load_suite(arguments.run)
        take_up(suite)
        suite.save()
        if suite.kind == "repeat":
            repeat.write(suite)
            repeat.print_repeat(suite)
        else:
            index.write(suite)
            index.print_suite(suite)
        return suite.exit_code
    report(arguments.run)
    return show(arguments.run)


def compare_command(arguments: argparse.Namespace) -> int:
    """Put two runs, two sets of repeats or two nights side by side."""
    from harness.report.many.compare import as_json, compare, print_compared

    compared = compare(arguments.a, arguments.b)
    if arguments.json:
        print(json.dumps(as_json(compared), indent=2))
    else:
        print_compared(compared)
    return Exit.DIFFERS if compared.worse else Exit.AS_EXPECTED


def trend_command(arguments: argparse.Namespace) -> int:
    """Show how each measured number moved over all runs, and which moved beyond chance."""
    from harness.history import store
    from harness.report.many import trend as told
    from harness.trend import dataset, job
    from harness.trend.session import spark_at

    results = arguments.results.resolve()
    dataset.accumulate(results)
    if not any((results / dataset.FOLDER).glob("*/*/*/*.parquet")):
        raise NoData(f"{here(results)} has no judged run: play some first")
    with spark_at(arguments.spark) as spark:
        found = job.trends(spark, job.read(spark, str(results / dataset.FOLDER))).toArrow()
    folder = results / "trend"
    store.write(folder / "trend.parquet", [found], found.schema)
    rows = found.to_pylist()
    page = told.write(folder, rows)
    told.print_trends(rows)
    print(f"page  {here(page)}")
    worse = any(row["trend"] == "worse" for row in rows)
    return Exit.DIFFERS if worse else Exit.AS_EXPECTED


def collect_command(arguments: argparse.Namespace) -> int:
    """Derive a run's history again from its journals and logs."""
    from harness.history.collect import collect

    facts = manifest.read(arguments.run)
    killed = facts.get("killed", [])
    collect(arguments.run, killed=killed)
    return Exit.AS_EXPECTED


def list_command(arguments: argparse.Namespace) -> int:
    """Print the experiments, or the rules, and what is expected of whom."""
    from harness.catalogue import listing

    if arguments.json:
        both = {"experiments": listing.experiments(), "rules": listing.rules()}
        print(json.dumps(both, indent=2))
    else:
        print(listing.rules_told() if arguments.rules else listing.experiments_told())
    return Exit.AS_EXPECTED


def describe_command(arguments: argparse.Namespace) -> int:
    """Print what an experiment is about, and its knobs."""
    from harness.catalogue import registry

    experiment = registry.load(arguments.name)
    print(f"{arguments.name}: {experiment.claim}\n\n{registry.describe(arguments.name)}\n")
    for fault in experiment.faults:
        print(f"fault  {fault.kind} of {fault.target}, {fault.at_s:g} s after steady state")
    print("\nknobs (--set KNOB=VALUE)")
    for name, value in registry.knobs(experiment).items():
        print(f"  {name} = {value}")
    return Exit.AS_EXPECTED


def clean_command(arguments: argparse.Namespace) -> int:
    """End what killed runs left, and remove their half-made files."""
    from harness.cli.cleaning import clean_all, clean_cache
    from harness.run.leftovers import sweep, sweep_results

    if arguments.yes and not arguments.cache:
        raise BadInput("--yes is the answer for --cache: name both")
    screen = Screen()
    ended = sweep(screen.say)
    removed = len(sweep_results(arguments.results))
    if arguments.all:
        cleaned = clean_all(arguments.results)
        removed += len(cleaned.removed)
        for folder in cleaned.kept:
            screen.say(f"{here(folder)} began meanwhile, so it stays")
    print(f"{ended} processes and containers ended, {removed} folders and files removed")
    if arguments.cache:
        clean_cache(yes=arguments.yes)
    return Exit.AS_EXPECTED


def doctor_command(_arguments: argparse.Namespace) -> int:
    """Say what is there, what is missing, and what to do."""
    from harness.provision import doctor

    return doctor.show(doctor.diagnose())
