"""The watchdog: heals and cleans when the harness cannot, SIGKILL included.

It holds the reading end of a pipe whose writing end only the harness has. A line "done" lets it go;
a line "end" has it end what the harness could not end, and no more. The end of the pipe without
either means that the harness is gone: then it ends every process that carries the run's mark (which
also releases what a fault has stopped or cut off), writes into the fault journal that the watchdog
healed, removes the run's scratch folder and marks the manifest.

    python -m harness.run.watchdog RUN_DIR RUN BACKEND [images]

With `images` the program under test runs in containers, whatever the brokers are.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from consumers.journal import Journal, read_journal
from harness.base import processes
from harness.base.errors import HarnessError
from harness.cluster.backends import backend_of
from harness.history import manifest

JOURNAL: Final = "watchdog.journal"
IMAGES: Final = "images"
# After the last process was seen: the harness may have died between a fork and the mark that the
# child gets with its program, and on a busy machine that takes as long.
_QUIET_S: Final = 1.5


def heal_and_clean(
    run_dir: Path, run: str, backend: str = "embedded", *, images: bool = False
) -> int:
    """End what the run left running and say so in its records; returns how many were ended.

    The scratch folder goes first: on a full disk there is room for the records then. What fails is
    written to standard error, and keeps nothing else from being done.
    """
    ended = end(run, backend, images=images)
    shutil.rmtree(run_dir / "scratch", ignore_errors=True)
    for record in (_close_open_faults, _complete_manifest):
        try:
            record(run_dir)
        except (HarnessError, OSError) as error:
            _complain(error)
    return ended


def end(run: str, backend: str = "embedded", *, images: bool = False) -> int:
    """End what the run left running; returns how many were ended."""
    ended = processes.end_run(run, keep=frozenset({os.getpid()}), quiet_s=_QUIET_S)
    try:
        ended += backend_of(backend, images=images).remove(run)
    except HarnessError as error:  # the engine is gone, or refuses: the next start looks again
        _complain(error)
    return ended


def _complain(error: Exception) -> None:
    with suppress(OSError):  # its log is on the disk that is full
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()


def _complete_manifest(run_dir: Path) -> None:
    if (run_dir / manifest.FILE_NAME).exists():
        manifest.update(
            run_dir,
            status="interrupted",
            status_reason="the harness was killed before the run was complete; "
            "the watchdog healed and cleaned up",
        )


def _close_open_faults(run_dir: Path) -> None:
    path = run_dir / "journals" / "faults.journal"
    if not path.exists():
        return
    frames = read_journal(path).frames
    healed = {frame["fault"] for frame in frames if frame.get("phase") in ("healed", "failed")}
    begun = {frame["fault"]: frame for frame in frames if frame.get("phase") == "injecting"}
    journal = Journal(path.with_name(JOURNAL), member="watchdog")
    for fault, frame in begun.items():
        if fault not in healed:
            said = {name: frame[name] for name in ("fault", "fault_kind", "target", "resolved")}
            evidence = "the watchdog ended the whole cluster after the harness had died"
            journal.write("fault", **said, phase="healed", evidence=evidence)
    journal.end()


def main(run_dir: Path, run: str, backend: str, containers: str = "") -> None:
    """Wait for the end of the pipe; heal unless a line says that the harness is done."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    said = sys.stdin.read().split()
    images = containers == IMAGES
    if "end" in said:
        end(run, backend, images=images)
    elif "done" not in said:
        heal_and_clean(run_dir, run, backend, images=images)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
