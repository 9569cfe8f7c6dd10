"""The folder of a run."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.base.errors import SetupError
from harness.base.paths import check_for_kafka

NEEDED_BYTES: Final = 1_000_000_000  # four JVMs' data, and all that a run of minutes writes
_GB: Final = 1_000_000_000
SCRATCH: Final = "scratch"  # in a run's folder, what is thrown away at its end


def fresh(parent: Path, prefix: str = "") -> Path:
    """A name for a new folder that no other one has, sortable by time."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return parent / f"{prefix}{stamp}-{os.urandom(2).hex()}"


def point_latest(folder: Path) -> None:
    """Have `latest` beside a folder point at it."""
    link = folder.with_name(f".latest-{folder.name}")
    link.symlink_to(folder.name)
    link.replace(folder.with_name("latest"))


def reserve(
    results: Path,
    name: str,
    parts: tuple[str, ...] = ("history", "journals", "logs", SCRATCH),
    growth_bytes: int = 0,
) -> Path:
    """A new folder for a run, sortable by time, and `latest` pointing at it.

    `growth_bytes` is what the run will write. Raises SetupError where the disk has no room or
    cannot be written, BadInput for a name that Kafka would take apart.
    """
    parent = results / name
    check_for_kafka(parent)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(parent).free
        needed = NEEDED_BYTES + growth_bytes
        if free < needed:
            shorter = ", or a shorter run" if free >= NEEDED_BYTES else ""
            raise SetupError(
                f"only {free / _GB:.1f} GB are free below {parent} and this run may need "
                f"{needed / _GB:.1f}: make room, or choose another --results{shorter}"
            )
        run_dir = fresh(parent)
        run_dir.mkdir()
        for part in parts:
            (run_dir / part).mkdir()
        if SCRATCH in parts:
            processes.hold(run_dir / SCRATCH)  # no process has the run's mark yet
        point_latest(run_dir)
    except OSError as error:
        raise SetupError(
            f"{parent} cannot be written ({error.strerror}): choose another --results"
        ) from error
    return run_dir
