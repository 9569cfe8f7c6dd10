"""The build step of an app: once for each command, before anything is timed."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.base.errors import VoidRun
from harness.experiment.app import App

BUILD_S: Final = 1_800.0  # a first build fetches and compiles all that the program needs
_MARK: Final = "build"  # in the environment of the step's processes, instead of a member's name
Built = tuple[str, tuple[str, ...]]  # the folder of a program, and the command that built it
_built: set[Built] = set()  # in this process


def needs_building(app: App) -> bool:
    return bool(app.build) and (app.folder, app.build) not in _built


def built() -> frozenset[Built]:
    """What was built in this process."""
    return frozenset(_built)


def take_as_built(others: Iterable[Built]) -> None:
    """Take over what another process has built."""
    _built.update(others)


def build(app: App, run: str, log: Path) -> None:
    """Build a program. Raises VoidRun with its last words where that fails."""
    if not needs_building(app):
        return
    try:
        process = processes.spawn(
            app.build, run=run, log=log, environment={processes.MEMBER_MARK: _MARK},
            cwd=Path(app.folder),
        )  # fmt: skip
    except OSError as error:
        raise VoidRun(
            f"the build step of {app.name} cannot be started ({error}): see that {app.build[0]!r} "
            "is installed"
        ) from error
    try:
        code = process.wait(timeout=BUILD_S)
    except subprocess.TimeoutExpired:
        raise VoidRun(
            f"{app.name} was not built within {BUILD_S / 60:.0f} min; its last words: "
            f"{processes.last_lines(log)}"
        ) from None
    finally:  # interrupted, too; and nothing that it left running shall take part in what is timed
        process.kill()
        process.wait()
        for _ in range(2):  # what was just being started is found then
            processes.end(processes.of_member(run, _MARK))
    if code:
        raise VoidRun(
            f"{app.name} was not built: {' '.join(app.build)} ended with exit code {code}; its "
            f"last words: {processes.last_lines(log)}"
        )
    _built.add((app.folder, app.build))
