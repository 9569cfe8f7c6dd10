"""Orders from the harness, and what programs are around their loop.

Orders are lines on standard input, looked at without blocking:

- `join` (consumer that was started to wait for it): subscribe.
- `stall <ms>`: stand still for so long in the middle of the next batch.
- `stall-callback <ms>`: stand still for so long in the next callback that revokes partitions.
- `partitions <n>` (producer): the topic has so many partitions now; write to all of them.
- `close` (consumer) or `stop` (producer): end properly.
- End of file: the harness is gone, so end properly too. SIGTERM means the same.

SIGINT is ignored: Ctrl-C in a terminal reaches every process, and only the harness may act on it.
"""

import os
import select
import signal
from collections.abc import Callable
from types import FrameType

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from consumers.journal import Journal, JournalError


class Control:
    """Reads the orders. `poll` is cheap enough for every turn of a loop."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._waiting = select.poll()
        self._waiting.register(fd, select.POLLIN)
        self._partial = b""
        self._ended = False
        self._terminated = False

    def install_signals(self) -> None:
        """Take over SIGTERM and ignore SIGINT; for the main thread of the process."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._on_sigterm)

    @property
    def gone(self) -> str | None:
        """Why to end although no line says so: "SIGTERM" or "end of standard input", else None."""
        if self._terminated:
            return "SIGTERM"
        return "end of standard input" if self._ended else None

    def wait(self, timeout_s: float) -> None:
        """Return once there is something to `poll`, or after `timeout_s`."""
        self._waiting.poll(timeout_s * 1_000)

    def poll(self) -> list[str]:
        """Lines that have come since the last call, without their ends."""
        if self._ended or not self._waiting.poll(0):
            return []
        data = os.read(self._fd, 65_536)
        if not data:
            self._ended = True
            return []
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [line.decode(errors="replace").strip() for line in lines if line.strip()]

    def _on_sigterm(self, _signal: int, _frame: FrameType | None) -> None:
        self._terminated = True


def run_program(
    config: ConsumerConfig | ProducerConfig | ProbeConfig, loop: Callable[[Journal, Control], None]
) -> int:
    """Run a loop until it is ordered to end. Returns the exit code; raises HarnessError.

    What ends it otherwise is the journal's last frame, unless the journal itself failed.
    """
    control = Control()
    control.install_signals()
    journal = Journal(config.journal, config.member)
    try:
        loop(journal, control)
    except JournalError:
        raise
    except Exception as error:
        journal.write("fatal", text=f"{type(error).__name__}: {error}")
        raise
    journal.close()
    return 0
