"""The harness's end of the observer: starting it, giving it orders, and letting it end."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.base import processes
from harness.cluster.plan import GROUP, TOPIC, Plan
from harness.cluster.secured import HARNESS

_LAST_LOOK_S: Final = 10.0  # the observer itself waits 5 s for the end of its last look


def start(plan: Plan, run_dir: Path, run: str) -> subprocess.Popen[bytes]:
    """Start the observer of a run; it looks once it is told to."""
    config = {
        "journal": str(run_dir / "journals" / "observer.journal"),
        "run": run,
        "group": GROUP,
        "topic": TOPIC,
        "credentials": plan.credentials(HARNESS),
        "broker_ports": {str(node.id): node.port for node in plan.brokers},
    }
    path = run_dir / "journals" / "observer.json"
    path.write_text(json.dumps(config))
    return processes.spawn(
        processes.python_module("harness.run.observer", str(path)),
        run=run,
        log=run_dir / "logs" / "observer.log",
        stdin=subprocess.PIPE,
    )


def tell(observer: subprocess.Popen[bytes], order: str) -> None:
    """Give it an order. That it is no more, whoever follows the scene tells."""
    with suppress(BrokenPipeError):
        processes.tell(observer, order)


def end(observer: subprocess.Popen[bytes]) -> None:
    """Let it finish its look and close its journal, while there still is a cluster to look at."""
    processes.let_end(observer, _LAST_LOOK_S)
