"""The harness's end of the sink: where programs post to, and how it answers them.

The sink itself is a process of its own (`sink_server`).
"""

import http.client
import json
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from consumers.journal import tail_journal
from harness.base import processes
from harness.base.errors import VoidRun
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.history.shown import JOURNAL
from harness.run.named import Naming
from harness.run.sink_server import LISTENS

_PROBE: Final = "member-0"  # no process has this name
_START_S: Final = 20.0
_END_S: Final = 10.0


@dataclass(frozen=True)
class SinkAnswer:
    """How the sink answered the harness itself; a null status: not within the patience."""

    status: int | None
    after_ms: float


class Sink:
    """A sink for the programs of one run: `order` spoils and mends how it answers."""

    def __init__(self, run: str, run_dir: Path, port: int, naming: Naming) -> None:
        self._run = run
        self._run_dir = run_dir
        self._port = port
        self._naming = naming
        self._process: subprocess.Popen[bytes] | None = None
        self._posted: Counter[str] = Counter()
        self._read = 0

    def start(self) -> None:
        """Start it, and wait until it listens. Raises VoidRun with its last words if it ends."""
        path = self._run_dir / "journals" / "sink.json"
        config = {"journal": str(self._journal), "port": self._port, "naming": asdict(self._naming)}
        path.write_text(json.dumps(config))
        self._process = processes.spawn(
            processes.python_module("harness.run.sink_server", str(path)),
            run=self._run,
            log=self._log,
            stdin=subprocess.PIPE,
        )
        wait_until("sink that listens", self._listens, timeout_s=_START_S, saw=self._last_words)

    def url(self, member: str) -> str:
        return f"http://{LOOPBACK}:{self._port}/{member}"

    def order(
        self, member: str | None = None, *, delay_ms: float = 0, refuses: bool = False
    ) -> None:
        """Answer so late from now on, or with 503 and keep nothing of what is posted; without
        either at once, those too that wait for an answer already. One process, or all.
        """
        assert self._process is not None
        mood = {"member": member, "delay_ms": delay_ms, "refuses": refuses}
        processes.tell(self._process, json.dumps(mood))

    def ask(self, member: str | None = None, *, patience_s: float) -> SinkAnswer:
        """Ask as this process by a GET, or as one that no order names: nothing is on record."""
        began, status = time.monotonic(), None
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=patience_s)
        with closing(connection), suppress(OSError, http.client.HTTPException):
            connection.request("GET", f"/{member or _PROBE}")
            status = connection.getresponse().status
        return SinkAnswer(status, (time.monotonic() - began) * 1_000)

    def posts(self, member: str | None = None) -> int:
        """How many posts are on record until now; of one process, or of all."""
        frames, self._read = tail_journal(self._journal, self._read)
        self._posted.update(each["program"] for each in frames if each["kind"] == "shown")
        return self._posted.total() if member is None else self._posted[member]

    def check(self) -> None:
        """Raises VoidRun where it has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise VoidRun(
                f"the sink ended with exit code {self._process.returncode}, so nothing that is "
                f"posted can be kept any more: {self._last_words()}; run again"
            )

    def stop(self) -> None:
        """End it; what it has acknowledged is in its journal."""
        process, self._process = self._process, None
        if process is not None:
            processes.let_end(process, _END_S)

    def _listens(self) -> bool:
        self.check()
        return LISTENS in self._log.read_text(errors="replace").splitlines()

    def _last_words(self) -> str:
        return processes.last_lines(self._log, 2)

    @property
    def _journal(self) -> Path:
        return self._run_dir / "journals" / JOURNAL

    @property
    def _log(self) -> Path:
        return self._run_dir / "logs" / "sink.log"
