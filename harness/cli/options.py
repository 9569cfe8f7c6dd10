"""What the commands' options mean, and what of them is refused."""

import argparse
import re
import shlex
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.ports import LAST_PORT
from harness.experiment import Experiment
from harness.experiment.app import App
from harness.experiment.limits import LIMITS, Limits

# Options that say something about a program of somebody else's.
_OF_AN_APP: Final = (
    *("app_name", "entrypoint", "build", "instances", "static", "env", "dependency", "value"),
    *("records", "stdout", "signal", "http", "output_topic", "output_pattern", "verifiable"),
    *("start_s", "steady_s", "grace_s"),
)


MOST_JOBS: Final = 64  # each has three brokers and a group


def port(text: str) -> int:
    """A number of a port; raises argparse's error for another."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: choose one from 1 to {LAST_PORT}, with free ports after it"
        )
    return number


def duration(text: str) -> float:
    """Seconds of a time like 90s, 30m or 1h; raises argparse's error for another."""
    from harness.run.by_hand.breakable import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_jobs_option(suite: argparse.ArgumentParser) -> None:
    """The option of every command that plays many runs: how many at one time."""
    suite.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="how many runs are measured at one time, while the next one starts (default: one for "
        "each 4 cores and 4 GB)",
    )


def _jobs(text: str) -> int:
    """A number of runs at one time; raises argparse's error for another."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text!r} runs cannot be measured at one time: choose from 1 to {MOST_JOBS}"
        )
    return int(text)


def add_run_options(one: argparse.ArgumentParser) -> None:
    """The options of every command that plays runs of one experiment, or of many."""
    one.add_argument("--seed", type=int, help="draws when faults start, and in a soak which")
    one.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="a knob (see `describe`)"
    )
    one.add_argument("--client", help="client library of our own members: librdkafka or java")
    one.add_argument(
        "--client-version",
        help="version of the members' client: of confluent-kafka, or of Kafka's Java client",
    )
    one.add_argument(
        "--protocol",
        help="rebalance protocol of our own members: eager, cooperative or consumer (KIP-848)",
    )
    one.add_argument("--backend", help="embedded (processes), docker, or for a single run compose")
    one.add_argument("--kafka", help="version of Kafka")
    add_security_option(one)
    add_limit_option(one)


def add_security_option(one: argparse.ArgumentParser) -> None:
    """The option that says how clients and brokers speak to each other."""
    one.add_argument("--security", help="plaintext, ssl or sasl_ssl (default: plaintext)")


def add_limit_option(one: argparse.ArgumentParser) -> None:
    """The option by which limits are given to any experiment."""
    one.add_argument(
        "--limit", action="append", default=[], metavar="NAME=VALUE",
        help="a promise: standstill_s=10, repeats=500, lost=0, drained_s=30, out_of_order=0",
    )  # fmt: skip


def limits_of(arguments: argparse.Namespace) -> Limits:
    """The limits that the arguments give, by `--limit` or by the option of a limit's own name.

    Raises BadInput.
    """
    from harness.catalogue import limits

    named = {name: getattr(arguments, name, None) for name in LIMITS}
    texts = [f"{name}={value}" for name, value in named.items() if value is not None]
    return limits.of_texts([*arguments.limit, *texts])


def add_app_options(one: argparse.ArgumentParser) -> None:
    """What a line of app.toml says, on the command line."""
    program = one.add_argument_group("your program")
    program.add_argument(
        "--app", type=Path, metavar="APP.TOML", help="its app.toml, or the folder that has it"
    )
    program.add_argument(
        "--name", dest="app_name", metavar="NAME", help="its name on pages and in results"
    )
    program.add_argument("--image", help="its image: each process is a container of it")
    program.add_argument(
        "--entrypoint", metavar="COMMAND", help="entry point instead of the image's"
    )
    program.add_argument("--build", metavar="COMMAND", help="build step, before anything is timed")
    program.add_argument("--instances", type=int, help="how many processes (default: 3)")
    program.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE",
        help="environment variable; {bootstrap}, {topic}, {group}, {member} are replaced",
    )  # fmt: skip
    program.add_argument(
        "--dependency", action="append", default=[], metavar="NAME=HOST:PORT",
        help="a server that it uses besides Kafka; the variable NAME gets the address of a proxy "
        "in front of it",
    )  # fmt: skip
    program.add_argument(
        "--static", action="store_true", default=None, help="give each process an instance id"
    )
    program.add_argument("--value", metavar="TEMPLATE", help="value of a record; {n} is its number")
    program.add_argument(
        "--records", type=Path, metavar="FILE", help="file with the values, one per line"
    )
    program.add_argument(
        "--stdout",
        metavar="PATTERN",
        help=r"it prints a line for each processed record; PATTERN finds the record's number: "
        r"'done (?P<n>\d+)'",
    )
    program.add_argument(
        "--http", nargs="?", const=True, metavar="PATTERN",
        help="it posts each processed record to {sink}; PATTERN finds the number in the post",
    )  # fmt: skip
    program.add_argument(
        "--output-topic", metavar="TOPIC", help="it writes each processed record to this topic"
    )
    program.add_argument(
        "--output-pattern", metavar="PATTERN", help="finds the number in a record of that topic"
    )
    program.add_argument(
        "--verifiable", action="store_true", default=None,
        help="it prints the lines of Kafka's VerifiableConsumer",
    )  # fmt: skip
    program.add_argument(
        "--start-s", type=float,
        help="seconds that a process may take until it asks to join (default: 90)",
    )  # fmt: skip
    program.add_argument(
        "--steady-s", type=float,
        help="seconds that the group may take until it is steady (default: 90, and longer if its "
        "members announce that they may take longer)",
    )  # fmt: skip
    program.add_argument("--signal", help="signal that ends it (default: SIGTERM)")
    program.add_argument(
        "--grace-s", type=float, help="seconds from that signal until it is killed (default: 30)"
    )
    for name, limit in (
        ("standstill-s", "most seconds that a partition stands still at one time"),
        ("drained-s", "most seconds until everything is committed at the end (default: 60)"),
    ):
        program.add_argument(f"--{name}", type=float, help=f"your promise: {limit}")
    for name, limit in (
        ("repeats", "most records of the run that come again"),
        ("lost", "most lost records of a partition (default: 0)"),
        ("out-of-order", "most records processed after later ones (default: 0)"),
    ):
        program.add_argument(f"--{name}", type=int, help=f"your promise: {limit}")


def own_apps(arguments: argparse.Namespace) -> tuple[Path, ...]:
    """The folders of the programs that the project around has."""
    project = getattr(arguments, "project", None)
    return () if project is None else tuple(project.apps)


def app_of(arguments: argparse.Namespace, command: tuple[str, ...] = ()) -> App | None:
    """The app that the arguments name, with what they say otherwise, or none. Raises BadInput."""
    from harness.catalogue import apps

    if arguments.app is None and not command and arguments.image is None:
        for option in _OF_AN_APP:
            if getattr(arguments, option, None) not in (None, []):
                raise BadInput(
                    f"--{option.removeprefix('app_').replace('_', '-')} is about a program of "
                    "yours, and there is none: name it by --app, or use `try`"
                )
        return None
    if arguments.app is not None and command:
        raise BadInput(f"--app {arguments.app} has a command already: leave out what is after --")
    if arguments.app:
        own = {folder.name: folder for folder in own_apps(arguments)}
        known = None if arguments.app.exists() else own.get(str(arguments.app))
        app = apps.read(known or arguments.app)
    elif arguments.image is not None:
        app = apps.of_image(arguments.image, command, Path.cwd())
    else:
        app = apps.of_command(command, Path.cwd())
    if arguments.value is not None and arguments.records is not None:
        raise BadInput("--value and --records both say what the records are: leave out one")
    return apps.turned(
        app,
        {
            "name": arguments.app_name,
            "image": arguments.image,
            "entrypoint": _words("entrypoint", arguments.entrypoint),
            "build": _words("build", arguments.build),
            "instances": arguments.instances,
            "static": arguments.static,
            "start_s": arguments.start_s,
            "steady_s": arguments.steady_s,
            "dependency": _named("dependency", arguments.dependency, "NAME=HOST:PORT"),
            "env": _named("env", arguments.env, "NAME=VALUE"),
            "records.value": arguments.value,
            "records.samples": apps.samples(arguments.records) if arguments.records else None,
            "effects.stdout": arguments.stdout,
            "effects.http": arguments.http,
            "effects.output_topic": arguments.output_topic,
            "effects.output_pattern": arguments.output_pattern,
            "effects.verifiable": arguments.verifiable,
            "stop.signal": arguments.signal,
            "stop.grace_s": arguments.grace_s,
            "limits.standstill_s": arguments.standstill_s,
            "limits.drained_s": arguments.drained_s,
            "limits.repeats": arguments.repeats,
            "limits.lost": arguments.lost,
            "limits.out_of_order": arguments.out_of_order,
        },
    )


def _named(option: str, items: list[str], form: str) -> dict[str, str]:
    """Names and texts from an option that may be given several times. Raises BadInput."""
    found = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise BadInput(f"--{option} {item!r} is not of the form {form}")
        found[name] = value
    return found


def _words(option: str, command: str | None) -> tuple[str, ...] | None:
    if not command:
        return None
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise BadInput(
            f"--{option} {command!r} is not a command ({error}): correct its quotes"
        ) from None


def add_explain_options(explaining: argparse.ArgumentParser) -> None:
    explaining.add_argument(
        "logs", type=Path, nargs="+", metavar="LOG", help="brokers' log files, or folders of them"
    )
    explaining.add_argument("--group", help="explain only this group")
    explaining.add_argument(
        "--timezone",
        type=zone,
        metavar="ZONE",
        help="zone of times without one: Europe/Berlin, or +02:00 (default: shown as written)",
    )
    explaining.add_argument(
        "--into", type=Path, metavar="FOLDER", help="folder for explain.html and the tables"
    )


def zone(text: str) -> tzinfo:
    """A time zone by its name or its offset; raises argparse's error for another."""
    if match := re.fullmatch(r"([+-])(\d\d):?(\d\d)", text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < timedelta(hours=24):
            return timezone(offset if match[1] == "+" else -offset)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a known time zone: write Europe/Berlin or +02:00"
        ) from None


