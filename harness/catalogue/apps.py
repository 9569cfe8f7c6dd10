"""Users' programs: read from app.toml and from the command line."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_type_hints

from harness.base.errors import BadInput
from harness.base.paths import ROOT, here
from harness.base.words import hint
from harness.catalogue import toml_settings
from harness.catalogue.toml_settings import known, typed
from harness.experiment import APP, Expect, Experiment, Fault, Group, Verdict
from harness.experiment.app import App, Records, Shows, Stop
from harness.experiment.limits import Limits
from harness.rules.lineage import judged_of_an_app
from harness.run.faults import KINDS, Lever, of_a_user

FILE: Final = "app.toml"
EXAMPLES: Final = ROOT / "consumers" / "apps"
IN_TRANSACTION: Final = "in a transaction"  # how a member is killed that gets an order first
_TABLES: Final = {"records": Records, "effects": Shows, "stop": Stop, "limits": Limits}
# Tables of names and texts, and the field of an app that holds each.
_NAMED: Final = {"env": "environment", "dependency": "dependencies"}
_LIKE: Final = {"env": 'PORT = "8080"', "dependency": 'DATABASE_URL = "127.0.0.1:5432"'}
_PLAIN: Final = (
    *("name", "command", "image", "entrypoint", "build", "instances", "static"),
    *("start_s", "steady_s"),
)
_KEYS: Final = (*_PLAIN, *_NAMED, *_TABLES)


def read(path: Path) -> App:
    """The app of a folder or of an app.toml.

    Raises BadInput with the file, the line where there is one, and what is wrong.
    """
    file = path / FILE if path.is_dir() else path
    found = toml_settings.read(file, "name an app.toml, or its folder")
    try:
        return _app(found, file.resolve().parent)
    except BadInput as error:
        raise BadInput(f"{here(file)}: {error}") from error


def examples() -> list[Path]:
    """The folders of consumers/apps that have an app.toml, by name."""
    return sorted(file.parent for file in EXAMPLES.glob(f"*/{FILE}"))


def named(text: str, own: Iterable[Path] = ()) -> App:
    """The app of a folder, of an app.toml, or of one of its owner's or an example by its name.

    Raises BadInput with the nearest name where there is none.
    """
    path = Path(text)
    if path.is_file() or (path / FILE).is_file():
        return read(path)
    there = {folder.name: folder for folder in (*examples(), *own)}
    if text in there:
        return read(there[text])
    raise BadInput(f"there is no app {text!r}: {hint(path.name, there)}")


def of_words(image: str, command: tuple[str, ...], folder: Path) -> App:
    """The app that an image makes, or a command line alone, named after the last part of either."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    name = name or Path(*command[:1]).stem
    return App(name=_name(name), image=image, command=command, folder=str(folder.resolve()))


