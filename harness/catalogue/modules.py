"""Modules of experiments: each is read into its value, and every slip in one is a sentence."""

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final

from harness import experiment as words
from harness.base.errors import BadInput, CannotImport, HarnessError
from harness.base.paths import here
from harness.base.words import hint
from harness.experiment import Experiment

_UNKNOWN_FIELD: Final = re.compile(
    r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"
)
_LACKS: Final = re.compile(r"(\w+)\.__init__\(\) missing \d+ required .* arguments?: (.*)")


def read(name: str, checked: Callable[[Experiment], Experiment]) -> Experiment:
    """The value `experiment` of the module of this NAME, after it was checked.

    Raises BadInput with the file, the line where there is one, and what is wrong.
    """
    module = imported(name)
    file = here(Path(str(module.__file__)))
    found = getattr(module, "experiment", None)
    if found is None:
        raise BadInput(f"{file} has no value `experiment`: assign the Experiment to that name")
    if not isinstance(found, Experiment):
        raise BadInput(
            f"{file}: `experiment` is a {type(found).__name__}, not an Experiment: look for a "
            "comma after it"
        )
    try:
        return checked(found)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from error


def imported(name: str) -> ModuleType:
    """The module of the experiment of this NAME. Raises BadInput as `read` does."""
    module = f"experiments.{name.replace('-', '_')}"
    spec = importlib.util.find_spec(module)
    assert spec is not None, name
    return module_at(module, Path(str(spec.origin)))


def module_at(name: str, file: Path) -> ModuleType:
    """The module of this name, which is in this file.

    Raises BadInput for a slip with the words of an experiment, CannotImport for anything else.
    """
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # it may be edited again now
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        place = here(Path(error.filename or file))
        said = f"{place}:{error.lineno}: {error.msg}"
        raise CannotImport(said) from error.with_traceback(None)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it does: it is not ours)
        lines = [
            line
            for trace, line in traceback.walk_tb(error.__traceback__)
            if Path(trace.f_code.co_filename) == file
        ]
        place = f"{here(file)}:{lines[-1]}" if lines else str(here(file))
        said, known = _sentence(error)
        kind = BadInput if known else CannotImport
        raise kind(f"{place}: {said}") from error.with_traceback(_from(file, error.__traceback__))
    finally:
        sys.dont_write_bytecode = writes


def _from(file: Path, trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in this file: what led to it is ours."""
    while trace is not None and Path(trace.tb_frame.f_code.co_filename) != file:
        trace = trace.tb_next
    return trace


def _sentence(error: BaseException) -> tuple[str, bool]:
    """What is wrong and what to do, and whether that is one of the usual slips."""
    text = " ".join(str(error).split())
    if isinstance(error, HarnessError):
        return text, True
    if found := _UNKNOWN_FIELD.search(text):
        return _no_such_field(found[1], found[2]), True
    if found := _LACKS.search(text):
        return f"{found[1]} lacks {found[2].replace(chr(39), '')}: every {found[1]} needs it", True
    if isinstance(error, TypeError) and ("not callable" in text or "can't multiply" in text):
        return f"{text}: a comma may be missing at the end of the line before", True
    return f"{type(error).__name__}: {text}", False


def _no_such_field(value: str, name: str) -> str:
    from harness.rules import Rule

    kind = Rule if value == Rule.__name__ else getattr(words, value, None)
    known = [each.name for each in fields(kind)] if kind is not None else []
    return f"{value} has no field {name!r}: {hint(name, known)}"