def add_nightly_options(nightly: argparse.ArgumentParser) -> None:
    nightly.add_argument("--list", action="store_true", help="print the set, and play nothing")
    nightly.add_argument("--long", action="store_true", help="play only the long experiments")
    nightly.add_argument(
        "--only",
        metavar="NAME,NAME:CLIENT/PROTOCOL",
        help="these runs instead of the whole set",
    )
    nightly.add_argument(
        "--share", default="1/1", metavar="K/N", help="the K-th of N equally long parts of the set"
    )
    add_jobs_option(nightly)
    add_run_options(nightly)


def experiment_of(arguments: argparse.Namespace) -> Experiment:
    """The experiment that the arguments ask for, checked, its knobs turned."""
    from harness.catalogue import registry
    from harness.catalogue.limits import with_limits

    if not arguments.name:
        raise BadInput(f"which experiment? NAME is one of {', '.join(registry.names())}")
    declared = registry.load(arguments.name)
    app = app_of(arguments, tuple(getattr(arguments, "program", ())))
    experiment = registry.with_knobs(declared, settings_of(arguments), of_app=app is not None)
    if app is not None:
        from harness.catalogue.apps import refuse_what_cannot_run, with_app

        if experiment.group != declared.group:
            raise BadInput(
                f"{app.name} decides its own client, protocol and timers: leave out --client, "
                "--protocol and every --set of the group; --instances sets the number of processes"
            )
        experiment = with_app(experiment, app)
        refuse_what_cannot_run(app)
    held = with_limits(experiment, limits_of(arguments), arguments.project.limits)
    return registry.resolved(registry.checked(held))


