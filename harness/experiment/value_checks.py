"""What values of an experiment are refused for, each with one sentence; and versions in order."""

from harness.base.errors import BadInput
from harness.base.words import hint, listed
from harness.experiment.enums import KIP_848


def numbers_of(version: str) -> tuple[int, ...]:
    """The numbers of a release, by which releases are in order: 4.10.0 comes after 4.9.1."""
    return tuple(map(int, version.split(".")))


def at_least(least: int, **values: int) -> None:
    """Refuse values that are less. Raises BadInput naming the first."""
    for name, value in values.items():
        if value < least:
            raise BadInput(f"{name} of {value} is below {least}: raise it")


def all_are(kind: type, name: str, values: object) -> None:
    """Refuse what is no tuple of such values. Raises BadInput with how to write one."""
    if not isinstance(values, tuple):
        raise BadInput(
            f"{name} is a {type(values).__name__}, not a tuple: write a comma after the one value "
            f"that it has, as in {name}=(…,)"
        )
    for value in values:
        if not isinstance(value, kind):
            star = "write a star before holds(…), or " if isinstance(value, tuple) else ""
            raise BadInput(
                f"{name} has a {type(value).__name__} in it, where every value is a "
                f"{kind.__name__}: {star}look for a comma that is missing or too many"
            )


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not offered. Raises BadInput naming those that are."""
    if value not in allowed:
        shown = [f"consumer ({KIP_848})" if each == "consumer" else each for each in allowed]
        what = hint(value, allowed, f"choose {listed(shown, 'or')}")
        raise BadInput(f"{name} {value!r} is not offered: {what}")
