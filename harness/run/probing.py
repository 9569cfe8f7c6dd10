"""The processes that play probes' scripts: each is started, waited for, and may have failed."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from consumers.journal import tail_journal
from harness.base.errors import VoidRun
from harness.run.scene import Scene

LONGEST_S: Final = 180.0  # no script waits for more than a few session timeouts


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
