"""Modules of experiments: each is read into its value, and every slip in one is a sentence."""

import difflib
import importlib
import importlib.util
import re
import traceback
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Final

from harness import experiment as words
from harness.base.errors import BadInput, HarnessError
from harness.base.paths import here
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
    file = here(_file_of(name))
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
    try:
        return importlib.import_module(_module_of(name))
    except SyntaxError as error:
        raise BadInput(f"{here(_file_of(name))}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        file = _file_of(name)
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename) == file
        ]
        place = f"{here(file)}:{lines[-1]}" if lines else str(here(file))
        raise BadInput(f"{place}: {_sentence(error)}") from error


def _module_of(name: str) -> str:
    return f"experiments.{name.replace('-', '_')}"


def _file_of(name: str) -> Path:
    spec = importlib.util.find_spec(_module_of(name))
    assert spec is not None, name
    assert spec.origin is not None, name
    return Path(spec.origin)


def _sentence(error: Exception) -> str:
    """What is wrong and what to do, for what goes wrong most often."""
    text = " ".join(str(error).split())
    if isinstance(error, HarnessError):
        return text
    if found := _UNKNOWN_FIELD.search(text):
        return _no_such_field(found[1], found[2])
    if found := _LACKS.search(text):
        return f"{found[1]} lacks {found[2].replace(chr(39), '')}: every {found[1]} needs it"
    if isinstance(error, TypeError) and ("not callable" in text or "can't multiply" in text):
        return f"{text}: a comma may be missing at the end of the line before"
    return f"{type(error).__name__}: {text}"


def _no_such_field(value: str, name: str) -> str:
    known = [each.name for each in fields(getattr(words, value))] if hasattr(words, value) else []
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"{value} has no field {name!r}: {hint}"
