"""What the commands' options mean, and what of them is refused."""

import argparse
import shlex
from pathlib import Path
from typing import Final

from harness.base.errors import BadInput
from harness.base.ports import LAST_PORT
from harness.experiment import Experiment
from harness.experiment.app import App

# Options that say something about a program of somebody else's.
_OF_AN_APP: Final = (
    *("app_name", "entrypoint", "build", "instances", "static", "env", "dependency", "value"),
    *("records", "stdout", "signal", "http", "output_topic", "output_pattern", "verifiable"),
    *("grace_s", "standstill_s", "drained_s", "repeats", "lost", "out_of_order"),
)


def port(text: str) -> int:
    """A number of a port; raises argparse's error for another."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port: choose one from 1 to {LAST_PORT}, with free ports after it"
        )
    return number


def add_run_options(one: argparse.ArgumentParser) -> None:
    """The options of every command that plays runs of one experiment, or of many."""
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


def add_app_options(one: argparse.ArgumentParser) -> None:
    """What a line of app.toml says, on the command line."""
    one.add_argument("--app", type=Path, metavar="APP.TOML", help="your program, or its folder")
    one.add_argument("--name", dest="app_name", metavar="NAME", help="what to call the program")
    one.add_argument("--image", help="run this image, a container for each process")
    one.add_argument("--entrypoint", metavar="COMMAND", help="instead of the image's own")
    one.add_argument("--build", metavar="COMMAND", help="run once, before anything is timed")
    one.add_argument("--instances", type=int, help="processes of the program (default: 3)")
    one.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE",
        help="environment of the program; {bootstrap}, {topic}, {group}, {member} are filled in",
    )  # fmt: skip
    one.add_argument(
        "--dependency", action="append", default=[], metavar="NAME=HOST:PORT",
        help="what the program uses besides Kafka; NAME is the variable that is given a proxy's "
        "address",
    )  # fmt: skip
    one.add_argument(
        "--static", action="store_true", default=None, help="each has an instance id, {instance_id}"
    )
    one.add_argument("--value", metavar="TEMPLATE", help="of each record, with {n} for its number")
    one.add_argument("--records", type=Path, metavar="FILE", help="one record in each line instead")
    one.add_argument(
        "--stdout", metavar="PATTERN", help=r"of a line for each record done: 'done (?P<n>\d+)'"
    )
    one.add_argument(
        "--http", nargs="?", const=True, metavar="PATTERN",
        help="it posts each record done to {sink}; the pattern finds the number in what it posts",
    )  # fmt: skip
    one.add_argument("--output-topic", metavar="TOPIC", help="it writes there for each record done")
    one.add_argument("--output-pattern", metavar="PATTERN", help="finds the number in it")
    one.add_argument(
        "--verifiable", action="store_true", default=None,
        help="it prints the lines of Kafka's VerifiableConsumer",
    )  # fmt: skip
    one.add_argument("--signal", help="by which it is asked to end (default: SIGTERM)")
    one.add_argument("--grace-s", type=float, help="until it is killed (default: 30)")
    for name in ("standstill-s", "drained-s"):
        one.add_argument(f"--{name}", type=float, help="the most that you promise, in seconds")
    for name in ("repeats", "lost", "out-of-order"):
        one.add_argument(f"--{name}", type=int, help="the most records that you promise")


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
        app = apps.read(arguments.app)
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
        raise BadInput(f"--{option} {command!r} is no command ({error}): mend its quotes") from None


def add_nightly_options(nightly: argparse.ArgumentParser) -> None:
    """The options of `nightly`."""
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
    add_run_options(nightly)


def experiment_of(arguments: argparse.Namespace) -> Experiment:
    """The experiment that the arguments ask for, checked, its knobs turned."""
    from harness.catalogue import registry

    if not arguments.name:
        raise BadInput(f"which experiment? NAME is one of {', '.join(registry.names())}")
    declared = registry.load(arguments.name)
    experiment = registry.with_knobs(declared, settings_of(arguments))
    app = app_of(arguments, tuple(getattr(arguments, "program", ())))
    if app is not None:
        from harness.catalogue.apps import refuse_what_cannot_run, with_app

        if experiment.group != declared.group:
            raise BadInput(
                f"{app.name} decides its own client, protocol and timers: leave out --client, "
                "--protocol and what --set says of the group; --instances says how many there are"
            )
        experiment = with_app(experiment, app)
        refuse_what_cannot_run(app)
    return registry.resolved(registry.checked(experiment))


def add_matrix_options(matrix: argparse.ArgumentParser) -> None:
    """The options of `matrix`."""
    matrix.add_argument(
        "--app", action="append", default=[], metavar="APP.TOML",
        help="a program, its folder, or an example by its name (default: all of consumers/apps)",
    )  # fmt: skip
    matrix.add_argument(
        "--experiment", action="append", default=[], metavar="NAME",
        help="see `list` (default: everyday, rough-day and rolling-deploy)",
    )  # fmt: skip
    matrix.add_argument("--repeat", type=int, default=3, help="runs of each (default: 3)")
    matrix.add_argument("--seed", type=int, help="of the first run, and one more for each after it")
    matrix.add_argument("--backend", help="embedded (processes) or docker")
    matrix.add_argument("--kafka", help="version of Kafka")
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
        raise BadInput("--only names no run: see `python -m harness nightly --list`")
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


def add_comparison_options(several: argparse.ArgumentParser) -> None:
    """The options of `compare-protocols`."""
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


def listed(text: str) -> list[str]:
    """The items between commas."""
    return [item.strip() for item in text.split(",") if item.strip()]
