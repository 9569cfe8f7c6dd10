"""What the options ask for, as values; nothing below hears of arguments."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.catalogue import apps, promises
from harness.experiment.app import App
from harness.experiment.limits import Limits


def settings_of(arguments: Namespace) -> dict[str, str]:
    """Settings by name, from `--set` and the options that stand for one. Raises BadInput."""
    given = vars(arguments)
    settings = {}
    for item in given.get("set", []):
        name, found, value = item.partition("=")
        if not found:
            raise BadInput(f"--set {item!r} is not of the form NAME=VALUE")
        settings[name] = value
    for option, name in (
        ("client", "group.client"),
        ("client_version", "group.client_version"),
        ("protocol", "group.protocol"),
        ("backend", "cluster.backend"),
        ("kafka", "cluster.kafka_version"),
        ("security", "cluster.security"),
    ):
        if given.get(option) is not None:
            settings[name] = given[option]
    return settings


def limits_of(arguments: Namespace) -> Limits:
    """The limits that are given by `--limit`, or by an option of their own. Raises BadInput."""
    named = [
        f"{line.removeprefix('limits.')}={value}"
        for _, line, value in _of_a_program(arguments)
        if line.startswith("limits.")
    ]
    return promises.of_texts([*arguments.limit, *named])


def names_a_program(arguments: Namespace) -> bool:
    given = vars(arguments)
    return bool(given["app"] or given.get("program") or given["--image image"])


def app_of(arguments: Namespace) -> App | None:
    """The program that the arguments name, with what they say of it, or none. Raises BadInput."""
    command = tuple(getattr(arguments, "program", ()))
    given = _of_a_program(arguments)
    if not names_a_program(arguments):
        for option, line, _ in given:
            if not line.startswith("limits."):  # which our own members may be held to
                raise BadInput(
                    f"{option} is about a program of yours, and there is none: name it by --app, "
                    "or use `try`"
                )
        return None
    options = {line: value for _, line, value in given}
    if arguments.app is not None and command:
        raise BadInput(f"--app {arguments.app} has a command already: leave out what is after --")
    if arguments.app is not None:
        own = {folder.name: folder for folder in arguments.project.apps}
        known = None if arguments.app.exists() else own.get(str(arguments.app))
        app = apps.read(known or arguments.app)
    else:
        app = apps.of_words(options.get("image", ""), command, Path.cwd())
    if "records.value" in options and "records.file" in options:
        raise BadInput("--value and --records both say what the records are: leave out one")
    if "records.file" in options:
        options["records.samples"] = apps.samples(options.pop("records.file"))
    return apps.turned(app, options)


def _of_a_program(arguments: Namespace) -> list[tuple[str, str, Any]]:
    """Each option that was given about a program, the line of app.toml that it is, its value."""
    given = [(*dest.split(), value) for dest, value in vars(arguments).items() if " " in dest]
    return [
        (option, line, dict(value) if line in ("env", "dependency") else value)
        for option, line, value in given
        if value is not None
    ]


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


def refuse_to_set(items: Iterable[str], *options: str) -> None:
    """Refuse `--set` of what the command sets itself, run by run."""
    for item in items:
        name = item.partition("=")[0].rpartition(".")[2]
        if name in options:
            raise BadInput(
                f"--set {item} has no effect: this command chooses the {name} of each run; use "
                f"--{name}"
            )


def listed(text: str) -> list[str]:
    """The items of a text that commas part."""
    return [item.strip() for item in text.split(",") if item.strip()]


def typed(arguments: Namespace, *options: str) -> list[str]:
    """These options as they were typed, without those that were not."""
    words = []
    for option in options:
        given = getattr(arguments, option)
        given = [] if given is None else given if isinstance(given, list) else [given]
        for value in dict.fromkeys(given):
            words += [f"--{option.replace('_', '-')}", str(value)]
    return words
