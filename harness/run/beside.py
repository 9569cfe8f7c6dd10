"""The harness's end of what runs beside a run: its watchdog, its observer, and probes."""

import json
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from consumers.journal import tail_journal
from harness.base import processes
from harness.base.errors import VoidRun
from harness.cluster.plan import GROUP, TOPIC, Plan
from harness.cluster.secured import HARNESS
from harness.run.scene import Scene
from harness.run.watchdog import IMAGES

LAST_LOOK_S: Final = 10.0  # the observer itself waits 5 s for the end of its last look
LONGEST_S: Final = 180.0  # no script waits for more than a few session timeouts


def start_watchdog(
    run_dir: Path, backend: str = "embedded", *, images: bool = False
) -> subprocess.Popen[bytes]:
    more = (IMAGES,) if images else ()
    return _started("watchdog", run_dir, str(run_dir), run_dir.name, backend, *more)


def let_go(watchdog: subprocess.Popen[bytes], *, ended: bool) -> None:
    """Let the watchdog go where all has `ended`; else it ends what could not be ended here."""
    processes.tell_last(watchdog, "done" if ended else "end")
    processes.wait_exit(watchdog, 10)


def start_observer(plan: Plan, run_dir: Path) -> subprocess.Popen[bytes]:
    config = {
        "journal": str(run_dir / "journals" / "observer.journal"),
        "run": plan.run,
        "group": GROUP,
        "topic": TOPIC,
        "credentials": plan.credentials(HARNESS),
        "broker_ports": {str(node.id): node.port for node in plan.brokers},
    }
    path = run_dir / "journals" / "observer.json"
    path.write_text(json.dumps(config))
    return _started("observer", run_dir, str(path))


def tell(observer: subprocess.Popen[bytes], order: str) -> None:
    """Give the observer an order. Its end is noticed by those that follow the scene."""
    with suppress(BrokenPipeError):
        processes.tell(observer, order)


def _started(name: str, run_dir: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return processes.spawn(
        processes.python_module(f"harness.run.{name}", *arguments),
        run=run_dir.name,
        log=run_dir / "logs" / f"{name}.log",
        stdin=subprocess.PIPE,
    )


@dataclass
class Playing:
    """The process that plays a probe's script. `ready`: all that faults are to find is there."""

    name: str
    process: subprocess.Popen[bytes]
    journal: Path
    read: int = 0
    ready: bool = False

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def follow(self) -> None:
        frames, self.read = tail_journal(self.journal, self.read)
        self.ready |= any(frame["kind"] == "ready" for frame in frames)


def start(scene: Scene, name: str) -> Playing:
    return Playing(name, *scene.fleet.start_probe(name))


def await_ready(scene: Scene, playing: Playing) -> None:
    """Wait until the script has prepared what faults are to find. Raises VoidRun, WaitTimeout."""

    def seen() -> bool:
        playing.follow()
        return playing.ready or playing.ended

    scene.wait(f"readiness of the probe {playing.name}", seen, LONGEST_S)
    if not playing.ready:
        await_end(scene, playing)


def await_end(scene: Scene, playing: Playing) -> None:
    """Wait for the end of the script. Raises VoidRun where it fails, and WaitTimeout."""
    scene.wait(f"end of the probe {playing.name}", lambda: playing.ended, LONGEST_S)
    if code := playing.process.returncode:
        raise VoidRun(
            f"the probe {playing.name} ended with exit code {code}: "
            f"{scene.fleet.last_words(f'probe-{playing.name}')}"
        )
