"""A run that is played to be hit from outside, and what may not be left of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import pyarrow.parquet as pq

from consumers.journal import read_journal
from harness.base import processes
from harness.base.errors import HarnessError, WaitTimeout
from harness.base.paths import ROOT
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.base.whole import HALVES
from harness.experiment import Verdict
from harness.history import manifest
from harness.history.collect import collect
from harness.tables.engines.duckdb import DuckDb
from tests.torture import damage

EXPERIMENTS: Final = Path(__file__).with_name("experiments")
LONGEST_S: Final = 120.0
# How long each phase of the short run takes, on two cores: an instant is drawn from it.
PHASES: Final = {
    "short: ": 0.1,
    "start cluster": 2.4,
    "start fleet": 1.2,
    "faults": 2.0,
    "recover": 0.6,
    "drain": 0.2,
    "stop": 0.2,
    "collect": 0.4,
}
_LISTENERS: Final = re.compile(r"//127\.0\.0\.1:(\d+)")


class Played:
    """The command in the background, in a session of its own.

    `before` is a command that starts it; where that `holds`, it goes on until it is closed, so that
    the files that only it sees can be looked at (`root`). `prepare` is called before all, and
    `environment` is added to what its processes have in theirs.
    """

    def __init__(
        self,
        results: Path,
        *arguments: str,
        before: Sequence[str] = (),
        prepare: Callable[[], None] | None = None,
        holds: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.results = results
        self._holds = holds
        self.folder: Path | None = None  # of the run, once it has ended
        self._heard = Path(tempfile.mkstemp(prefix="torture-", suffix=".stderr")[1])
        command = [sys.executable, "-m", "harness", *arguments, "--results", str(results)]
        with self._heard.open("wb") as heard:
            self.process = subprocess.Popen(
                [*before, *command, "--experiments", str(EXPERIMENTS)],
                stdin=subprocess.PIPE if holds else subprocess.DEVNULL,
                stdout=heard,
                stderr=heard,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=prepare or takes_signals,
            )

    @property
    def root(self) -> Path:
        """Where all its files are."""
        return Path(f"/proc/{self.process.pid}/root") if self._holds else Path("/")

    def ended_with(self, words: re.Pattern[str]) -> int | None:
        """The exit code that what holds it prints; null if it never does."""
        with suppress(WaitTimeout):
            wait_until("end", lambda: words.search(self.heard()), timeout_s=LONGEST_S, every_s=0.05)
        found = words.search(self.heard())
        return int(found[1]) if found else None

    def heard(self) -> str:
        """What it has printed so far."""
        return self._heard.read_text(errors="replace")

    @property
    def run_dir(self) -> Path | None:
        """Its folder, once there is one."""
        for link in self._seen(self.results).glob("short/latest"):
            with suppress(OSError):
                return link.parent / link.readlink()
        return None

    def _seen(self, path: Path) -> Path:
        return self.root / path.relative_to("/")

    def await_phase(self, phase: str, more_s: float) -> bool:
        """Wait for an instant after a phase has begun; whether it still runs then."""

        def begun() -> bool:
            heard = self.heard()
            return self.process.poll() is not None or f"  {phase}" in heard or "ended with" in heard

        wait_until(f"phase {phase}", begun, timeout_s=LONGEST_S, saw=self.heard, every_s=0.01)
        time.sleep(more_s)
        return self.process.poll() is None

    def end(self) -> int | None:
        """Its exit code, once it has ended; null if it never does."""
        try:
            return self.process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def find(self, part: str) -> psutil.Process | None:
        """A process of the run whose command line has this part."""
        run_dir = self.run_dir
        if run_dir is None:
            return None
        for process, _, _ in processes.marked(run_dir.name):
            with suppress(psutil.Error):
                if part in " ".join(process.cmdline()):
                    return process
        return None

    def close(self) -> None:
        """End what a failed round has left, and forget what it has printed."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._heard.unlink(missing_ok=True)


def left_at_once(run_dir: Path) -> list[str]:
    """What is left of a run that has ended, and whose harness or watchdog lived."""
    with suppress(WaitTimeout):
        wait_until("end of all", lambda: not processes.marked(run_dir.name), timeout_s=40)
    problems = []
    for process, _, _ in processes.marked(run_dir.name):
        with suppress(psutil.Error):
            problems.append(f"still runs: {' '.join(process.cmdline())[:100]}")
    if (run_dir / "scratch").exists():
        problems.append("scratch is still there")
    return problems + [f"port {port} is taken" for port in ports_of(run_dir) if not _free(port)]