def _name(file: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", file).strip("-._") or "app"


def turned(app: App, options: Mapping[str, Any]) -> App:
    """The app with what the command line says otherwise.

    A name such as "stop.grace_s" is of a part; "env" and "dependency" add to what there is. Records
    are made from a value or from samples, and work is shown by one way, so that either takes the
    other's place.
    """
    effects = {
        name.removeprefix("effects."): value
        for name, value in options.items()
        if name.startswith("effects.")
    }
    if effects:
        before = app.effects if set(effects) == {"output_pattern"} else Shows()
        app = replace(app, effects=replace(before, **effects))
    for name, value in options.items():
        part, _, item = name.rpartition(".")
        if part == "effects":
            continue
        if name in _NAMED:
            more: Any = {**getattr(app, _NAMED[name]), **value}
            app = replace(app, **{_NAMED[name]: more})
        elif part == "records":
            app = replace(app, records=Records(**{item: value}))
        elif part:
            app = replace(app, **{part: replace(getattr(app, part), **{item: value})})
        else:
            app = replace(app, **{name: value})
    return app


def with_app(experiment: Experiment, app: App) -> Experiment:
    """The experiment with processes of the app for its members.

    They are static where the experiment, or the app, says so. Its rules are those that need nothing
    which only our own consumers tell. Probes beside its faults are left out. Raises BadInput for a
    fault that there is no lever for in a user's program; of faults that are drawn at
    random such a one is left out.
    """
    if alone := [probe.name for probe in experiment.probes if not probe.beside]:
        raise BadInput(
            f"the probe {alone[0]} asks only brokers, so an app would change nothing: play the "
            "experiment without one"
        )
    if experiment.cluster.backend == "compose":
        raise BadInput(
            "an app needs a cluster of its own, whose brokers log what it fetches: use "
            "--backend embedded or --backend docker"
        )
    faults = experiment.faults
    if experiment.at_random:
        faults = tuple(fault for fault in faults if not _refusal(fault, app))
    for fault in faults or experiment.faults:
        if why := _refusal(fault, app):
            raise BadInput(why)
    group = Group(members=app.instances, client=APP, static=app.static or experiment.group.static)
    judged = judged_of_an_app()
    # Where a document is wrong for everybody, it is wrong for this program too.
    rules = tuple(
        replace(expect, if_seen=True)
        for expect in experiment.rules
        if expect.rule in judged
        and expect.verdict is not Verdict.HOLDS
        and not (expect.clients or expect.protocols)
        and expect.is_of(*experiment.cluster.releases)
    )
    named = {expect.rule for expect in rules}
    more = tuple(Expect(rule=rule, if_seen=True) for rule in judged if rule not in named)
    return replace(
        experiment, app=app, group=group, probes=(), faults=faults, rules=(*rules, *more)
    )


def _refusal(fault: Fault, app: App) -> str:
    """Why this fault cannot be done to the program; empty if it can."""
    kind = KINDS.get(fault.kind)
    how = f" {fault.how}" if fault.how == IN_TRANSACTION else ""
    if how or (kind and kind.by_order):
        return (
            f"{fault.kind}{how} is an order that only our own consumers understand, and "
            f"{app.name} does not: choose another experiment"
        )
    if kind and of_a_user(fault):
        return (
            f"{fault.kind} takes something from the user of one process, and a process of "
            f"{app.name} that is started again comes as another user: choose another experiment"
        )
    if kind and kind.lever == Lever.DEPENDENCY and not app.dependencies:
        return (
            f"{fault.kind} acts on a dependency, and {app.name} names none: write "
            '[dependency] DATABASE_URL = "127.0.0.1:5432" into app.toml, or use '
            "--dependency DATABASE_URL=127.0.0.1:5432"
        )
    if kind and kind.lever == Lever.SINK and not app.effects.http:
        return (
            f"{fault.kind} acts on the answers of the sink, and {app.name} posts to none: write "
            "[effects] http = true into app.toml, and let the program post each record to "
            "KAFKA_CHAOS_SINK"
        )
    return ""


def _app(found: Mapping[str, Any], folder: Path) -> App:
    known("", found, _KEYS)
    if "command" not in found and "image" not in found:
        raise BadInput(
            'there is no command: say what to run, as in command = ["./consumer"], or name an '
            'image, as in image = "registry/orders:1.4"'
        )
    parts: dict[str, Any] = {
        name: _part(name, kind, found[name], folder)
        for name, kind in _TABLES.items()
        if name in found
    }
    plain = {name: found[name] for name in _PLAIN if name in found}
    for name, value in plain.items():
        plain[name] = typed(name, value, get_type_hints(App)[name])
    for table, field in _NAMED.items():
        plain[field] = held = found.get(table, {})
        if not isinstance(held, dict) or not all(isinstance(each, str) for each in held.values()):
            raise BadInput(f"[{table}] holds names and texts: write them as in {_LIKE[table]}")
    plain.setdefault("name", _name(folder.name))
    return App(folder=str(folder), **plain, **parts)


def _part(name: str, kind: type, found: Any, folder: Path) -> Any:
    if name == "records" and isinstance(found, dict):
        known(f"[{name}] ", found, ("value", "file"))
        if len(found) > 1:
            raise BadInput("[records] has a value and a file: leave one of them out")
        if "file" in found:
            file = typed("[records] file", found["file"], str)
            found = {"samples": list(samples(folder / file))}
    return toml_settings.table(name, kind, found)


def samples(file: Path) -> tuple[str, ...]:
    """The records of a file, one in each line. Raises BadInput where there is none."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:  # what is no text, or no name of a file
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(
            f"[records] file {here(file)} cannot be read ({why}): name a text file with "
            "one record in each line"
        ) from None
    if not any(line.strip() for line in lines):
        raise BadInput(f"[records] file {here(file)} is empty: put one record in each line")
    return tuple(line for line in lines if line.strip())
