"""The harness's end of the watchdog: starting it, and letting it go."""

import subprocess
from pathlib import Path

from harness.base import processes
from harness.run.watchdog import IMAGES


def start(
    run_dir: Path, run: str, backend: str = "embedded", *, images: bool = False
) -> subprocess.Popen[bytes]:
    """Start the watchdog of a run, before anything else of it."""
    return processes.spawn(
        processes.python_module(
            "harness.run.watchdog", str(run_dir), run, backend, *((IMAGES,) if images else ())
        ),
        run=run,
        log=run_dir / "logs" / "watchdog.log",
        stdin=subprocess.PIPE,
    )


def let_go(watchdog: subprocess.Popen[bytes], *, ended: bool) -> None:
    """Let it go where all has `ended`; else it ends what could not be ended here."""
    processes.tell_last(watchdog, "done" if ended else "end")
    processes.wait_exit(watchdog, 10)