def cleaned(results: Path, *, nothing: bool = False) -> list[str]:
    """What is wrong with `clean`, which has to find nothing more if it is to find `nothing`."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", "clean", "--results", str(results)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LONGEST_S,
        check=False,
    )
    if done.returncode:
        return [f"clean ends with {done.returncode}: {done.stderr[-300:]}"]
    if nothing and not done.stdout.rstrip().endswith(", 0 folders and files removed"):
        return [f"the second clean says {done.stdout.strip()}"]
    return []


def left_after_cleaning(results: Path, run_dir: Path) -> list[str]:
    """What is left once `clean` has been here, and whether a second one still finds something."""
    problems = cleaned(results, nothing=True)
    if processes.marked(run_dir.name):
        problems.append("processes of the run outlive clean")
    left = [*run_dir.rglob(HALVES), *run_dir.parent.glob(".latest-*"), run_dir / "scratch"]
    return problems + [f"{path.name} outlives clean" for path in left if path.exists()]


def ports_of(run_dir: Path) -> list[int]:
    """The ports that the brokers and proxies of a run listen at."""
    with suppress(HarnessError):
        brokers = (manifest.read(run_dir).get("effective") or {}).get("brokers") or {}
        found = _LISTENERS.findall(str(brokers))
        return sorted({int(port) for port in found})
    return []


def _free(port: int) -> bool:
    with socket.socket() as trying:
        trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trying.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def record_of(run_dir: Path) -> dict[str, Any]:
    """The manifest of a run; without any where it cannot be read."""
    with suppress(HarnessError):
        return manifest.read(run_dir)
    return {}


def lost_frames(run_dir: Path) -> list[str]:
    """Whole frames of journals that the history has not; it is collected first where it is not."""
    path = run_dir / "history" / "journals.parquet"
    if not path.exists():
        facts = record_of(run_dir)
        collect(run_dir, killed=facts.get("killed", []))
    rows = {row["journal"]: row for row in pq.read_table(path).to_pylist()}
    problems = []
    for journal in sorted((run_dir / "journals").glob("*.journal")):
        if journal.stem == "watchdog":  # it outlives the collecting
            continue
        frames = len(read_journal(journal).frames)
        found = (rows.get(journal.stem) or {}).get("frames")
        if found != frames:
            problems.append(f"{journal.name} has {frames} frames, and the history {found}")
    return problems


def wrong_verdicts(run_dir: Path) -> list[str]:
    """Verdicts that such a run cannot have: none but UNKNOWN where it is not complete."""
    engine = DuckDb()
    try:
        rules = [each["rule"] for each in record_of(run_dir)["declared"]["rules"]] + ["E04", "E05"]
        found = damage.judged(run_dir, engine, rules)
    except HarnessError as error:
        return [] if " " in str(error) else [f"no sentence: {error}"]
    finally:
        engine.close()
    complete = record_of(run_dir).get("status") == "complete"
    allowed = (str(Verdict.UNKNOWN), str(Verdict.HOLDS)) if complete else (str(Verdict.UNKNOWN),)
    return [f"{rule} is {verdict}" for rule, verdict in found.items() if verdict not in allowed]


@contextmanager
def stopped(run: str, harness: int) -> Iterator[None]:
    """All processes of a run stand still in_between, its harness included."""
    stood = [psutil.Process(harness), *(process for process, _, _ in processes.marked(run))]
    for process in stood:
        with suppress(psutil.Error):
            process.suspend()
    try:
        yield
    finally:
        for process in reversed(stood):
            with suppress(psutil.Error):
                process.resume()


def takes_signals() -> None:
    """Have a new process take signals as in a terminal: in the background shells ignore SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; whether a process was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def ending(code: int | None, allowed: set[int], heard: str) -> list[str]:
    """What is wrong with how a command ended; Python says its own way that it was interrupted."""
    if code is None:
        return ["the command does not end"]
    last = (heard.strip().splitlines() or [""])[-1][:200]
    problems = [] if code in allowed else [f"exit code {code} instead of {sorted(allowed)}: {last}"]
    if "Traceback" in heard and code != -signal.SIGINT:
        problems.append(f"a traceback: {last}")
    return problems


def rest(results: Path, run_dir: Path) -> list[str]:
    """What is left, and whether the manifest says how it ended, once `clean` has been there."""
    problems = cleaned(results) + left_after_cleaning(results, run_dir)
    with suppress(WaitTimeout):
        wait_until("an ending", lambda: record_of(run_dir).get("status") != "running", timeout_s=1)
    status = record_of(run_dir).get("status")
    # One that could not even be begun on a full disk has no manifest.
    there = (run_dir / "manifest.json").exists() if run_dir.exists() else False
    if there and status not in ("complete", "interrupted", "void"):
        problems.append(f"the manifest says {status}")
    return problems


def limited(
    seed: int, results: Path, alone: AbstractContextManager[None], limit: Callable[[], None]
) -> tuple[int | None, list[str]]:
    """Play a run of which each process has a limit: its exit code, and what was wrong."""
    with alone, closing(Played(results, "run", "short", "--seed", str(seed), prepare=limit)) as run:
        code = run.end()
        problems = ending(code, {0, 3}, run.heard())
        run_dir = run.run_dir
    if run_dir is not None:
        problems += wrong_verdicts(run_dir) if (run_dir / "history").exists() else []
        problems += rest(results, run_dir)
    return code, problems
