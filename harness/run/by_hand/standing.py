"""Which clusters by hand are up: those whose watchdog runs, and whose `up` lives."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from harness.base import processes
from harness.base.errors import BadInput, NoData, SetupError
from harness.base.paths import COMMAND, here
from harness.run.by_hand.layout import NAME, PORT_BASE

_WATCHDOG: Final = "harness.run.watchdog"  # its arguments begin with the folder of its run


def standing() -> list[Path]:
    """The folders of all clusters by hand of this user that are up, or just starting or ending."""
    found = set()
    for process, _, _ in processes.marked():
        with suppress(psutil.Error, ValueError, IndexError):  # gone, or no watchdog
            arguments = process.cmdline()
            folder = Path(arguments[arguments.index(_WATCHDOG) + 1])
            if folder.parent.name == NAME and processes.held(folder):
                found.add(folder)
    return sorted(found)


def refuse_a_second(results: Path, port_base: int) -> None:
    """Refuse another one where `fault` would not know which is meant, or ports would be the same.

    Raises SetupError with the folder of the first.
    """
    for folder in standing():
        if folder.parent.parent == results or port_base == PORT_BASE:
            raise SetupError(
                f"a cluster is up already, in {here(folder)}: use that one, end it by "
                f"`{COMMAND} down`, or give this one a --port-base and a --results of its own"
            )


def the_one(results: Path) -> Path:
    """The folder of the cluster that is meant: the one below these results, else the only one.

    Raises NoData where none is up, BadInput where it is not clear which.
    """
    found = standing()
    near = [folder for folder in found if folder.parent.parent == results]
    if near or len(found) == 1:
        return (near or found)[0]
    if not found:
        raise NoData(f"no cluster is up: `{COMMAND} up` brings one up")
    raise BadInput(
        f"{len(found)} clusters are up, and none of them below {here(results)}: name one by "
        f"--results {' or '.join(here(folder.parent.parent) for folder in found)}"
    )