def add_matrix_options(matrix: argparse.ArgumentParser) -> None:
    matrix.add_argument(
        "--app", action="append", default=[], metavar="APP.TOML",
        help="a program, its folder, or an example by its name (default: all of consumers/apps)",
    )  # fmt: skip
    matrix.add_argument(
        "--experiment", action="append", default=[], metavar="NAME",
        help="see `list` (default: everyday, rough-day and rolling-deploy)",
    )  # fmt: skip
    matrix.add_argument("--repeat", type=int, default=3, help="runs of each (default: 3)")
    add_jobs_option(matrix)
    matrix.add_argument(
        "--seed", type=int, help="seed of the first run; each later run has one more"
    )
    matrix.add_argument("--backend", help="embedded (processes) or docker")
    matrix.add_argument("--kafka", help="version of Kafka")
    add_security_option(matrix)
    add_limit_option(matrix)
    matrix.set_defaults(set=[], client=None, client_version=None, protocol=None)


def share_of(text: str) -> tuple[int, int]:
    """The number of a part and of how many, from K/N. Raises BadInput."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise BadInput(f"--share {text!r} is not of the form K/N, such as 1/2")
    return int(number), int(of)


def names_of(text: str | None) -> list[str]:
    """The runs that `--only` names; empty where it was not given. Raises BadInput."""
    if text is None:
        return []
    names = text.replace(",", " ").split()
    if not names:
        raise BadInput(f"--only names no run: see `{COMMAND} nightly --list`")
    return list(dict.fromkeys(names))


def refuse_to_set(arguments: argparse.Namespace, *options: str) -> None:
    """Refuse a knob that the command turns itself, run by run."""
    for item in arguments.set:
        name = item.partition("=")[0].rpartition(".")[2]
        if name in options:
            raise BadInput(
                f"--set {item} has no effect: this command chooses the {name} of each run; use "
                f"--{name}"
            )


def settings_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Knobs and values, from `--set` and the options that stand for a knob. Raises BadInput."""
    from harness.provision.kafka import check_offered

    settings = {}
    for item in arguments.set:
        name, found, value = item.partition("=")
        if not found:
            raise BadInput(f"--set {item!r} is not of the form KNOB=VALUE")
        settings[name] = value
    if arguments.kafka is not None:
        check_offered(arguments.kafka)
    for option, knob in (
        ("client", "group.client"),
        ("client_version", "group.client_version"),
        ("protocol", "group.protocol"),
        ("backend", "cluster.backend"),
        ("kafka", "cluster.kafka_version"),
        ("security", "cluster.security"),
    ):
        if getattr(arguments, option) is not None:
            settings[knob] = getattr(arguments, option)
    return settings


def listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
