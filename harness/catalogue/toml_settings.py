"""Settings of a TOML file: their names, and the types of their values."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from harness.base.errors import BadInput
from harness.base.paths import here
from harness.base.words import hint


def read(file: Path, otherwise: str) -> dict[str, Any]:
    """What a TOML file holds. Raises BadInput, with what to do where it cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{here(file)} cannot be read ({error.strerror}): {otherwise}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{here(file)} is not valid TOML ({error}): correct it there") from None


def known(where: str, found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Refuse an unknown name. Raises BadInput with the nearest."""
    for name in found:
        if name not in names:
            raise BadInput(f"there is no setting {where}{name!r}: {hint(name, names)}")


def table(name: str, kind: type, found: Any) -> Any:
    """A table of a TOML file as the value of this dataclass. Raises BadInput."""
    if not isinstance(found, dict):
        raise BadInput(f"{name} is {found!r}, not a table: write [{name}] above its settings")
    known(f"[{name}] ", found, tuple(each.name for each in fields(kind)))
    hints = get_type_hints(kind)
    return kind(
        **{each: typed(f"[{name}] {each}", value, hints[each]) for each, value in found.items()}
    )


def typed(name: str, value: Any, declared: Any) -> Any:
    """A value as its field is declared: a list of texts for a tuple, a whole number for a float."""
    kinds = get_args(declared) if isinstance(declared, UnionType) else (declared,)
    for kind in kinds:
        if get_origin(kind) is tuple:
            if isinstance(value, list) and all(isinstance(each, str) for each in value):
                return tuple(value)
        elif kind is float and type(value) in (int, float):
            try:
                return float(value)
            except OverflowError:
                return inf if value > 0 else -inf
        elif type(value) is kind:
            return value
    wanted = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    said = " or ".join(wanted[kind] for kind in kinds if kind in wanted)
    said = said or 'a list such as ["a", "b"]'
    raise BadInput(f"{name} takes {said}, not {value!r}")
