"""A user's own experiments and rules, from folders of theirs."""

import keyword
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import experiments
from harness.base.errors import BadInput
from harness.base.paths import here
from harness.catalogue import modules
from harness.experiment import Source

if TYPE_CHECKING:
    from harness.rules import Rule
    from harness.rules.own import Own

_PACKAGE: Final = "own_rules"  # that their modules of rules are in, so that they find each other
FOLDER: Final = "own"  # of a run, with what it was made from
_folders: dict[str, Path] = {}  # in use, by what is in them: experiments and rules


def rules_folder() -> Path | None:
    return _folders.get("rules")


def has_rules() -> bool:
    from harness.rules.own import USED

    return bool(USED)


def experiments_folder() -> Path | None:
    return _folders.get("experiments")


@contextmanager
def used(own_experiments: Path | None, own_rules: Path | None) -> Iterator[None]:
    """Register these folders' experiments and rules inside the context.

    Raises BadInput for what cannot be read, what is no rule, and names that are ours.
    """
    with ExitStack() as stack:
        for folder, use in ((own_rules, _rules), (own_experiments, _experiments)):
            if folder is not None:
                stack.enter_context(use(folder))
        yield


def sources_of(name: str) -> tuple[Source, ...]:
    """What of an experiment is not ours: its module, all rules, and the helpers of both."""
    found = []
    folder = experiments_folder()
    mine = f"{name.replace('-', '_')}.py"
    if folder is not None and (folder / mine).is_file():
        helpers = [file for file in files_in(folder) if file.name.startswith("_")]
        found += [_source("experiments", file) for file in (folder / mine, *helpers)]
    if (folder := rules_folder()) is not None:
        found += [_source("rules", file) for file in files_in(folder)]
    return tuple(found)


def _source(kind: str, file: Path) -> Source:
    text = file.read_bytes().decode(errors="surrogateescape")  # whatever its encoding is
    return Source(path=f"{FOLDER}/{kind}/{file.name}", text=text)


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that experiments, rules or their helpers may be in."""
    return sorted((*folder.glob("*.py"), *folder.glob("*.sql")))


@contextmanager
def _experiments(folder: Path) -> Iterator[None]:
    ours = {module.name for module in pkgutil.iter_modules(experiments.__path__)}
    theirs = [module.name for module in pkgutil.iter_modules([str(folder)])]
    for name in theirs:
        file = folder / f"{name}.py"
        if not name.isidentifier() or keyword.iskeyword(name):
            raise BadInput(
                f"{here(file)} cannot be an experiment by this name: use letters, digits and "
                "underscores"
            )
        if name in ours:
            raise BadInput(
                f"{here(file)}: there is an experiment {name.replace('_', '-')} already, which is "
                "kafka-chaos's: give yours another name"
            )
    before = list(experiments.__path__)
    experiments.__path__[:] = [*before, str(folder)]
    _folders["experiments"] = folder
    try:
        yield
    finally:
        del _folders["experiments"]
        experiments.__path__[:] = before
        for name in theirs:
            sys.modules.pop(f"experiments.{name}", None)


@contextmanager
def _rules(folder: Path) -> Iterator[None]:
    from harness.rules import own  # every module of rules

    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    _folders["rules"] = folder
    try:
        with own.used(_found(folder)):
            yield
    finally:
        del _folders["rules"]
        for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
            del sys.modules[name]


def _found(folder: Path) -> "list[Own]":
    """Their rules, each with the digests of its file and of the helpers beside it."""
    from harness.rules import own

    files = files_in(folder)
    helpers = [file for file in files if file.name.startswith("_")]
    found: dict[str, own.Own] = {}
    for file in files:
        for rule in () if file in helpers else _rules_in(file):
            if problem := own.problem_of(rule):
                raise BadInput(f"{here(file)}: {problem}")
            if rule.id in found:
                raise BadInput(f"{here(file)}: there are two rules {rule.id}: rename one of them")
            sources = [_source("rules", each) for each in (file, *helpers)]
            found[rule.id] = own.Own(rule, {each.path: each.digest for each in sources})
    return list(found.values())


def _rules_in(file: Path) -> "list[Rule]":
    """The rule of a `.sql` file, or those of a module."""
    from harness.rules import RULES, Rule
    from harness.rules.rule_file import rule_in

    if file.suffix == ".sql":
        try:
            return [rule_in(file)]
        except (ValueError, OSError) as error:
            raise BadInput(f"{here(file)}: {error}") from error
    module = modules.module_at(f"{_PACKAGE}.{file.stem}", file)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, Rule)
        and value is not RULES.get(value.id)
        # One that was imported from a module beside it is that module's.
        and getattr(value.examine, "__module__", module.__name__) == module.__name__
    ]
    if not found:
        raise BadInput(
            f"{here(file)} has no rule: decorate a function with Rule(…), or let the name of a "
            "module without one begin with an underscore"
        )
    return found
